// SPDX-License-Identifier: Apache-2.0
// Helpers for the RDMAP tests: an Ulp that answers from a script and records its calls, and a
// stream that the test feeds one ULPDU at a time. Payload is placed only where begin() says.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../ddp/support.hpp"
#include "iwarp/bytes/hex.hpp"
#include "iwarp/rdmap/stream.hpp"
#include "vectors.hpp"

namespace iwarp::rdmap {
inline doctest::String toString(StreamState state) { return std::string(to_string(state)).c_str(); }
}  // namespace iwarp::rdmap

namespace iwarp::rdmap::test {

using bytes::Layer;
using namespace ddp::test;

inline std::string text(bytes::View octets) { return bytes::to_hex(octets); }

inline Octets pattern(std::size_t size, unsigned seed = 0) {
  Octets out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>((i + seed) & 0xFF);
  return out;
}

/// Returns the ULPDU of a worked frame, without MPA's length, PAD and CRC.
inline Octets ulpdu_of(const iwarp::test::Vector& frame) {
  const auto length = bytes::load_be<std::uint16_t>(frame.octets.data());
  const auto from = frame.octets.begin() + 2;
  return {from, from + length};
}
inline Octets message(const std::string& name) {
  return ulpdu_of(iwarp::test::load_vector("messages.hex", name));
}
inline Octets extension(const std::string& name) {
  return ulpdu_of(iwarp::test::load_vector("extensions.hex", name));
}
inline Octets terminate_frame(const std::string& name) {
  return ulpdu_of(iwarp::test::load_vector("terminates.hex", name));
}

/// Returns the untagged segment with another MSN.
inline Octets with_msn(Octets segment, std::uint32_t msn) {
  constexpr std::size_t kMsnOffset = 10;
  bytes::store_be(segment.data() + kMsnOffset, msn);
  return segment;
}
/// Splits an untagged segment in two; the first one gets `cut` octets of its payload.
inline std::pair<Octets, Octets> split(bytes::View whole, std::size_t cut) {
  auto header = ddp::decode_segment_header(whole).value();
  const auto payload = whole.subspan(header.size());
  header.last = false;
  const auto first = segment(header, payload.first(cut));
  header.last = true;
  header.mo = static_cast<std::uint32_t>(cut);
  return {first, segment(header, payload.subspan(cut))};
}
inline ddp::SegmentHeader untagged_header(std::uint32_t msn, Opcode opcode = Opcode::kSend,
                                          std::uint32_t invalidate = 0) {
  return {.last = true,
          .rsvd_ulp = control_octet(opcode),
          .rsvd_ulp_rest = invalidate,
          .qn = info(opcode).qn,
          .msn = Msn{msn}};
}
inline ddp::SegmentHeader tagged_header(Opcode opcode, std::uint32_t stag, std::uint64_t to,
                                        bool last = true) {
  return {.tagged = true,
          .last = last,
          .rsvd_ulp = control_octet(opcode),
          .stag = Stag{stag},
          .to = TaggedOffset{to}};
}
/// Encodes a ReadRequest, an AtomicRequest or a Terminate.
template <typename Header>
Octets encoded(const Header& header) {
  Octets out(kMaxTerminateSize);
  bytes::Writer writer{bytes::Span(out)};
  encode(header, writer);
  REQUIRE(writer.ok());
  out.resize(writer.size());
  return out;
}
inline Octets read_request(std::uint32_t msn, const ReadRequest& request) {
  return segment(untagged_header(msn, Opcode::kReadRequest), encoded(request));
}

/// Returns requests of the ULP. A Read has the fields of frame G.
inline Request send(Opcode opcode, bytes::View payload, std::uint64_t cookie = 0) {
  return {.opcode = opcode,
          .length = static_cast<std::uint32_t>(payload.size()),
          .payload = {payload},
          .cookie = cookie};
}
inline Request read(bytes::Span sink, std::uint64_t cookie = 0) {
  return {.opcode = Opcode::kReadRequest,
          .length = static_cast<std::uint32_t>(sink.size()),
          .stag = Stag{0x11223344},
          .to = TaggedOffset{0x1000},
          .sink_stag = Stag{0x55667788},
          .sink_to = TaggedOffset{0x2000},
          .sink = sink,
          .cookie = cookie};
}

class ScriptedUlp final : public Ulp {
 public:
  /// The part of the arena that the peer may access with one STag.
  struct Window {
    std::uint32_t stag;
    std::uint64_t to;
    std::size_t at;  ///< offset in the arena
    std::uint32_t length;
  };

  // Scripted answers.
  Octets arena = Octets(4096, std::byte{0xEE});
  std::vector<Window> writable;
  std::vector<Window> readable;
  AccessError refusal = AccessError::kStagInvalid;  ///< returned when no window fits
  std::deque<Request> requests;
  std::deque<bytes::Span> receives;
  std::optional<bytes::Span> taken;  ///< memory that was granted and has not been filled yet
  bool refuse_invalidate = false;

  // Recorded calls.
  Log log;
  std::vector<ReceivedSend> received;
  std::vector<bytes::View> granted;  ///< all memory that was ever granted for writing
  bool target_held = false;
  bool source_held = false;

  bool next_request(bool read_credit, Request& out) override {
    if (requests.empty()) return false;
    const auto next = requests.front().opcode;
    const bool answered = next == Opcode::kReadRequest || next == Opcode::kAtomicRequest;
    if (answered && !read_credit) return false;
    out = requests.front();
    requests.pop_front();
    return true;
  }
  void sent(std::uint64_t cookie) override { log.push_back(fmt::format("sent {}", cookie)); }
  void read_done(std::uint64_t cookie) override { log.push_back(fmt::format("read {}", cookie)); }

  void atomic_done(std::uint64_t cookie, std::uint64_t original) override {
    log.push_back(fmt::format("atomic {} {:x}", cookie, original));
  }

  void delivered_before(Msn msn) override {
    log.push_back(fmt::format("delivered before {}", msn.value));
  }

  std::expected<void, AccessError> write_target(Stag stag, TaggedOffset to, std::uint32_t length,
                                                bytes::Span& out) override {
    log.push_back(fmt::format("write {:08x} {:x} {}", stag.value, to.value, length));
    const auto memory = find(writable, stag, to, length);
    if (!memory) return std::unexpected(memory.error());
    target_held = true;
    granted.emplace_back(*memory);
    out = *memory;
    return {};
  }
  void release_target() override { target_held = false; }
  std::expected<bytes::View, AccessError> read_source(Stag stag, TaggedOffset to,
                                                      std::uint32_t length) override {
    log.push_back(fmt::format("source {:08x} {:x} {}", stag.value, to.value, length));
    const auto memory = find(readable, stag, to, length);
    source_held = memory.has_value();
    if (!memory) return std::unexpected(memory.error());
    return bytes::View(*memory);
  }
  void release_source() override { source_held = false; }
  /// Reads and writes words of the arena in wire order.
  std::expected<std::uint64_t, AccessError> atomic(const AtomicRequest& request) override {
    log.push_back(fmt::format("atomic {:08x} {:x}", request.stag.value, request.to.value));
    const auto memory = find(writable, request.stag, request.to, kAtomicWord);
    if (!memory) return std::unexpected(memory.error());
    granted.emplace_back(*memory);
    const auto original = bytes::load_be<std::uint64_t>(memory->data());
    bytes::store_be(memory->data(), apply(request, original));
    return original;
  }

  bytes::Check receive_buffer(ddp::UntaggedBuffer& out) override {
    log.emplace_back(taken ? "receive again" : "receive");
    out.ready = taken || !receives.empty();
    if (!out.ready) return bytes::fault(ddp::kUntaggedNoBuffer);
    if (!taken) {
      taken = receives.front();
      receives.pop_front();
      granted.emplace_back(*taken);
    }
    out.pieces = {*taken};
    return {};
  }
  bytes::Check send_received(const ReceivedSend& send) override {
    if (send.invalidate && refuse_invalidate) return bytes::fault(kCannotInvalidate);
    log.push_back(fmt::format("send {}", send.length));
    taken.reset();
    received.push_back(send);
    return {};
  }
  void terminate_received(const Terminate& terminate) override {
    log.push_back("terminate " + bytes::to_string(terminate.fault));
  }

  bytes::Span memory(std::size_t at, std::size_t length) {
    return bytes::Span(arena).subspan(at, length);
  }
  Log take_log() { return std::exchange(log, {}); }

 private:
  std::expected<bytes::Span, AccessError> find(const std::vector<Window>& windows, Stag stag,
                                               TaggedOffset to, std::uint32_t length) {
    for (const Window& w : windows) {
      if (w.stag != stag.value || to.value < w.to || to.value - w.to > w.length) continue;
      const auto offset = to.value - w.to;
      if (length <= w.length - offset) return memory(w.at + offset, length);
    }
    return std::unexpected(refusal);
  }
};

/// A stream together with its Ulp.
struct Bench {
  explicit Bench(const StreamOptions& options = {}) : stream(ulp, options) {}

  ScriptedUlp ulp;
  Stream stream;

  /// Feeds one inbound ULPDU: begins it, places its payload and ends it. Returns the fault, or
  /// nullopt.
  std::optional<Fault> feed(bytes::View ulpdu) {
    const auto prefix = std::min(ulpdu.size(), Stream::kPrefix);
    const auto begun = stream.begin(ulpdu.first(prefix), ulpdu.size());
    if (!begun) return begun.error();
    const ddp::Arrival& arrival = stream.arrival();
    REQUIRE_FALSE(arrival.hold);
    REQUIRE(bytes::total_size(arrival.target) == arrival.length);
    auto from = ulpdu.subspan(arrival.header.size()).begin();
    for (const auto& piece : arrival.target) {
      std::copy_n(from, piece.size(), piece.begin());
      from += static_cast<std::ptrdiff_t>(piece.size());
    }
    const auto done = stream.end();
    if (!done) return done.error();
    return std::nullopt;
  }

  /// Returns the next outbound ULPDU, or nullopt if there is none. Tells the stream that all its
  /// octets were sent.
  std::optional<Octets> next(std::size_t mulpdu = 1442) {
    OutSegment out;
    if (!stream.next_segment(mulpdu, out)) return std::nullopt;
    Octets octets(out.header.begin(),
                  out.header.begin() + static_cast<std::ptrdiff_t>(out.header_size));
    for (const auto& piece : out.payload) octets.insert(octets.end(), piece.begin(), piece.end());
    last_copied = out.copy_payload;
    stream.segment_taken();
    stream.sent(out.token);
    CHECK(octets.size() <= std::max<std::size_t>(mulpdu, 70));
    return octets;
  }
  std::string next_text(std::size_t mulpdu = 1442) {
    const auto octets = next(mulpdu);
    return octets ? text(*octets) : "nothing";
  }
  /// Returns the opcodes of all messages that can be sent now, one hex digit each.
  std::string drain(std::size_t mulpdu = 1442) {
    std::string opcodes;
    while (const auto octets = next(mulpdu)) {
      opcodes += fmt::format("{:x}", std::to_integer<unsigned>((*octets)[1]) & 0x0F);
    }
    return opcodes;
  }
  bool last_copied = false;
};

}  // namespace iwarp::rdmap::test
