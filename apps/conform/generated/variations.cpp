// SPDX-License-Identifier: Apache-2.0
// The table of variations, with one line for each value of a field. rules.cpp, and not this table,
// defines which reactions to a value are right.
#include "conform/generated/variations.hpp"

#include <algorithm>

namespace iwarp::apps::conform::generated {
namespace {

using S = Sample&;
using P = const Progress&;

constexpr std::uint32_t kMax32 = 0xFFFFFFFF;
constexpr std::uint64_t kMax64 = 0xFFFFFFFFFFFFFFFF;

std::uint32_t msn(S s, P p) { return p.next_msn[s.header.qn % ddp::kQueues]; }
std::uint64_t end_of(P p) { return p.memory.to + p.memory.length; }

// Flips T, which changes a tagged segment to an untagged one or vice versa. Sets valid values in
// the fields that the segment did not have before.
void flip_tagged(S s, P p) {
  s.header.tagged = !s.header.tagged;
  s.header.stag = {p.memory.stag};
  s.header.to = {p.memory.to};
  s.header.qn = rdmap::kSendQueue;
  s.header.msn = {p.next_msn[rdmap::kSendQueue]};
  s.header.mo = p.state == State::kInSend ? p.begun : 0;
}

template <std::uint8_t kBits>
void opcode(S s, P) {
  s.header.rsvd_ulp = static_cast<std::uint8_t>((s.header.rsvd_ulp & ~rdmap::kOpcodeMask) | kBits);
}
template <std::uint8_t kBits>
void rdmap_version(S s, P) {
  s.header.rsvd_ulp = static_cast<std::uint8_t>((s.header.rsvd_ulp & 0x3F) | (kBits << 6));
}
template <std::uint8_t kBits>
void rdmap_reserved(S s, P) {
  s.header.rsvd_ulp = static_cast<std::uint8_t>(s.header.rsvd_ulp | (kBits << 4));
}
template <std::uint8_t kVersion>
void ddp_version(S s, P) {
  s.header.version = kVersion;
}
template <std::uint8_t kBits>
void ddp_reserved(S s, P) {
  s.ddp_reserved = kBits;
}
template <std::uint32_t kQn>
void queue(S s, P) {
  s.header.qn = kQn;
}
template <std::size_t kLength>
void ulpdu_length(S s, P) {
  s.ulpdu_length = kLength;
}

// Sets the payload to `size` octets, but at most 4096. Without this limit the payload could be
// huge, because callers compute `size` as the distance from a changed TO to the end of the memory.
void payload(S s, std::uint64_t size) {
  s.read.reset();
  s.payload = pattern(std::min<std::uint64_t>(size, 4096), 79);
}

// clang-format off
constexpr Variation kVariations[] = {
    {Scope::kAny, "none", "", "", [](S, P) {}},
    // MPA
    {Scope::kAny, "CRC", "first bit", "MPA-46 MPA-59", [](S s, P) { s.tamper.crc_xor = 1; }},
    {Scope::kAny, "CRC", "last bit", "MPA-46 MPA-59", [](S s, P) { s.tamper.crc_xor = 0x80000000; }},
    {Scope::kAny, "CRC", "first and last octet", "MPA-43 MPA-46", [](S s, P) { s.tamper.crc_xor = 0x01000001; }},
    {Scope::kAny, "PAD", "ones", "MPA-16", [](S s, P) { s.tamper.pad_fill = 0xFF; }},
    {Scope::kAny, "ULPDU_Length", "0", "DDP-36", ulpdu_length<0>},
    {Scope::kAny, "ULPDU_Length", "1", "DDP-36", ulpdu_length<1>},
    {Scope::kAny, "ULPDU_Length", "2", "DDP-36", ulpdu_length<2>},
    {Scope::kAny, "ULPDU_Length", "header-1", "DDP-36", [](S s, P) { s.ulpdu_length = s.header.size() - 1; }},
    {Scope::kAny, "ULPDU_Length", "header", "DDP-36", [](S s, P) { s.ulpdu_length = s.header.size(); }},
    // DDP control
    {Scope::kAny, "T", "flipped", "DDP-12 RDMAP-5", flip_tagged},
    {Scope::kAny, "L", "0, the second half follows", "DDP-13 DDP-40", [](S s, P) { s.split = Sample::Split::kHalves; }},
    {Scope::kAny, "L", "0, an empty segment follows", "DDP-13 DDP-40", [](S s, P) { s.split = Sample::Split::kEmptyLast; }},
    {Scope::kAny, "DDP Rsvd", "1000", "DDP-19", ddp_reserved<0x20>},
    {Scope::kAny, "DDP Rsvd", "0001", "DDP-19", ddp_reserved<0x04>},
    {Scope::kAny, "DDP Rsvd", "1111", "DDP-19", ddp_reserved<0x3C>},
    {Scope::kAny, "DV", "0", "DDP-20", ddp_version<0>},
    {Scope::kAny, "DV", "2", "DDP-20", ddp_version<2>},
    {Scope::kAny, "DV", "3", "DDP-20", ddp_version<3>},
    // RDMAP control
    {Scope::kAny, "RV", "0", "RDMAP-8", rdmap_version<0>},
    {Scope::kAny, "RV", "2", "RDMAP-8", rdmap_version<2>},
    {Scope::kAny, "RV", "3", "RDMAP-8", rdmap_version<3>},
    {Scope::kAny, "RDMAP Rsv", "01", "RDMAP-9", rdmap_reserved<1>},
    {Scope::kAny, "RDMAP Rsv", "10", "RDMAP-9", rdmap_reserved<2>},
    {Scope::kAny, "RDMAP Rsv", "11", "RDMAP-9", rdmap_reserved<3>},
    {Scope::kAny, "Opcode", "0", "RDMAP-6", opcode<0>},
    {Scope::kAny, "Opcode", "1", "RDMAP-6", opcode<1>},
    {Scope::kAny, "Opcode", "2", "RDMAP-6", opcode<2>},
    {Scope::kAny, "Opcode", "3", "RDMAP-6", opcode<3>},
    {Scope::kAny, "Opcode", "4", "RDMAP-6", opcode<4>},
    {Scope::kAny, "Opcode", "5", "RDMAP-6", opcode<5>},
    {Scope::kAny, "Opcode", "6", "RDMAP-6", opcode<6>},
    {Scope::kAny, "Opcode", "7", "RDMAP-6", opcode<7>},
    {Scope::kAny, "Opcode", "8", "RDMAP-97 EXT-2", opcode<8>},
    {Scope::kAny, "Opcode", "9", "RDMAP-97 EXT-2", opcode<9>},
    {Scope::kAny, "Opcode", "A", "RDMAP-97 EXT-2", opcode<10>},
    {Scope::kAny, "Opcode", "B", "RDMAP-97 EXT-2", opcode<11>},
    {Scope::kAny, "Opcode", "C", "RDMAP-97", opcode<12>},
    {Scope::kAny, "Opcode", "F", "RDMAP-97", opcode<15>},
    // Untagged
    {Scope::kUntagged, "InvSTag", "0", "RDMAP-10 RDMAP-99", [](S s, P) { s.header.rsvd_ulp_rest = 0; }},
    {Scope::kUntagged, "InvSTag", "1", "RDMAP-10 RDMAP-99", [](S s, P) { s.header.rsvd_ulp_rest = 1; }},
    {Scope::kUntagged, "InvSTag", "the peer's", "RDMAP-10 RDMAP-113", [](S s, P p) { s.header.rsvd_ulp_rest = p.memory.stag; }},
    {Scope::kUntagged, "InvSTag", "another key", "RDMAP-10 RDMAP-99", [](S s, P p) { s.header.rsvd_ulp_rest = p.memory.stag ^ 1; }},
    {Scope::kUntagged, "InvSTag", "largest", "RDMAP-10 RDMAP-99", [](S s, P) { s.header.rsvd_ulp_rest = kMax32; }},
    {Scope::kUntagged, "QN", "0", "DDP-30 DDP-67", queue<0>},
    {Scope::kUntagged, "QN", "1", "DDP-30 DDP-67", queue<1>},
    {Scope::kUntagged, "QN", "2", "DDP-30 DDP-67", queue<2>},
    {Scope::kUntagged, "QN", "3", "DDP-30 DDP-67", queue<3>},
    {Scope::kUntagged, "QN", "4", "DDP-30 DDP-67", queue<4>},
    {Scope::kUntagged, "QN", "0x10000", "DDP-30 DDP-67", queue<0x10000>},
    {Scope::kUntagged, "QN", "largest", "DDP-30 DDP-67", queue<kMax32>},
    {Scope::kUntagged, "MSN", "0", "DDP-31 DDP-72", [](S s, P) { s.header.msn = {0}; }},
    {Scope::kUntagged, "MSN", "next-1", "DDP-31 DDP-72", [](S s, P p) { s.header.msn = {msn(s, p) - 1}; }},
    {Scope::kUntagged, "MSN", "next+1", "DDP-31 DDP-72", [](S s, P p) { s.header.msn = {msn(s, p) + 1}; }},
    {Scope::kUntagged, "MSN", "next+0x10000", "DDP-31 DDP-72", [](S s, P p) { s.header.msn = {msn(s, p) + 0x10000}; }},
    {Scope::kUntagged, "MSN", "next+0x80000000", "DDP-31 DDP-72", [](S s, P p) { s.header.msn = {msn(s, p) + 0x80000000}; }},
    {Scope::kUntagged, "MSN", "largest", "DDP-31 DDP-72", [](S s, P) { s.header.msn = {kMax32}; }},
    {Scope::kUntagged, "MO", "due-1", "DDP-41 DDP-70", [](S s, P) { --s.header.mo; }},
    {Scope::kUntagged, "MO", "due+1", "DDP-41 DDP-70", [](S s, P) { ++s.header.mo; }},
    {Scope::kUntagged, "MO", "limit-1", "DDP-41 DDP-70", [](S s, P) { s.header.mo = kReceiveSize - 1; }},
    {Scope::kUntagged, "MO", "limit", "DDP-41 DDP-70", [](S s, P) { s.header.mo = kReceiveSize; }},
    {Scope::kUntagged, "MO", "limit+1", "DDP-41 DDP-70", [](S s, P) { s.header.mo = kReceiveSize + 1; }},
    {Scope::kUntagged, "MO", "0x80000000", "DDP-41 DDP-70", [](S s, P) { s.header.mo = 0x80000000; }},
    {Scope::kUntagged, "MO", "largest", "DDP-41 DDP-70", [](S s, P) { s.header.mo = kMax32; }},
    {Scope::kSend, "payload", "1", "RDMAP-50", [](S s, P) { payload(s, 1); }},
    {Scope::kSend, "payload", "limit-1", "RDMAP-50", [](S s, P) { payload(s, kReceiveSize - s.header.mo - 1); }},
    {Scope::kSend, "payload", "limit+1", "DDP-71 RDMAP-51", [](S s, P) { payload(s, kReceiveSize - s.header.mo + 1); }},
    {Scope::kSend, "payload", "1000", "DDP-71 RDMAP-51", [](S s, P) { payload(s, 1000); }},
    // Tagged
    {Scope::kTagged, "STag", "0", "DDP-24 DDP-73", [](S s, P) { s.header.stag = {0}; }},
    {Scope::kTagged, "STag", "another key", "DDP-24 DDP-73", [](S s, P p) { s.header.stag = {p.memory.stag ^ 1}; }},
    {Scope::kTagged, "STag", "another index", "DDP-24 DDP-73", [](S s, P p) { s.header.stag = {p.memory.stag ^ 0x100}; }},
    {Scope::kTagged, "STag", "ours", "DDP-24 DDP-73", [](S s, P) { s.header.stag = {Script::kOurStag}; }},
    {Scope::kTagged, "STag", "largest", "DDP-24 DDP-73", [](S s, P) { s.header.stag = {kMax32}; }},
    {Scope::kTagged, "TO", "0", "DDP-75", [](S s, P) { s.header.to = {0}; }},
    {Scope::kTagged, "TO", "due-1", "DDP-43 DDP-75", [](S s, P) { --s.header.to.value; }},
    {Scope::kTagged, "TO", "due+1", "DDP-43 DDP-76", [](S s, P) { ++s.header.to.value; }},
    {Scope::kTagged, "TO", "start-1", "DDP-75", [](S s, P p) { s.header.to = {p.memory.to - 1}; }},
    {Scope::kTagged, "TO", "ends with the buffer", "DDP-76", [](S s, P p) { s.header.to = {end_of(p) - s.payload.size()}; }},
    {Scope::kTagged, "TO", "ends one octet past the end of the buffer", "DDP-76", [](S s, P p) { s.header.to = {end_of(p) - s.payload.size() + 1}; }},
    {Scope::kTagged, "TO", "end", "DDP-76", [](S s, P p) { s.header.to = {end_of(p)}; }},
    {Scope::kTagged, "TO", "4 GiB on", "DDP-43 DDP-75", [](S s, P) { s.header.to.value += 0x100000000; }},
    {Scope::kTagged, "TO", "ends at 2^64", "DDP-77", [](S s, P) { s.header.to = {0 - static_cast<std::uint64_t>(s.payload.size())}; }},
    {Scope::kTagged, "TO", "largest", "DDP-77", [](S s, P) { s.header.to = {kMax64}; }},
    {Scope::kTagged, "payload", "0", "DDP-45 DDP-46", [](S s, P) { payload(s, 0); }},
    {Scope::kTagged, "payload", "1", "DDP-40", [](S s, P) { payload(s, 1); }},
    {Scope::kTagged, "payload", "to the end of the buffer", "DDP-76", [](S s, P p) { payload(s, end_of(p) - s.header.to.value); }},
    {Scope::kTagged, "payload", "ends one octet past the end of the buffer", "DDP-76", [](S s, P p) { payload(s, end_of(p) - s.header.to.value + 1); }},
    {Scope::kTagged, "payload", "ends 1000 octets past the end of the buffer", "DDP-76", [](S s, P p) { payload(s, end_of(p) - s.header.to.value + 1000); }},
    // Read Request
    {Scope::kRead, "Sink STag", "0", "RDMAP-13", [](S s, P) { s.read->sink_stag = {0}; }},
    {Scope::kRead, "Sink STag", "largest", "RDMAP-13", [](S s, P) { s.read->sink_stag = {kMax32}; }},
    {Scope::kRead, "Sink TO", "0", "RDMAP-13 RDMAP-14", [](S s, P) { s.read->sink_to = {0}; }},
    {Scope::kRead, "Sink TO", "odd", "RDMAP-13 RDMAP-14", [](S s, P) { s.read->sink_to = {3}; }},
    {Scope::kRead, "Sink TO", "largest", "RDMAP-13 RDMAP-14", [](S s, P) { s.read->sink_to = {kMax64}; }},
    {Scope::kRead, "Size", "0", "RDMAP-38 RDMAP-41", [](S s, P) { s.read->size = 0; }},
    {Scope::kRead, "Size", "1", "RDMAP-37", [](S s, P) { s.read->size = 1; }},
    {Scope::kRead, "Size", "limit-1", "RDMAP-104", [](S s, P p) { s.read->size = p.memory.length - 1; }},
    {Scope::kRead, "Size", "limit", "RDMAP-104", [](S s, P p) { s.read->size = p.memory.length; }},
    {Scope::kRead, "Size", "limit+1", "RDMAP-104", [](S s, P p) { s.read->size = p.memory.length + 1; }},
    {Scope::kRead, "Size", "0x80000000", "RDMAP-104", [](S s, P) { s.read->size = 0x80000000; }},
    {Scope::kRead, "Size", "largest", "RDMAP-104", [](S s, P) { s.read->size = kMax32; }},
    {Scope::kRead, "Source STag", "0", "RDMAP-39 RDMAP-101", [](S s, P) { s.read->source_stag = {0}; }},
    {Scope::kRead, "Source STag", "another key", "RDMAP-39 RDMAP-101", [](S s, P) { s.read->source_stag.value ^= 1; }},
    {Scope::kRead, "Source STag", "another index", "RDMAP-39 RDMAP-101", [](S s, P) { s.read->source_stag.value ^= 0x100; }},
    {Scope::kRead, "Source STag", "largest", "RDMAP-39 RDMAP-101", [](S s, P) { s.read->source_stag = {kMax32}; }},
    {Scope::kRead, "Source TO", "start-1", "RDMAP-39 RDMAP-103", [](S s, P) { --s.read->source_to.value; }},
    {Scope::kRead, "Source TO", "ends with the buffer", "RDMAP-104", [](S s, P p) { s.read->source_to = {end_of(p) - s.read->size}; }},
    {Scope::kRead, "Source TO", "ends one octet past the end of the buffer", "RDMAP-104", [](S s, P p) { s.read->source_to = {end_of(p) - s.read->size + 1}; }},
    {Scope::kRead, "Source TO", "end", "RDMAP-103", [](S s, P p) { s.read->source_to = {end_of(p)}; }},
    {Scope::kRead, "Source TO", "4 GiB on", "RDMAP-103", [](S s, P) { s.read->source_to.value += 0x100000000; }},
    {Scope::kRead, "Source TO", "largest", "RDMAP-103 RDMAP-105", [](S s, P) { s.read->source_to = {kMax64}; }},
    {Scope::kRead, "ULPDU_Length", "header of RDMAP-1", "RDMAP-11 RDMAP-12", ulpdu_length<45>},
    {Scope::kRead, "ULPDU_Length", "header of RDMAP+1", "RDMAP-11 RDMAP-12", ulpdu_length<47>},
    {Scope::kRead, "ULPDU_Length", "half a header", "RDMAP-11 RDMAP-12", ulpdu_length<32>},
    // Terminate
    {Scope::kTerminate, "ULPDU_Length", "control-1", "RDMAP-15", ulpdu_length<21>},
    {Scope::kTerminate, "ULPDU_Length", "control+2", "RDMAP-15", ulpdu_length<24>},
    {Scope::kTerminate, "ULPDU_Length", "1000", "RDMAP-15", ulpdu_length<1000>},
    {Scope::kTerminate, "Layer", "3", "RDMAP-16", [](S s, P) { s.payload[0] = std::byte{0x30}; }},
    {Scope::kTerminate, "EType", "15", "RDMAP-16", [](S s, P) { s.payload[0] = std::byte{0x0F}; }},
    {Scope::kTerminate, "HdrCt", "M", "RDMAP-19", [](S s, P) { s.payload[2] = std::byte{0x80}; }},
    {Scope::kTerminate, "HdrCt", "M D R", "RDMAP-20 RDMAP-21", [](S s, P) { s.payload[2] = std::byte{0xE0}; }},
    {Scope::kTerminate, "Reserved", "ones", "RDMAP-18", [](S s, P) { s.payload[2] = std::byte{0x1F}; s.payload[3] = std::byte{0xFF}; }},
};
// clang-format on

}  // namespace

std::span<const Variation> all_variations() { return kVariations; }

bool applies(const Variation& variation, rdmap::Opcode opcode) {
  const bool is_tagged = rdmap::info(opcode).tagged;
  switch (variation.scope) {
    case Scope::kAny:
      return true;
    case Scope::kUntagged:
      return !is_tagged;
    case Scope::kTagged:
      return is_tagged;
    case Scope::kSend:
      return !is_tagged && rdmap::info(opcode).qn == rdmap::kSendQueue;
    case Scope::kRead:
      return opcode == rdmap::Opcode::kReadRequest;
    case Scope::kTerminate:
      return opcode == rdmap::Opcode::kTerminate;
  }
  return false;
}

}  // namespace iwarp::apps::conform::generated
