// SPDX-License-Identifier: Apache-2.0
// Helpers for the scenarios: post a request, or check a result. Each posting helper asserts that
// the request was accepted. The scenario then checks its result.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "iwarp/rdmap/message_header.hpp"
#include "iwarp/sim/pair.hpp"
#include "iwarp/verbs/shared_receive_queue.hpp"

namespace iwarp::test {

using namespace std::chrono_literals;  // NOLINT: durations in tests
using namespace bytes;
using namespace mpa;
using namespace sim;
using namespace verbs;
using ConnectionEventType = verbs::ConnectionEvent::Type;

inline constexpr Access kEverything =
    Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic;

/// Size of a Request or Reply if RFC 7306 is the only extension that both ends announce.
inline constexpr std::size_t kPlainFrame = mpa::startup_frame_size(mpa::kExtensionsTagSize);
inline constexpr std::size_t kEnhancedFrame = kPlainFrame + mpa::kEnhancedWordSize;

inline ConnectionOptions with_ord(std::uint16_t ord) {
  ConnectionOptions out;
  out.startup.ord = ord;
  return out;
}

/// Return the options with one change to MPA's part of them.
inline ConnectionOptions with_crc(bool crc, ConnectionOptions o = {}) {
  o.startup.crc = crc;
  return o;
}
inline ConnectionOptions with_rtr(mpa::Rtr rtr, ConnectionOptions o = {}) {
  o.startup.rtr = rtr;
  return o;
}
inline ConnectionOptions without_extensions(ConnectionOptions o = {}) {
  o.startup.extensions = false;
  return o;
}

/// Returns options of an end whose requests complete when the peer has acknowledged them.
inline ConnectionOptions acknowledged(std::uint16_t ord = 16, std::uint16_t ird = 16) {
  ConnectionOptions o;
  o.completions = verbs::Completions::kAcknowledged;
  o.startup.ird = ird;
  o.startup.ord = ord;
  return o;
}

/// Returns options of an end that waits for a receive when a Send arrives.
inline ConnectionOptions holding(mpa::Duration hold, ConnectionOptions o = {}) {
  o.receive_hold = hold;
  return o;
}

/// Returns options of an end that offers Send with Immediate.
inline ConnectionOptions together(ConnectionOptions o = {}) {
  o.startup.send_immediate = true;
  return o;
}

/// A pair of connections in RTS.
struct Connected : Pair {
  explicit Connected(const ConnectionOptions& initiator = {},
                     const ConnectionOptions& responder = {}, const LinkOptions& link = {},
                     verbs::QpInit init_a = {}, verbs::QpInit init_b = {})
      : Pair(initiator, responder, link, init_a, init_b) {
    REQUIRE(establish());
  }
};

struct Regions {
  Region* mine;
  Region* theirs;
};
/// Creates one region with all access rights at each end: `mine` octets at `a` and `theirs` octets
/// at `b`. If `theirs` is 0, both regions have `mine` octets.
inline Regions regions(Pair& pair, std::size_t mine, std::size_t theirs = 0) {
  return {pair.a->memory(mine, kEverything),
          pair.b->memory(theirs != 0 ? theirs : mine, kEverything)};
}

/// A pair of connections in RTS, and a region of `size` octets with all access rights at each end.
struct Ready {
  explicit Ready(std::size_t size, const ConnectionOptions& initiator = {},
                 const ConnectionOptions& responder = {}, const LinkOptions& link = {},
                 verbs::QpInit init_a = {}, verbs::QpInit init_b = {})
      : pair(initiator, responder, link, init_a, init_b),
        mine(pair.a->memory(size, kEverything)),
        theirs(pair.b->memory(size, kEverything)) {}
  Connected pair;
  Region* mine;
  Region* theirs;
};

/// Creates a region of `size` octets with all access rights, in protection domain `pd`. Only
/// connections of queue pair `qp` may use the region if `qp` is not 0.
inline Region* foreign(End& end, std::size_t size, verbs::PdId pd, verbs::QpNum qp) {
  auto region = end.stags.create({.kind = Region::Kind::kRegion,
                                  .pd = pd,
                                  .qp = qp,
                                  .address = end.memory(size, kEverything)->address,
                                  .length = size,
                                  .access = kEverything});
  REQUIRE(region.has_value());
  return *region;
}
inline Region* window(End& end) {
  return end.stags.create({.kind = Region::Kind::kWindow, .pd = 1}).value();
}

/// Returns octet `i` of the pattern of fill_pattern().
inline std::byte pattern(std::size_t i, unsigned seed = 1) {
  return static_cast<std::byte>((i * 131 + i / 251 + seed) & 0xFF);
}
inline void fill_pattern(const Region* region, unsigned seed = 1) {
  for (std::size_t i = 0; i < region->length; ++i) region->address[i] = pattern(i, seed);
}
/// Returns whether the whole region has the octets that fill_pattern() writes.
inline bool has_pattern(const Region* region) {
  for (std::size_t i = 0; i < region->length; ++i) {
    if (region->address[i] != pattern(i)) return false;
  }
  return true;
}
inline bool same(const Region* x, const Region* y, std::size_t length) {
  return std::memcmp(x->address, y->address, length) == 0;
}
inline Stag stag_of(const Region* region) { return Stag{region->stag.load()}; }

/// Returns the same memory under a key that no region has.
inline Sge wrong_key(Sge sge) {
  sge.lkey.value ^= 0x100;
  return sge;
}
inline RemoteAddress wrong_key(RemoteAddress at, std::uint32_t difference = 0x100) {
  at.rkey.value ^= difference;
  return at;
}

inline void post(End& end, const SendWr& wr) { REQUIRE(!end.qp->post_send(wr)); }
/// Posts `wr` after adding what requests of most kinds have.
inline void post(End& end, std::uint64_t id, WrOpcode opcode, SendFlags flags, SendWr wr) {
  wr.wr_id = id;
  wr.opcode = opcode;
  wr.flags = flags;
  post(end, wr);
}

inline void post_write(End& end, std::uint64_t id, const Sge& from, RemoteAddress to,
                       SendFlags flags = SendFlags::kSignaled) {
  post(end, id, WrOpcode::kWrite, flags, {.sgl = {&from, 1}, .remote = to});
}
inline void post_read(End& end, std::uint64_t id, const Sge& to, RemoteAddress from,
                      SendFlags flags = SendFlags::kSignaled) {
  post(end, id, WrOpcode::kRead, flags, {.sgl = {&to, 1}, .remote = from});
}
inline void post_send(End& end, std::uint64_t id, const Sge& from,
                      SendFlags flags = SendFlags::kSignaled) {
  post(end, id, WrOpcode::kSend, flags, {.sgl = {&from, 1}});
}
inline void post_send_invalidate(End& end, std::uint64_t id, const Sge& from, Stag stag) {
  post(end, id, WrOpcode::kSendInvalidate, SendFlags::kSignaled,
       {.sgl = {&from, 1}, .invalidate = stag});
}
inline void post_local_invalidate(End& end, std::uint64_t id, Stag stag,
                                  SendFlags flags = SendFlags::kSignaled) {
  post(end, id, WrOpcode::kLocalInvalidate, flags, {.invalidate = stag});
}
inline void post_fast_register(End& end, std::uint64_t id, const Region* what, std::uint8_t key,
                               const Region* memory, Access access = kEverything) {
  const verbs::Registration registration{.stag = stag_of(what),
                                         .key = key,
                                         .address = memory->address,
                                         .length = memory->length,
                                         .access = access};
  post(end, id, WrOpcode::kFastRegister, SendFlags::kSignaled, {.registration = registration});
}
inline void post_bind(End& end, std::uint64_t id, const Region* what, std::uint8_t key,
                      const Region* memory, std::size_t offset, std::size_t length, Access access) {
  const verbs::WindowBind bind{.window = stag_of(what),
                               .key = key,
                               .region = stag_of(memory),
                               .address = memory->address + offset,
                               .length = length,
                               .access = access};
  post(end, id, WrOpcode::kBindWindow, SendFlags::kSignaled, {.bind = bind});
}
inline void post_fetch_add(End& end, std::uint64_t id, const Sge& old, RemoteAddress at,
                           std::uint64_t add, SendFlags flags = SendFlags::kSignaled) {
  post(end, id, WrOpcode::kFetchAdd, flags,
       {.sgl = {&old, 1}, .remote = at, .atomic = {.add_or_swap = add}});
}
inline void post_cmp_swap(End& end, std::uint64_t id, const Sge& old, RemoteAddress at,
                          std::uint64_t compare, std::uint64_t swap) {
  post(end, id, WrOpcode::kCmpSwap, SendFlags::kSignaled,
       {.sgl = {&old, 1}, .remote = at, .atomic = {.add_or_swap = swap, .compare = compare}});
}
inline void post_immediate(End& end, std::uint64_t id, std::uint64_t immediate,
                           SendFlags flags = SendFlags::kSignaled) {
  post(end, id, WrOpcode::kImmediate, flags, {.immediate = immediate});
}
inline void post_write_immediate(End& end, std::uint64_t id, const Sge& from, RemoteAddress to,
                                 std::uint64_t immediate, SendFlags flags = SendFlags::kSignaled) {
  post(end, id, WrOpcode::kWriteImmediate, flags,
       {.sgl = {&from, 1}, .remote = to, .immediate = immediate});
}
inline void post_send_immediate(End& end, std::uint64_t id, std::span<const Sge> from,
                                std::uint32_t immediate, SendFlags flags = SendFlags::kSignaled) {
  post(end, id, WrOpcode::kSendImmediate, flags,
       {.sgl = from, .immediate = std::uint64_t{immediate} << 32});
}
/// Posts an atomic or a Read. The peer executes and answers both in order.
inline void post_answered(End& end, bool atomic, std::uint64_t id, const Sge& to,
                          RemoteAddress from) {
  atomic ? post_fetch_add(end, id, to, from, 1) : post_read(end, id, to, from);
}
inline void post_recv(End& end, std::uint64_t id, const Sge& to) {
  REQUIRE(!end.qp->post_recv({.wr_id = id, .sgl = {&to, 1}}));
}

/// Returns the FPDU of a segment, without a CRC.
inline std::vector<std::byte> fpdu(const ddp::SegmentHeader& header, View payload) {
  std::vector<std::byte> out(mpa::fpdu_size(header.size() + payload.size()));
  bytes::Writer writer{Span(out)};
  writer.u16(static_cast<std::uint16_t>(header.size() + payload.size()));
  ddp::encode(header, writer);
  writer.put(payload);
  return out;
}

/// Returns the 64-bit word at `offset` as a program would read it.
inline std::uint64_t word(const Region* region, std::size_t offset = 0) {
  std::uint64_t value = 0;
  std::memcpy(&value, region->address + offset, sizeof value);
  return value;
}
inline void set_word(const Region* region, std::uint64_t value, std::size_t offset = 0) {
  std::memcpy(region->address + offset, &value, sizeof value);
}

/// Returns the opcodes of the FPDUs in a stream without markers, one hex digit each.
inline std::string opcodes(const Direction& direction) {
  const auto& log = direction.log;
  const auto u16 = [&log](std::size_t at) {
    return (std::to_integer<std::size_t>(log[at]) << 8) | std::to_integer<std::size_t>(log[at + 1]);
  };
  std::string out;
  for (std::size_t at = 20 + u16(18); at + 4 <= log.size();) {
    out += "0123456789abcdef"[std::to_integer<std::size_t>(log[at + 3]) & 15];
    at += (2 + u16(at) + 3) / 4 * 4 + 4;
  }
  return out;
}

/// Removes repeated opcodes, so that "00001" becomes "01": one digit for each message instead of
/// one for each segment.
inline std::string collapsed(std::string opcodes) {
  opcodes.erase(std::unique(opcodes.begin(), opcodes.end()), opcodes.end());
  return opcodes;
}

/// Formats a Terminate as in the requirement tables, for example "1/1/00", or "none".
inline std::string code(const std::optional<rdmap::Terminate>& terminate) {
  if (!terminate) return "none";
  return bytes::to_string(terminate->fault).substr(0, 6);
}
inline std::string sent_code(const End& end) { return code(end.qp->query().terminate_sent); }
inline std::string received_code(const End& end) {
  return code(end.qp->query().terminate_received);
}

inline std::size_t count(const End& end, AsyncEventType type) {
  const auto is = [type](const verbs::AsyncEvent& e) { return e.type == type; };
  return static_cast<std::size_t>(std::count_if(end.async.begin(), end.async.end(), is));
}
inline bool saw(End& end, ConnectionEventType type) {
  bool found = false;
  while (const auto e = end.event()) found |= *e == type;
  return found;
}

/// Formats completions for comparisons, for example "1 success, 2 work request flushed".
inline std::string text(const std::vector<WorkCompletion>& list) {
  std::string out;
  for (const auto& wc : list) {
    if (!out.empty()) out += ", ";
    out += std::to_string(wc.wr_id) + " " + std::string(verbs::to_string(wc.status));
  }
  return out;
}

/// Runs both ends until nothing more happens. Returns the text of the completions of `end`.
inline std::string completed(Pair& pair, End& end) {
  pair.run();
  return text(end.completions());
}
inline std::string completed(Pair& pair) { return completed(pair, *pair.a); }

/// Makes `a` send its first FPDU, an empty Write. The responder may send only after it. [MPA-93]
inline void let_responder_send(Pair& pair) {
  post_write(*pair.a, 1, {}, {}, SendFlags::kNone);
  pair.run();
}

/// Deregisters the region as an Rnic does. If the connection holds a pin on it, revokes the pin
/// once.
inline void destroy(End& end, Region* region) {
  int asked = 0;
  const auto error = end.stags.destroy(region, [&](Region& r) {
    ++asked;
    end.connection->revoke(r, end.now);
  });
  CHECK(!error);
  CHECK(asked <= 1);
}

/// Carries octets from one end to the other, past the link of the pair, until nothing is left to
/// send or the receiver does not read.
inline void carry(End& from, End& to) {
  Direction way(from, to);
  while (way.in_flight().empty() && way.send() != 0) {
    while (way.deliver() != 0) {
    }
  }
}

/// Returns whether the octets of `region` from offset `from` on all have the value `value`.
inline bool is_filled(const Region* region, std::byte value, std::size_t from = 0) {
  return std::all_of(region->address + from, region->address + region->length,
                     [value](std::byte b) { return b == value; });
}
inline bool all_zero(const Region* region, std::size_t from = 0) {
  return is_filled(region, std::byte{0}, from);
}

/// Writes to memory that the program may use for something else, for example after destroy().
inline void reuse(const Region* region) {
  std::fill_n(region->address, region->length, std::byte{0xDD});
}
/// Returns whether nothing has changed the memory since reuse().
inline bool is_reused(const Region* region) { return is_filled(region, std::byte{0xDD}); }

inline bool are_both_in(const Pair& pair, QpState state) {
  return pair.a->qp->state() == state && pair.b->qp->state() == state;
}

/// Checks the sizes of the headers that the Terminate which `refuser` has sent repeats.
inline void check_repeated(const End& refuser, std::size_t ddp_header, std::size_t rdma_header) {
  const auto segment = refuser.qp->query().terminate_sent->segment.value();
  CHECK(segment.ddp_header_size == ddp_header);
  CHECK(segment.rdma_header_size == rdma_header);
}

/// Runs both ends until nothing more happens. Checks that `refuser` ended the stream with `why` and
/// that both ends are in Error. [RDMAP-62] [VRB-15]
inline void check_refused(Pair& pair, End& refuser, const std::string& why) {
  pair.run();
  End& other = &refuser == pair.a.get() ? *pair.b : *pair.a;
  CHECK(sent_code(refuser) == why);
  CHECK(received_code(other) == why);
  CHECK(received_code(refuser) == "none");
  // An end never answers a Terminate with another Terminate. [VRB-10]
  CHECK(sent_code(other) == "none");
  CHECK(count(refuser, AsyncEventType::kTerminateSent) == 1);
  CHECK(count(other, AsyncEventType::kTerminateReceived) == 1);
  CHECK(refuser.qp->state() == QpState::kError);
  CHECK(other.qp->state() == QpState::kError);
  CHECK(saw(refuser, ConnectionEventType::kDisconnected));
  CHECK(saw(other, ConnectionEventType::kDisconnected));
  CHECK_FALSE(pair.to_a.sent_after_fin);
  CHECK_FALSE(pair.to_b.sent_after_fin);
  CHECK(pair.a->guards_intact());
  CHECK(pair.b->guards_intact());
}

}  // namespace iwarp::test
