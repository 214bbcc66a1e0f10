// SPDX-License-Identifier: Apache-2.0
// Holds the TCP connections in two lists: one for the connections that carry MPA, and one for all
// others. Each list is sorted by activity, most recent first.
#include "frames/connections/connections.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "frames/connections/telling_flow.hpp"
#include "iwarp/bytes/cursor.hpp"
#include "iwarp/trace/stream_decoder.hpp"

namespace iwarp::apps::frames {
namespace {

using Key = std::pair<TcpEnd, TcpEnd>;  ///< both ends of a connection, the lower one first

Key key_of(const TcpSegment& s) {
  return s.source < s.destination ? Key{s.source, s.destination} : Key{s.destination, s.source};
}

constexpr std::uint16_t kRocePort = 4791;

/// Returns whether the octets begin with the header of a TLS record (RFC 8446, 5.1).
bool is_tls_record(bytes::View octets) {
  constexpr std::size_t kHeader = 5, kLongest = (1 << 14) + 2048;
  constexpr std::uint8_t kChangeCipherSpec = 20, kApplicationData = 23, kMajor = 3, kLastMinor = 4;
  if (octets.size() < kHeader) return false;
  bytes::Reader in(octets);
  const auto type = in.u8();
  const auto major = in.u8();
  const auto minor = in.u8();
  return type >= kChangeCipherSpec && type <= kApplicationData && major == kMajor &&
         minor <= kLastMinor && in.u16() <= kLongest;
}

std::size_t index(Side side) { return static_cast<std::size_t>(side); }

}  // namespace

/// A part of the stream from one side, for the decoder: octets, a hole, or the end of the stream.
struct Part {
  Side side;
  PacketMark mark;
  bytes::View octets;
  std::uint64_t missing = 0;
  bool end = false;
};

/// One TCP connection of the capture. While one of its streams waits for a missing segment, `kept`
/// holds all new parts of both streams. When the wait ends, the decoder gets these parts in the
/// order of the capture.
struct Connections::Flow : ReportingFlow {
  struct Kept {
    std::size_t order;
    Part part;
    std::vector<std::byte> octets;
  };

  Key key;
  std::array<TcpReassembly, 2> tcp;
  std::array<std::optional<std::uint32_t>, 2> isn;
  /// Decodes both streams. Empty if the connection is closed or does not carry MPA.
  std::optional<trace::StreamDecoder> decoder;
  std::vector<Kept> kept;
  std::size_t kept_octets = 0;  ///< octets in `kept`, plus the size of the entries themselves
  std::size_t held = 0;         ///< how much this connection has added to Table::held
  bool is_tls = false;          ///< whether a side begins as TLS does

  bool waits() const { return tcp[0].waits() || tcp[1].waits(); }
  std::size_t held_now() const {
    std::size_t sum = tcp[0].held() + tcp[1].held() + kept_octets;
    if (decoder) sum += decoder->held(Side::kNear) + decoder->held(Side::kFar);
    return sum;
  }
  void give(const Part& part) {
    if (kept.empty() && !waits()) return decode(part);
    kept.push_back({kept.size(), part, {part.octets.begin(), part.octets.end()}});
    kept_octets += sizeof(Kept) + part.octets.size();
  }
  void decode(const Part& part) {
    mark = part.mark;
    if (!part.octets.empty()) decoder->octets(part.side, part.octets);
    if (part.missing != 0) decoder->missing(part.side, part.missing);
    if (part.end) decoder->ended(part.side);
  }
  /// Decodes the kept parts. If octets had to wait for a segment that was captured later, they get
  /// the time and the packet number of that segment.
  void release() {
    std::array<PacketMark, 2> latest{};
    for (auto& k : kept) {
      auto& before = latest[index(k.part.side)];
      if (k.part.mark.packet < before.packet) k.part.mark = before;
      before = k.part.mark;
    }
    std::ranges::sort(kept, {},
                      [](const Kept& k) { return std::pair(k.part.mark.packet, k.order); });
    for (auto& k : kept) {
      k.part.octets = k.octets;
      decode(k.part);
    }
    forget_kept();
  }
  void forget_kept() {
    kept.clear();
    kept_octets = 0;
  }
};

/// Sink for the TcpReassembly of one side: receives that side's stream.
struct Connections::FlowSink final : StreamSink {
  FlowSink(Flow& f, Side s) : flow(f), side(s) {}
  void octets(bytes::View octets, const PacketMark& mark) override {
    flow.give({.side = side, .mark = mark, .octets = octets});
  }
  void missing(std::uint64_t octets, const PacketMark& mark) override {
    flow.give({.side = side, .mark = mark, .missing = octets});
  }
  Flow& flow;
  Side side;
};

struct Connections::Table {
  std::list<Flow> others;
  std::list<Flow> mpa;
  std::map<Key, std::list<Flow>::iterator> by_key;
  std::size_t held = 0;

  std::list<Flow>& list_of(const Flow& flow) { return flow.session ? mpa : others; }
  void erase(std::list<Flow>::iterator flow) {
    held -= flow->held;
    by_key.erase(flow->key);
    list_of(*flow).erase(flow);
  }
};

Connections::Connections(ConnectionListener& listener)
    : listener_(listener), table_(std::make_unique<Table>()) {}
Connections::~Connections() = default;

std::size_t Connections::held() const { return table_->held; }

void Connections::packet(int link_type, bytes::View packet, std::size_t wire_size,
                         const PacketMark& mark) {
  TcpSegment segment;
  const auto kind = parse_packet(link_type, packet, wire_size, segment);
  ++counts_.packets[static_cast<std::size_t>(kind)];
  last_ = mark;
  if (kind == PacketKind::kOther) look_at_udp(link_type, packet, wire_size, mark);
  if (kind != PacketKind::kTcp) return;
  Table& t = *table_;
  const auto key = key_of(segment);
  auto found = t.by_key.find(key);
  if (found != t.by_key.end() && begins_anew(*found->second, segment)) {
    close(*found->second, Closing::kReplaced, mark);
    t.erase(t.by_key.at(key));
    found = t.by_key.end();
  }
  if (found == t.by_key.end()) {
    if (segment.size == 0 && !segment.syn) return;
    make_room(nullptr);
    t.others.emplace_front().key = key;
    found = t.by_key.emplace(key, t.others.begin()).first;
    begin(*found->second, segment);
  }
  Flow& flow = *found->second;
  auto& list = t.list_of(flow);
  if (&list.front() != &flow) list.splice(list.begin(), list, found->second);
  give(flow, segment.source == flow.info.near ? Side::kNear : Side::kFar, segment, mark);
}

void Connections::look_at_udp(int link_type, bytes::View packet, std::size_t wire_size,
                              const PacketMark& mark) {
  constexpr std::uint16_t kPortOfGroups = verbs::datagram_port(verbs::kMulticastQp);
  UdpDatagram udp;
  if (!parse_udp(link_type, packet, wire_size, udp)) return;
  if (udp.destination.port == kRocePort) ++counts_.roce;
  const auto datagram = verbs::decode_datagram(udp.payload);
  if (!datagram) return;
  const auto destination = datagram->header.destination;
  const auto port =
      destination == verbs::kMulticastQp ? kPortOfGroups : verbs::datagram_port(destination);
  if (port != udp.destination.port) return;
  ++counts_.datagrams;
  listener_.datagram({.source = udp.source,
                      .destination = udp.destination,
                      .datagram = *datagram,
                      .has_right_crc = verbs::has_right_crc(udp.payload),
                      .octets = udp.payload},
                     mark);
}

/// Returns whether the segment is a SYN that opens a new connection with the same ports. Returns
/// false for a retransmission of the SYN that opened `flow`.
bool Connections::begins_anew(const Flow& flow, const TcpSegment& segment) {
  if (!segment.syn || segment.ack_valid) return false;
  const auto& isn = flow.isn[index(segment.source == flow.info.near ? Side::kNear : Side::kFar)];
  return !flow.decoder || (isn && *isn != segment.seq);
}

/// Begins a connection with its first captured packet. If this packet is a SYN+ACK, `near` is its
/// receiver; otherwise, `near` is its sender.
void Connections::begin(Flow& flow, const TcpSegment& segment) {
  ++counts_.connections;
  const bool answers = segment.syn && segment.ack_valid;
  flow.info.near = answers ? segment.destination : segment.source;
  flow.info.far = answers ? segment.source : segment.destination;
  flow.info.opening_seen = segment.syn;
  // Capturing a reference to the flow is safe: a flow is a list node, which never moves.
  flow.decoder.emplace([this, &flow](const Frame& frame) { on_frame(flow, frame); },
                       trace::DecoderOptions{.search = true});
}

void Connections::give(Flow& flow, Side from, const TcpSegment& segment, const PacketMark& mark) {
  if (!flow.decoder) return;
  auto& tcp = flow.tcp[index(from)];
  auto& peer = flow.tcp[index(other(from))];
  FlowSink sink(flow, from);
  FlowSink peer_sink(flow, other(from));
  if (segment.syn) flow.isn[index(from)] = segment.seq;
  if (segment.size > 0) look_at_first_octets(flow, from, segment);
  if (segment.ack_valid) peer.acknowledged(segment.ack, peer_sink);
  const bool ended = tcp.ended();
  tcp.segment(segment, mark, sink);
  if (flow.kept_octets > kMaxKept) {
    // Much has been captured since the hole, but the peer has acknowledged nothing beyond it. Treat
    // the octets of the hole as missing, and do not wait for them any longer.
    peer.finish(peer_sink);
    tcp.finish(sink);
  }
  if (!ended && tcp.ended()) {
    flow.give({.side = from, .mark = mark, .end = true});
    flow.first_ended = flow.first_ended.value_or(from);
  }
  if (!flow.kept.empty() && !flow.waits()) flow.release();
  flow.mark = mark;
  if (segment.rst || (tcp.ended() && peer.ended())) {
    close(flow, segment.rst ? Closing::kReset : Closing::kFin, mark);
  } else if (!flow.session && flow.decoder->is_lost(Side::kNear) &&
             flow.decoder->is_lost(Side::kFar)) {
    flow.decoder.reset();
    flow.tcp = {};
    flow.forget_kept();
  }
  table_->held += flow.held_now() - flow.held;
  flow.held = flow.held_now();
  if (table_->held > kMaxHeld || table_->mpa.size() > kMaxMpa) make_room(&flow);
}

void Connections::look_at_first_octets(Flow& flow, Side from, const TcpSegment& segment) {
  auto& seen = flow.info.seen;
  const bool is_first = !seen[0] && !seen[1];
  if (is_first) ++counts_.plain;
  if (!seen[index(from)] && !flow.session && !flow.is_tls && is_tls_record(segment.payload)) {
    flow.is_tls = true;
    --counts_.plain;
    ++counts_.tls;
  }
  seen[index(from)] = true;
}

void Connections::on_frame(Flow& flow, const Frame& frame) {
  if (frame.kind == FrameKind::kUndecodable) return flow.skip(frame);
  if (!flow.session) {
    flow.session.emplace();
    --(flow.is_tls ? counts_.tls : counts_.plain);
    flow.info.number = ++counts_.mpa;
    const auto self = table_->by_key.at(flow.key);
    table_->mpa.splice(table_->mpa.begin(), table_->others, self);
  }
  flow.tell(listener_, frame);
}

void Connections::close(Flow& flow, Closing how, const PacketMark& mark) {
  if (!flow.decoder) return;
  for (const Side side : {Side::kNear, Side::kFar}) {
    FlowSink sink(flow, side);
    flow.tcp[index(side)].finish(sink);
  }
  flow.release();
  flow.mark = mark;
  for (const Side side : {Side::kNear, Side::kFar}) flow.decoder->ended(side);
  flow.decoder.reset();
  flow.report_closed(listener_, how, {flow.tcp[0].counts(), flow.tcp[1].counts()});
  flow.tcp = {};
}

/// Evicts connections, starting with those that have been silent for longest, until the limits are
/// met.
void Connections::make_room(const Flow* keep) {
  Table& t = *table_;
  const auto drop_last = [&](std::list<Flow>& list) {
    if (list.empty() || &list.back() == keep) return false;
    Flow& flow = list.back();
    if (flow.session && flow.decoder) ++counts_.set_aside;
    close(flow, Closing::kSetAside, last_);
    // Look up the connection by key, because it may be in another list now: if close() finds the
    // first frame of a connection, it moves the connection to the MPA list.
    t.erase(t.by_key.at(flow.key));
    return true;
  };
  while (t.others.size() >= kMaxConnections && drop_last(t.others)) {
  }
  while (t.mpa.size() > kMaxMpa && drop_last(t.mpa)) {
  }
  while (t.held > kMaxHeld && (drop_last(t.others) || drop_last(t.mpa))) {
  }
}

void Connections::finish() {
  Table& t = *table_;
  std::vector<Flow*> flows;
  flows.reserve(t.by_key.size());
  for (auto& [key, flow] : t.by_key) flows.push_back(&*flow);
  // Close the connections in the order of their MPA numbers. A connection without a frame has
  // number 0. Subtracting 1 turns 0 into the largest value, so such connections come last.
  std::ranges::sort(flows, {}, [](const Flow* flow) { return flow->info.number - 1; });
  for (Flow* flow : flows) close(*flow, Closing::kEndOfFile, last_);
  t.by_key.clear();
  t.others.clear();
  t.mpa.clear();
  t.held = 0;
}

}  // namespace iwarp::apps::frames
