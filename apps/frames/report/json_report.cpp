// SPDX-License-Identifier: Apache-2.0
// Writes one JSON object per line.
#include "frames/report/json_report.hpp"

#include <array>
#include <utility>

#include "frames/report/frame_json.hpp"
#include "frames/report/local_line.hpp"
#include "frames/report/model_json.hpp"
#include "iwarp/bytes/hex.hpp"
#include "iwarp/trace/qlog_tap.hpp"

namespace iwarp::apps::frames {
namespace {

const char* name_of(Closing how) {
  constexpr std::array kNames{"fin", "reset", "replaced", "set-aside", "end-of-capture"};
  return kNames[static_cast<std::size_t>(how)];
}

std::string line(const Json& object) { return object.dump() + "\n"; }

/// Adds the octets in hexadecimal. If there are more than `most` octets, adds only the first `most`
/// / 2 and the last `most` / 2 of them.
void add_octets(Json& out, bytes::View octets, std::size_t most) {
  if (octets.size() <= most) {
    out["octets"] = bytes::to_hex(octets, 0);
    return;
  }
  out["octets"] = bytes::to_hex(octets.first(most / 2), 0);
  out["last_octets"] = bytes::to_hex(octets.last(most / 2), 0);
}

std::array<EndStates, 2> states_of(const Ends& ends) {
  return {ends.of(Side::kNear), ends.of(Side::kFar)};
}

}  // namespace

JsonReport::JsonReport(const JsonOptions& options, const Filter& filter, Out out)
    : options_(options), filter_(filter), out_(std::move(out)) {
  write(line({{"type", "capture"}, {"format", "iwarp-explain"}, {"version", 1}}));
  if (options_.octets) write(line({{"type", "fields"}, {"fields", field_table_json()}}));
}

void JsonReport::write(const std::string& line) {
  size_ += line.size();
  out_(line);
}

std::int64_t JsonReport::after(const PacketMark& mark) {
  if (!start_) start_ = mark.nanoseconds;
  return mark.nanoseconds - *start_;
}

bool JsonReport::is_full() {
  if (size_ < options_.max_size) return false;
  ++left_out_;
  return true;
}

void JsonReport::introduce(const ConnectionInfo& info) {
  if (!introduced_.insert(info.number).second) return;
  write(line({{"type", "connection"},
              {"connection", info.number},
              {"near", to_string(info.near)},
              {"far", to_string(info.far)},
              {"opening_seen", info.opening_seen}}));
}

void JsonReport::frame(const ConnectionInfo& info, const Explained& e, const PacketMark& mark) {
  ++frames_;
  violations_ += e.violations.size();
  if (!filter_.wants(info)) return;
  auto& known = known_[info.number];
  const auto& changes = known.ends.see(e);
  known.memory.see(e);
  if (!filter_.wants(info, e) || is_full()) return;
  introduce(info);
  Json out{{"type", "frame"},
           {"connection", info.number},
           {"frame", e.number},
           {"time", mark.nanoseconds},
           {"packet", mark.packet},
           {"after", after(mark)},
           {"from", name_of(e.frame->from)},
           {"offset", e.frame->offset},
           {"size", e.frame->octets.size()}};
  out.update(frame_json(e));
  out["op"] = operation_of(e);
  if (is_error(e)) out["error"] = true;
  if (const auto access = access_of(e)) out["access"] = access_json(*access);
  if (!changes.empty()) out["changes"] = changes_json(changes);
  if (const auto states = states_of(known.ends); known.written != states) {
    out["states"] = states_json(known.ends);
    known.written = states;
  }
  if (options_.octets) {
    out["fields"] = fields_json(e);
    add_octets(out, e.frame->octets, options_.max_octets);
  }
  write(line(out));
}

void JsonReport::skipped(const ConnectionInfo& info, const Skipped& skipped) {
  if (!filter_.wants_skipped(info) || is_full()) return;
  introduce(info);
  write(line({{"type", "skipped"},
              {"connection", info.number},
              {"time", skipped.mark.nanoseconds},
              {"packet", skipped.mark.packet},
              {"after", after(skipped.mark)},
              {"from", name_of(skipped.from)},
              {"offset", skipped.offset},
              {"size", skipped.octets},
              {"missing", skipped.missing},
              {"says", skipped.why}}));
}

void JsonReport::closed(const ConnectionInfo& info, const Closed& closed, const PacketMark& mark) {
  Known known;
  if (auto node = known_.extract(info.number)) known = std::move(node.mapped());
  if (introduced_.contains(info.number)) {
    auto memory = memory_json(known.memory);
    write(line({{"type", "memory"},
                {"connection", info.number},
                {"near", memory["near"]},
                {"far", memory["far"]}}));
  }
  if (!filter_.shows_all() || !filter_.wants(info)) return;
  introduce(info);
  introduced_.erase(info.number);
  Json out{{"type", "closed"},      {"connection", info.number}, {"time", mark.nanoseconds},
           {"packet", mark.packet}, {"after", after(mark)},      {"how", name_of(closed.how)}};
  for (const Side side : {Side::kNear, Side::kFar}) {
    const auto i = static_cast<std::size_t>(side);
    const auto& tcp = closed.tcp[i];
    out[name_of(side)] = {{"seen", info.seen[i]},
                          {"startup_seen", info.startup_seen[i]},
                          {"frames", info.frames[i]},
                          {"unanswered", closed.unanswered[i]},
                          {"missing_octets", tcp.missing},
                          {"repeated_octets", tcp.repeated},
                          {"reordered_segments", tcp.reordered}};
  }
  if (const auto& changes = known.ends.closed(closed); !changes.empty()) {
    out["changes"] = changes_json(changes);
  }
  out["states"] = states_json(known.ends);
  write(line(out));
}

void JsonReport::local(const ConnectionInfo& info, Side end, const verbs::LocalEvent& event,
                       const PacketMark& mark) {
  if (!filter_.wants(info, event) || is_full()) return;
  introduce(info);
  const auto record = trace::qlog_record(event);
  Json out{
      {"type", "local"},       {"connection", info.number}, {"time", mark.nanoseconds},
      {"packet", mark.packet}, {"after", after(mark)},      {"end", name_of(end)},
      {"event", record.name},  {"text", local_line(event)}, {"data", Json::parse(record.data)}};
  if (is_failure(event)) out["error"] = true;
  write(line(out));
}

void JsonReport::datagram(const SeenDatagram& seen, const PacketMark& mark) {
  violations_ += seen.has_right_crc ? 0 : 1;
  if (!filter_.wants(seen) || is_full()) return;
  const auto& header = seen.datagram.header;
  Json out{{"type", "datagram"},
           {"time", mark.nanoseconds},
           {"packet", mark.packet},
           {"after", after(mark)},
           {"source", to_string(seen.source)},
           {"destination", to_string(seen.destination)},
           {"source_qpn", header.source},
           {"destination_qpn", header.destination},
           {"msn", header.msn},
           {"size", seen.datagram.payload.size()},
           {"text", verbs::describe_datagram(seen.octets)}};
  if (!seen.has_right_crc) out["error"] = true;
  if (options_.octets) add_octets(out, seen.octets, options_.max_octets);
  write(line(out));
}

void JsonReport::summary(const Connections::Counts& counts) {
  const auto& p = counts.packets;
  write(line(
      {{"type", "summary"},
       {"packets",
        {{"tcp", p[0]}, {"other", p[1]}, {"fragments", p[2]}, {"cut", p[3]}, {"malformed", p[4]}}},
       {"tcp_connections", counts.connections},
       {"mpa_connections", counts.mpa},
       {"tls_connections", counts.tls},
       {"plain_connections", counts.plain},
       {"roce_packets", counts.roce},
       {"set_aside", counts.set_aside},
       {"records", counts.records},
       {"datagrams", counts.datagrams + counts.logged_datagrams},
       {"frames", frames_},
       {"left_out", left_out_},
       {"violations", violations_}}));
}

}  // namespace iwarp::apps::frames
