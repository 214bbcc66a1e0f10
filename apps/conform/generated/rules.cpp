// SPDX-License-Identifier: Apache-2.0
// The table of rules, from the lowest layer up: RFC 5044 section 4, RFC 5041 sections 4 and 7, RFC
// 5040 sections 4, 5 and 7. If the RFCs permit several reactions, each of them is right.
#include "conform/generated/rules.hpp"

#include <algorithm>
#include <array>

#include "iwarp/mpa/faults.hpp"
#include "iwarp/rdmap/faults.hpp"

namespace iwarp::apps::conform::generated {
namespace {

using rdmap::Opcode;
using Faults = std::span<const bytes::Fault>;

constexpr bytes::Fault kCannotInvalidateOperation{bytes::Layer::kRdma, 2, 0x09, ""};

constexpr std::array kCrc{mpa::kCrcMismatch};
constexpr std::array kTaggedDv{ddp::kTaggedVersion};
constexpr std::array kUntaggedDv{ddp::kUntaggedVersion};
constexpr std::array kRv{rdmap::kVersionInvalid};
constexpr std::array kOpcode{rdmap::kUnexpectedOpcode};
constexpr std::array kQn{ddp::kUntaggedQn};
constexpr std::array kOpcodeOrQn{rdmap::kUnexpectedOpcode, ddp::kUntaggedQn};
constexpr std::array kMsn{ddp::kUntaggedMsnRange, ddp::kUntaggedNoBuffer};
constexpr std::array kMo{ddp::kUntaggedMo, ddp::kUntaggedTooLong};
constexpr std::array kTooLong{ddp::kUntaggedTooLong};
constexpr std::array kStag{ddp::kTaggedInvalidStag, ddp::kTaggedNotAssociated};
constexpr std::array kTaggedBounds{ddp::kTaggedBounds};
constexpr std::array kTaggedWrap{ddp::kTaggedWrap, ddp::kTaggedBounds};
constexpr std::array kSource{rdmap::kInvalidStag, rdmap::kNotAssociated};
constexpr std::array kSourceBounds{rdmap::kBounds};
constexpr std::array kSourceWrap{rdmap::kWrap, rdmap::kBounds};
constexpr std::array kInvalidate{rdmap::kInvalidStag, rdmap::kNotAssociated,
                                 rdmap::kCannotInvalidate, kCannotInvalidateOperation};

// Queue and MSN of a message ----------------------------------------------------------------------

const rdmap::OpcodeInfo* known(const Sample& s) { return rdmap::find_opcode(s.header); }
bool is_untagged(const Sample& s) { return !s.header.tagged; }
bool counted(const Sample& s) { return is_untagged(s) && s.header.qn < 3; }

// Returns by how much the sample's MSN exceeds the expected MSN. The result is negative if the MSN
// was used before.
std::int32_t msn_ahead(const Sample& s, const Progress& p) {
  return static_cast<std::int32_t>(s.header.msn.value - p.next_msn[s.header.qn]);
}
// Assumed number of receives that a peer has posted in addition to the one for the expected MSN.
constexpr std::int32_t kNear = 16;

bool on_due_message(const Sample& s, const Progress& p) { return msn_ahead(s, p) == 0; }

std::uint64_t buffer_size(const Sample& s) {
  return s.header.qn == rdmap::kSendQueue ? kReceiveSize : rdmap::kReadRequestSize;
}
bool on_send_or_read_queue(const Sample& s) { return is_untagged(s) && s.header.qn < 2; }
std::uint64_t mo_end(const Sample& s) { return s.header.mo + std::uint64_t{s.payload_size()}; }
std::uint32_t due_mo(const Sample& s, const Progress& p) {
  return p.state == State::kInSend && s.header.qn == rdmap::kSendQueue ? p.begun : 0;
}

// Tagged and read buffers -------------------------------------------------------------------------

bool is_placed(const Sample& s) { return s.header.tagged && s.payload_size() != 0; }
bool is_open(std::uint32_t stag, const Progress& p) {
  return p.memory.length != 0 && stag == p.memory.stag;
}
bool wraps(std::uint64_t to, std::uint64_t size) { return to + size < to && to + size != 0; }
bool outside(std::uint64_t to, std::uint64_t size, const PeerMemory& memory) {
  const auto offset = to - memory.to;
  return offset > memory.length || size > memory.length - offset;
}
bool is_read(const Sample& s) {
  return is_untagged(s) && s.read && s.is(Opcode::kReadRequest) &&
         s.payload_size() == rdmap::kReadRequestSize && s.read->size != 0;
}
bool is_response(const Sample& s) { return s.header.tagged && s.is(Opcode::kReadResponse); }

// The order of messages ---------------------------------------------------------------------------

bool beside(const Sample& s, const Progress& p) { return p.begun != 0 && !continues(s, p); }

bool another_tagged(const Sample& s, const Progress& p) {
  if (p.state == State::kInWrite) {
    return is_response(s) || (s.header.tagged && s.header.to.value != p.memory.to + p.begun);
  }
  return p.state == State::kInReadResponse && s.header.tagged &&
         (!is_response(s) || s.header.to.value != p.asked->sink_to.value + p.begun);
}

bool whole_response(const Sample& s, const Progress& p) {
  return s.header.to.value == p.asked->sink_to.value + p.begun &&
         s.payload_size() == p.asked->size - p.begun && s.split == Sample::Split::kNone;
}

// clang-format off
constexpr Rule kRules[] = {
    {"after a Terminate", "RDMAP-63 RDMAP-89", [](const Sample&, const Progress& p) { return p.state == State::kBehindTerminate; }, {}, kAlone | kNoTerminate},
    {"wrong CRC in the first FPDU", "MPA-46 MPA-93", [](const Sample& s, const Progress& p) { return p.crc && s.tamper.crc_xor != 0 && p.state == State::kEstablished && p.peer_listens; }, kCrc, kAlone | kNoHeaders | kMayClose},
    {"wrong CRC", "MPA-46", [](const Sample& s, const Progress& p) { return p.crc && s.tamper.crc_xor != 0; }, kCrc, kAlone | kNoHeaders},
    {"ULPDU shorter than its DDP header", "DDP-36 DDP-62", [](const Sample& s, const Progress&) { return s.size() < s.header.size(); }, {}, kAlone | kAnyTerminate | kMayClose | kNoHeaders},
    {"wrong DDP version in a tagged segment", "DDP-20 DDP-83", [](const Sample& s, const Progress&) { return s.header.version != 1 && s.header.tagged; }, kTaggedDv, kNoHeaders},
    {"wrong DDP version in an untagged segment", "DDP-20 DDP-83", [](const Sample& s, const Progress&) { return s.header.version != 1 && !s.header.tagged; }, kUntaggedDv, kNoHeaders},
    {"wrong RDMAP version", "RDMAP-98", [](const Sample& s, const Progress&) { return (s.header.rsvd_ulp & rdmap::kVersionMask) != rdmap::kVersion; }, kRv, kNoHeaders},
    {"unknown opcode", "RDMAP-97 EXT-2", [](const Sample& s, const Progress&) { return s.opcode() > 7; }, kOpcode, kNoHeaders},
    {"tagged opcode in an untagged segment, or untagged opcode in a tagged segment", "RDMAP-5 RDMAP-97", [](const Sample& s, const Progress&) { return s.opcode() <= 7 && known(s)->tagged != s.header.tagged; }, kOpcode, kNoHeaders},
    {"unknown queue", "DDP-67", [](const Sample& s, const Progress&) { return is_untagged(s) && s.header.qn > 3; }, kQn},
    {"queue number that belongs to another opcode", "RDMAP-7 RDMAP-97", [](const Sample& s, const Progress&) { return is_untagged(s) && s.header.qn <= 3 && s.opcode() <= 7 && !known(s)->tagged && known(s)->qn != s.header.qn; }, kOpcodeOrQn},
    {"MSN used before", "DDP-50 DDP-72", [](const Sample& s, const Progress& p) { return counted(s) && msn_ahead(s, p) < 0; }, kMsn},
    {"MSN far ahead of the expected MSN", "DDP-72", [](const Sample& s, const Progress& p) { return counted(s) && msn_ahead(s, p) > kNear; }, kMsn},
    {"MSN ahead of the expected MSN", "DDP-52 DDP-72", [](const Sample& s, const Progress& p) { return counted(s) && msn_ahead(s, p) > 0 && msn_ahead(s, p) <= kNear; }, kMsn, kMayGoOn | kUndelivered},
    {"MO outside the buffer", "DDP-70", [](const Sample& s, const Progress&) { return on_send_or_read_queue(s) && s.payload_size() != 0 && s.header.mo >= buffer_size(s); }, kMo},
    {"message longer than the buffer", "DDP-71 RDMAP-51", [](const Sample& s, const Progress&) { return on_send_or_read_queue(s) && s.header.mo < buffer_size(s) && mo_end(s) > buffer_size(s); }, kTooLong},
    {"MO that leaves a gap", "DDP-52", [](const Sample& s, const Progress& p) { return on_send_or_read_queue(s) && on_due_message(s, p) && s.header.mo > due_mo(s, p); }, kMo, kMayGoOn | kUndelivered},
    {"MO already received", "DDP-41 DDP-49", [](const Sample& s, const Progress& p) { return on_send_or_read_queue(s) && on_due_message(s, p) && s.header.mo < due_mo(s, p); }, kMo, kMayGoOn},
    {"Send opcode that changes within a message", "DDP-28 DDP-29", [](const Sample& s, const Progress& p) { return p.state == State::kInSend && s.is_send() && is_untagged(s) && !s.is(Opcode::kSend); }, kOpcode, kMayGoOn | kAnyTerminate},
    {"message between the segments of another message", "DDP-47", beside, {}, kMayGoOn | kAnyTerminate | kMayClose},
    {"tagged message before the last segment of the previous message", "DDP-47 DDP-48", another_tagged, {}, kMayGoOn | kAnyTerminate | kMayClose},
    {"STag that was not advertised", "DDP-24 DDP-73", [](const Sample& s, const Progress& p) { return is_placed(s) && !is_open(s.header.stag.value, p); }, kStag},
    {"TO outside the buffer", "DDP-75 DDP-76", [](const Sample& s, const Progress& p) { return is_placed(s) && is_open(s.header.stag.value, p) && !wraps(s.header.to.value, s.payload_size()) && outside(s.header.to.value, s.payload_size(), p.memory); }, kTaggedBounds},
    {"TO plus length above 2^64", "DDP-77", [](const Sample& s, const Progress& p) { return is_placed(s) && is_open(s.header.stag.value, p) && wraps(s.header.to.value, s.payload_size()); }, kTaggedWrap},
    {"unsolicited Read Response", "RDMAP-29 RDMAP-97", [](const Sample& s, const Progress& p) { return is_response(s) && !p.asked; }, {}, kAnyTerminate | kMayClose},
    {"Read Response that does not match its request", "RDMAP-46", [](const Sample& s, const Progress& p) { return is_response(s) && p.asked && !whole_response(s, p); }, {}, kAnyTerminate | kMayClose | kMayGoOn},
    {"Read Request whose payload is not 28 octets", "RDMAP-11 RDMAP-12", [](const Sample& s, const Progress&) { return is_untagged(s) && s.is(Opcode::kReadRequest) && s.payload_size() != rdmap::kReadRequestSize; }, kTooLong, kAnyTerminate | kMayClose},
    {"source STag that was not advertised", "RDMAP-101 RDMAP-102", [](const Sample& s, const Progress& p) { return is_read(s) && !is_open(s.read->source_stag.value, p); }, kSource},
    {"source TO outside the buffer", "RDMAP-103 RDMAP-104", [](const Sample& s, const Progress& p) { return is_read(s) && is_open(s.read->source_stag.value, p) && !wraps(s.read->source_to.value, s.read->size) && outside(s.read->source_to.value, s.read->size, p.memory); }, kSourceBounds},
    {"source TO plus length above 2^64", "RDMAP-105", [](const Sample& s, const Progress& p) { return is_read(s) && is_open(s.read->source_stag.value, p) && wraps(s.read->source_to.value, s.read->size); }, kSourceWrap},
    {"Send with Invalidate for an STag that was not advertised", "RDMAP-99 RDMAP-100", [](const Sample& s, const Progress& p) { return is_untagged(s) && s.opcode() <= 7 && known(s)->invalidates && !is_open(s.header.rsvd_ulp_rest, p); }, kInvalidate},
    {"Send with Invalidate for an STag that the peer's program still uses", "RDMAP-58 RDMAP-113", [](const Sample& s, const Progress& p) { return is_untagged(s) && s.opcode() <= 7 && known(s)->invalidates && is_open(s.header.rsvd_ulp_rest, p); }, {}, kAnyTerminate | kMayClose | kMayGoOn},
    {"Send that the peer's program does not understand", "RDMAP-50", [](const Sample& s, const Progress& p) { return is_untagged(s) && s.is_send() && (s.header.mo + s.payload_size() != kReceiveSize || p.state == State::kReadRequested || p.state == State::kInReadResponse); }, {}, kAnyTerminate | kMayClose | kMayGoOn},
    {"Terminate with octets outside the buffer of the Terminate queue", "DDP-70 DDP-71 RDMAP-90", [](const Sample& s, const Progress&) { return is_untagged(s) && s.is(Opcode::kTerminate) && (s.header.mo != 0 || s.payload_size() > rdmap::kMaxTerminateSize); }, {}, kAnyTerminate | kMayClose | kNoHeaders},
    {"Terminate", "RDMAP-62 RDMAP-90", [](const Sample& s, const Progress&) { return is_untagged(s) && s.is(Opcode::kTerminate) && s.payload_size() >= 4; }, {}, kNoTerminate | kMayClose},
    {"Terminate whose payload has fewer than 4 octets", "RDMAP-15 RDMAP-90", [](const Sample& s, const Progress&) { return is_untagged(s) && s.is(Opcode::kTerminate) && s.payload_size() < 4; }, {}, kAnyTerminate | kMayClose | kNoHeaders},
};
// clang-format on

}  // namespace

std::span<const Rule> all_rules() { return kRules; }

Expectation judge(const Sample& sample, const Progress& progress) {
  Expectation out;
  for (const Rule& rule : kRules) {
    if (!rule.broken(sample, progress)) continue;
    out.broken.push_back(&rule);
    out.faults.insert(out.faults.end(), rule.faults.begin(), rule.faults.end());
    out.flags |= rule.flags;
    if ((rule.flags & kAlone) != 0) return out;
  }
  // If the sample violates several rules and one of them requires the end of the stream, the peer
  // must end the stream, even if the other rules would let it continue.
  const auto ends = [](const Rule* rule) { return (rule->flags & kMayGoOn) == 0; };
  if (std::ranges::any_of(out.broken, ends)) out.flags &= ~(kMayGoOn | kUndelivered);
  // A peer may answer the tester's Terminate with a Terminate of its own if the tester's Terminate
  // also violates another rule.
  if (out.broken.size() > 1) {
    if (out.has(kNoTerminate)) out.flags = (out.flags & ~kNoTerminate) | kAnyTerminate;
  }
  return out;
}

std::string Expectation::text() const {
  if (is_valid()) return "continues";
  std::string out;
  const auto add = [&](std::string_view way) {
    if (!out.empty()) out += " or ";
    out += way;
  };
  if (has(kAnyTerminate)) {
    add("any Terminate");
  } else {
    std::vector<std::string> codes;
    for (const auto& fault : faults) {
      auto code = bytes::to_string(fault).substr(0, 6);
      if (std::ranges::find(codes, code) == codes.end()) codes.push_back(std::move(code));
    }
    for (const auto& code : codes) add("Terminate " + code);
  }
  if (has(kMayClose | kNoTerminate)) add("connection closed without a Terminate");
  if (has(kMayGoOn))
    add(has(kUndelivered) ? "continues without delivering the message" : "continues");
  return out;
}

}  // namespace iwarp::apps::conform::generated
