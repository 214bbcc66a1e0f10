// SPDX-License-Identifier: Apache-2.0
// The equations A, B, C and D, which give the processor time of one message by component.
// rfc-notes/offload-model.md has each equation, next to its code, and explains the symbols.
#include "iwarp/offload_model/cost.hpp"

#include <cmath>
#include <numeric>

namespace iwarp::offload_model {

namespace {

using enum Component;

// Sizes from RFC 5044 and 5041, in octets.
constexpr double kLengthField = 2;
constexpr double kTaggedHeader = 14;
constexpr double kCrcField = 4;
constexpr double kAlignment = 4;
constexpr double kMarkerSize = 4;
constexpr double kMarkerDistance = 512;

double pieces(double octets, double each) { return std::ceil(octets / each); }

/// Returns how many pieces of a TCP stream a message of `octets` octets needs on average. A message
/// shorter than a piece needs one, because TCP sends it at once. A longer message begins anywhere
/// in a piece that it shares with its neighbours, so the number of pieces does not rise in steps.
double in_stream(double octets, double each) { return std::max(1.0, octets / each); }

double fpdu_octets(double payload) {
  const auto padded = std::ceil((kLengthField + kTaggedHeader + payload) / kAlignment) * kAlignment;
  return padded + kCrcField;
}

/// Returns P, the payload of one FPDU: the requested size or, if none was requested, what fits into
/// a segment.
double fpdu_payload(const Parameters& p, const Workload& w) {
  if (w.fpdu > 0) return w.fpdu;
  const auto usable = p.mss - kLengthField - kTaggedHeader - kCrcField -
                      (w.markers ? kMarkerSize * std::ceil(p.mss / kMarkerDistance) : 0);
  return std::max(1.0, std::floor(usable / kAlignment) * kAlignment);
}

/// Computes A(n) for `n` octets of a stream.
Cost sockets(const Path& path, const Parameters& p, double n, double sleeps) {
  const auto calls = in_stream(n, p.call);
  const auto packets = in_stream(n, p.mss);
  const auto acks = in_stream(n, 2 * p.gro);
  auto out = path_cost(path, p, n);
  out.tx[kSyscall] = calls * (1 + path.pins) * p.syscall_tx;
  out.tx[kPost] = calls * path.pins * p.zerocopy_notify;
  out.tx[kProtocol] += segments_ns(p.small_segment_tx, p.segment_tx, n, in_stream(n, p.gso)) +
                       packets * p.packet_tx + acks * p.ack;
  out.tx[kInterrupt] = acks / p.packets_per_interrupt * p.interrupt;
  out.rx[kSyscall] = calls * p.syscall_rx;
  out.rx[kProtocol] +=
      segments_ns(p.small_segment_rx, p.segment_rx, n, in_stream(n, p.gro)) + packets * p.packet_rx;
  out.rx[kInterrupt] = packets / p.packets_per_interrupt * p.interrupt;
  out.rx[kWakeup] = calls * sleeps * p.wakeup;
  return out;
}

/// Computes B(n).
Cost software(const Parameters& p, const Workload& w) {
  const auto octets = wire_of(Mode::kSoftware, p, w).octets;
  const auto [tx, rx] = stack_work(p, w);
  auto out = sockets({}, p, octets, w.sleeps);
  out.tx[kSyscall] = tx.calls * p.syscall_tx;
  out.rx[kSyscall] = rx.calls * p.syscall_rx;
  out.rx[kWakeup] = rx.calls * w.sleeps * p.wakeup;
  const auto framing = framing_cost(p, w);
  out.tx += framing.tx;
  out.rx += framing.rx;
  return out;
}

/// Computes C(n).
Cost toe(const Parameters& p, const Workload& w) {
  const auto n = w.size;
  const auto calls = in_stream(n, p.call);
  const auto pinned = (1 - w.toe_copies) * pieces(n, p.page) * p.pin_page;
  const auto descriptors = in_stream(n, p.toe_call) * (p.toe_descriptor + p.toe_completion);
  Cost out;
  out.tx[kSyscall] = calls * p.syscall_tx;
  out.rx[kSyscall] = calls * p.syscall_rx;
  out.tx[kCopy] = w.toe_copies * n * p.copy_tx;
  out.rx[kCopy] = w.toe_copies * n * p.copy_rx;
  for (auto* side : {&out.tx, &out.rx}) {
    (*side)[kProtocol] = descriptors;
    (*side)[kRegistration] = pinned;
  }
  out.rx[kInterrupt] = calls * p.interrupt;
  out.rx[kWakeup] = calls * w.sleeps * p.wakeup;
  return out;
}

/// Computes D(n).
Cost rnic(const Parameters& p, const Workload& w) {
  const auto posted = p.post + p.doorbell / p.doorbell_batch;
  const auto request = posted + p.completion;
  Cost out;
  auto& initiator = w.fetches() ? out.rx : out.tx;
  auto& target = w.fetches() ? out.tx : out.rx;
  initiator[kPost] = posted + w.signalled * p.completion;
  if (w.inlined && !w.fetches()) initiator[kPost] += w.size * p.copy_llc;
  // The target posts one request to advertise its STag. It also consumes the receive of a Send.
  target[kPost] = request / w.advertise + (w.verb == Verb::kSend ? request : 0);
  out.tx[kRegistration] = out.rx[kRegistration] = memory_ns(p, w);
  if (w.events) {
    auto& sleeper = w.verb == Verb::kSend ? target : initiator;
    sleeper[kInterrupt] = p.interrupt / w.moderation;
    sleeper[kWakeup] = p.wakeup / w.moderation;
  }
  return out;
}

}  // namespace

std::string_view to_string(Mode mode) {
  constexpr std::array<std::string_view, kModes.size()> kNames{"kernel sockets",
                                                               "kernel TLS",
                                                               "zero-copy send",
                                                               "zero-copy receive",
                                                               "software iWARP",
                                                               "TOE",
                                                               "RNIC"};
  return kNames[static_cast<std::size_t>(mode)];
}

const Path& path_of(Mode mode) {
  static constexpr std::array kPaths{
      Path{},
      Path{.copies_rx = 0, .ciphers = 1},
      Path{.copies_tx = 0, .pins = 1},
      Path{.copies_rx = 0, .buffers = 1},
  };
  const auto row = static_cast<std::size_t>(mode);
  return kPaths[row < kPaths.size() ? row : 0];
}

std::string_view to_string(Component component) {
  constexpr std::array<std::string_view, kComponents.size()> kNames{
      "copy",      "checksum", "cipher",       "protocol",     "system call",
      "interrupt", "wake-up",  "registration", "post and poll"};
  return kNames[static_cast<std::size_t>(component)];
}

double Ledger::total() const { return std::accumulate(ns.begin(), ns.end(), 0.0); }

Ledger& Ledger::operator+=(const Ledger& o) {
  for (std::size_t i = 0; i < ns.size(); ++i) ns[i] += o.ns[i];
  return *this;
}

Ledger& Ledger::operator*=(double factor) {
  for (auto& one : ns) one *= factor;
  return *this;
}

Ledger Cost::both() const {
  Ledger out = tx;
  out += rx;
  return out;
}

Wire wire_of(Mode mode, const Parameters& p, const Workload& w, double position) {
  constexpr double kRecordOverhead = 22;  // RFC 8446, section 5.2: header, type and tag
  const auto records = path_of(mode).ciphers * in_stream(w.size, kTlsRecord);
  Wire out{.octets = w.size + records * kRecordOverhead};
  out.packets = in_stream(out.octets, p.mss);
  if (mode == Mode::kSoftware || mode == Mode::kRnic) {
    const auto payload = fpdu_payload(p, w);
    const auto whole = std::floor(w.size / payload);
    const auto rest = w.size - whole * payload;
    out.fpdus = whole + (rest > 0 ? 1 : 0);
    out.octets = whole * fpdu_octets(payload) + (rest > 0 ? fpdu_octets(rest) : 0);
    // A marker is due where the position is a multiple of the distance. [MPA-25]
    const auto first = pieces(position, kMarkerDistance) * kMarkerDistance - position;
    if (w.markers && out.octets > first)
      out.markers = pieces(out.octets - first, kMarkerDistance - kMarkerSize);
    out.octets += out.markers * kMarkerSize;
    out.packets = pieces(out.octets, p.mss);
  }
  out.efficiency = w.size / (out.octets + out.packets * p.frame_overhead);
  return out;
}

/// Limits of this stack, in octets, FPDUs and elements of a gather list. Their sources are
/// verbs/connection_options.hpp, connection.cpp, framer.hpp, deframer.hpp and driven_io.cpp. Not
/// modelled: the first calls of a turn carry less than kRing, so 1 MiB takes up to two calls more.
constexpr double kRing = 1 << 20;
constexpr double kStage = 512 << 10;
constexpr double kQueuedFpdus = 256;
constexpr double kGatherList = 256;
constexpr double kCopyBelow = 2048;
constexpr double kAssembledFirst = 512;
constexpr double kReadExactly = 16 << 10;
constexpr double kReadBeforePlacing = 12;

std::array<Work, 2> stack_work(const Parameters& p, const Workload& w, double position) {
  const auto wire = wire_of(Mode::kSoftware, p, w, position);
  const auto payload = std::min(fpdu_payload(p, w), w.size);
  const auto each = fpdu_octets(payload);
  const auto fpdus = w.batch * wire.fpdus;
  Work tx{.fpdus = wire.fpdus, .markers = wire.markers};
  if (w.crc) tx.crced = wire.octets - kCrcField * wire.fpdus;
  auto rx = tx;
  const bool copies = w.crc || w.markers || payload <= kCopyBelow;
  if (copies) {
    tx.copied = w.size;
    tx.calls = pieces(fpdus, std::min(kQueuedFpdus, std::floor(kRing / each)));
  } else {
    // The gather list of the last FPDU of a call ends with its payload.
    tx.calls = pieces(fpdus, std::min(kGatherList / 2 - 1, pieces(kRing, each)));
    tx.pieces = 2 * fpdus - (tx.calls - 1);
  }
  if (w.crc) {
    const auto passes = [&w](double octets) {
      const auto ulpdu = kTaggedHeader + octets;
      if (octets == 0) return 0.0;
      if (ulpdu <= kAssembledFirst && !w.markers) return 1.0;
      return std::fmod(kLengthField + ulpdu, kAlignment) == 0 ? 2.0 : 3.0;
    };
    const auto whole = std::floor(w.size / payload);
    tx.crc_passes = whole * passes(payload) + passes(w.size - whole * payload);
    rx.crc_passes = wire.fpdus;
  }
  // The receiver stages as many FPDUs as fit. It moves the beginning of the FPDU that does not fit,
  // or, if FPDUs are large, does not read it.
  rx.copied = w.software_copies * w.size;
  const auto staged = std::floor(kStage / each) * each;
  const auto arrived = w.batch * wire.octets;
  if (w.software_copies == 0) {
    rx.calls = fpdus + 1;
    rx.copied = kReadBeforePlacing * wire.fpdus;
  } else if (each >= kReadExactly) {
    rx.calls = pieces(arrived, staged);
  } else {
    rx.calls = 1 + std::max(0.0, pieces(arrived - kStage, staged));
    rx.copied += (rx.calls - 1) * (kStage - staged) / w.batch;
  }
  for (auto* count : {&tx.calls, &tx.pieces, &rx.calls}) *count /= w.batch;
  return {tx, rx};
}

Ledger price(const Parameters& p, const Work& work, bool sends) {
  const auto joined = sends ? std::min(work.copied, work.crced) : 0;
  Ledger out;
  out[kCopy] = work.copied * p.copy_llc;
  out[kChecksum] = (work.crced - joined) * p.crc + joined * std::max(0.0, p.copy_crc - p.copy_llc);
  out[kProtocol] = work.fpdus * p.fpdu + work.pieces * p.iovec + work.markers * p.marker;
  return out;
}

Cost framing_cost(const Parameters& p, const Workload& w) {
  const auto [tx, rx] = stack_work(p, w);
  Cost out{price(p, tx, true), price(p, rx, false)};
  // Software iWARP keeps its queues in memory of the host, so posting needs no doorbell.
  out.tx[kPost] = p.post + p.completion;
  return out;
}

double segments_ns(double small, double large, double octets, double segments) {
  constexpr double kLarge = 65536;
  return segments * small + octets / kLarge * (large - small);
}

Cost path_cost(const Path& path, const Parameters& p, double octets) {
  Cost out;
  for (auto* side : {&out.tx, &out.rx}) {
    (*side)[kChecksum] = octets * p.checksum;
    (*side)[kCipher] = path.ciphers * octets * p.cipher;
    (*side)[kProtocol] = path.ciphers * in_stream(octets, kTlsRecord) * p.tls_record;
  }
  out.tx[kCopy] = path.copies_tx * octets * p.copy_tx;
  out.rx[kCopy] = path.copies_rx * octets * p.copy_rx;
  out.tx[kRegistration] = path.pins * pieces(octets, p.page) * p.pin_page;
  out.rx[kPost] =
      path.buffers * in_stream(octets, std::min(p.page, p.mss)) * (p.completion + p.iovec);
  return out;
}

Cost message_cost(Mode mode, const Parameters& p, const Workload& w) {
  switch (mode) {
    case Mode::kSoftware:
      return software(p, w);
    case Mode::kToe:
      return toe(p, w);
    case Mode::kRnic:
      return rnic(p, w);
    default:
      return sockets(path_of(mode), p, wire_of(mode, p, w).octets, w.sleeps);
  }
}

Cost transfer_cost(Mode mode, const Parameters& p, const Workload& w, double octets) {
  auto out = message_cost(mode, p, w);
  const auto whole = std::floor(octets / w.size);
  out.tx *= whole;
  out.rx *= whole;
  auto last = w;
  last.size = octets - whole * w.size;
  if (last.size > 0) {
    const auto cost = message_cost(mode, p, last);
    out.tx += cost.tx;
    out.rx += cost.rx;
  }
  return out;
}

double registration_ns(const Parameters& p, double size) {
  return p.register_fixed + p.deregister_fixed +
         pieces(size, p.page) * (p.register_page + p.deregister_page);
}

/// On demand, an interrupt reports the fault, and the driver maps all pages of the message.
double memory_ns(const Parameters& p, const Workload& w) {
  if (w.on_demand) return (p.interrupt + pieces(w.size, p.page) * p.register_page) / w.reuse;
  return (1 - w.hit_rate) * registration_ns(p, w.size) / w.reuse + w.hit_rate * p.cache_lookup;
}

double copy_share(const Cost& cost) {
  const auto total = cost.total();
  return total > 0 ? cost.both()[kCopy] / total : 0;
}

double ghz_per_gbps(const Parameters& p, double ns, double size) {
  return ns * p.clock / (size * kBitsPerOctet);
}

}  // namespace iwarp::offload_model
