// SPDX-License-Identifier: Apache-2.0
// Converts the events of a log to frames. No reassembly is needed, because a log names the
// connection of each event and has the octets in order.
#include "frames/connections/logged_connections.hpp"

#include <algorithm>

#include "frames/connections/telling_flow.hpp"
#include "iwarp/trace/stream_decoder.hpp"

namespace iwarp::apps::frames {
namespace {

constexpr const char* kUnknownGroup = "no open connection has this `group_id`";

}  // namespace

struct LoggedConnections::Flow : ReportingFlow {
  std::string group;
  Side logged = Side::kNear;  ///< the end that wrote the log
  std::array<std::uint64_t, 2> next{};
  std::array<bool, 2> ended{};
  std::optional<Closing> how;
  std::array<TcpReassembly::Counts, 2> counts;
  std::optional<trace::StreamDecoder> decoder;

  Side side(bool outbound) const { return outbound ? logged : other(logged); }
};

LoggedConnections::LoggedConnections(ConnectionListener& listener, Connections::Counts& counts)
    : listener_(listener), counts_(counts) {}
LoggedConnections::~LoggedConnections() = default;

LoggedConnections::Flow* LoggedConnections::find(std::string_view group) {
  const auto found = std::ranges::find(flows_, group, &Flow::group);
  return found == flows_.end() ? nullptr : &*found;
}

const char* LoggedConnections::started(std::string_view group, const Ends& ends,
                                       const PacketMark& mark) {
  if (group.size() > kMaxGroup) return "`group_id` is too long";
  if (find(group) != nullptr) return "duplicate connection_started for this `group_id`";
  last_ = mark;
  if (flows_.size() == kMaxOpen) {
    if (!flows_.back().how) ++counts_.set_aside;
    close(flows_.back(), Closing::kSetAside);
    flows_.pop_back();
  }
  ++counts_.connections;
  Flow& flow = flows_.emplace_front();
  flow.group = group;
  flow.logged = ends.opened_locally ? Side::kNear : Side::kFar;
  flow.info.number = ++counts_.mpa;
  flow.info.near = ends.opened_locally ? ends.local : ends.remote;
  flow.info.far = ends.opened_locally ? ends.remote : ends.local;
  flow.info.opening_seen = true;
  flow.session.emplace();
  flow.decoder.emplace(
      [this, &flow](const Frame& frame) {
        if (frame.kind == FrameKind::kUndecodable) return flow.skip(frame);
        flow.tell(listener_, frame);
      },
      trace::DecoderOptions{.search = true});
  return nullptr;
}

const char* LoggedConnections::octets(std::string_view group, bool outbound, std::uint64_t offset,
                                      bytes::View octets, const PacketMark& mark) {
  Flow* const flow = find(group);
  if (flow == nullptr) return kUnknownGroup;
  const Side side = flow->side(outbound);
  auto& next = flow->next[ReportingFlow::index(side)];
  if (offset < next) return "`offset` is below the end of the previous frame in this direction";
  if (offset - next > kMaxMissing)
    return "`offset` leaves too large a gap after the previous frame in this direction";
  last_ = flow->mark = mark;
  if (offset > next) {
    flow->counts[ReportingFlow::index(side)].missing += offset - next;
    flow->decoder->missing(side, offset - next);
  }
  next = offset + octets.size();
  if (octets.empty()) return nullptr;
  flow->info.seen[ReportingFlow::index(side)] = true;
  flow->decoder->octets(side, octets);
  return nullptr;
}

const char* LoggedConnections::closed(std::string_view group, bool outbound, bool reset,
                                      const PacketMark& mark) {
  Flow* const flow = find(group);
  if (flow == nullptr) return kUnknownGroup;
  last_ = flow->mark = mark;
  const Side side = flow->side(outbound);
  flow->decoder->ended(side);
  flow->first_ended = flow->first_ended.value_or(side);
  flow->ended[ReportingFlow::index(side)] = true;
  if (reset) {
    flow->how = Closing::kReset;
  } else if (flow->ended[0] && flow->ended[1]) {
    flow->how = flow->how.value_or(Closing::kFin);
  }
  return nullptr;
}

const char* LoggedConnections::ended(std::string_view group, const PacketMark& mark) {
  const auto flow = std::ranges::find(flows_, group, &Flow::group);
  if (flow == flows_.end()) return kUnknownGroup;
  last_ = mark;
  close(*flow, Closing::kEndOfFile);
  flows_.erase(flow);
  return nullptr;
}

const char* LoggedConnections::local(std::string_view group, const verbs::LocalEvent& event,
                                     const PacketMark& mark) {
  Flow* const flow = find(group);
  if (flow == nullptr) return kUnknownGroup;
  last_ = mark;
  listener_.local(flow->info, flow->logged, event, mark);
  return nullptr;
}

const char* LoggedConnections::datagram(bool outbound, const Ends& ends, bytes::View octets,
                                        const PacketMark& mark) {
  const auto datagram = verbs::decode_datagram(octets);
  if (!datagram) return "`raw` is not a datagram of this stack";
  last_ = mark;
  ++counts_.logged_datagrams;
  listener_.datagram({.source = outbound ? ends.local : ends.remote,
                      .destination = outbound ? ends.remote : ends.local,
                      .datagram = *datagram,
                      .has_right_crc = verbs::has_right_crc(octets),
                      .octets = octets},
                     mark);
  return nullptr;
}

/// Closes the connection. Reports the reason that the log gives or, if the log gives no reason,
/// `otherwise`.
void LoggedConnections::close(Flow& flow, Closing otherwise) {
  flow.mark = last_;
  for (const Side side : {Side::kNear, Side::kFar}) flow.decoder->ended(side);
  flow.report_closed(listener_, flow.how.value_or(otherwise), flow.counts);
}

void LoggedConnections::finish() {
  // The newest connection is first in the list. Close the connections in the order in which they
  // were started.
  for (auto flow = flows_.rbegin(); flow != flows_.rend(); ++flow) {
    close(*flow, Closing::kEndOfFile);
  }
  flows_.clear();
}

}  // namespace iwarp::apps::frames
