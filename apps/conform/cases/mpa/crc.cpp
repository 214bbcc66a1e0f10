// SPDX-License-Identifier: Apache-2.0
// Cases about the CRC of FPDUs: which octets the CRC covers, and how the peer handles an FPDU with
// a wrong CRC (RFC 5044 sections 4.4, 6 and 8). The cases in startup.cpp test whether the ends use
// CRCs at all.
#include <algorithm>

#include "conform/script/case.hpp"
#include "conform/script/probe.hpp"
#include "conform/script/steps.hpp"
#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/mpa/faults.hpp"

namespace iwarp::apps::conform {
namespace mpa_crc {
namespace {

// The cases corrupt the FPDU of a Write of 6 octets. This FPDU has all fields, including two octets
// of PAD. The CRC stays at the same offset if ULPDU_Length changes by one.
constexpr std::size_t kVictimPayload = 6;
constexpr std::size_t kLengthAt = 1;
constexpr std::size_t kStagAt = 7;
constexpr std::size_t kPayloadAt = 16;
constexpr std::size_t kPadAt = 23;
constexpr std::size_t kCrcAt = 24;
constexpr std::size_t kLastAt = 27;

Octets victim(const PeerMemory& memory, std::uint32_t seed = 1) {
  return write_ulpdu(memory, 0, pattern(kVictimPayload, seed));
}

void bad_fpdu(Script& s, const Tamper& tamper) {
  s.establish();
  s.fpdu(victim(learn_memory(s)), tamper);
  s.expect_terminate({mpa::kCrcMismatch});
}

void wrong_field(Script& s) { bad_fpdu(s, {.crc_xor = 0x00010000}); }
void not_complemented(Script& s) { bad_fpdu(s, {.crc_xor = 0xFFFFFFFF}); }

template <std::size_t octet>
void flipped(Script& s) {
  bad_fpdu(s, {.flip_octet = octet});
}

bytes::Span crc_field(Octets& fpdu) { return bytes::Span(fpdu).last(4); }

void put_crc(Octets& fpdu, std::uint32_t crc) {
  for (std::byte& octet : crc_field(fpdu)) {
    octet = static_cast<std::byte>(crc & 0xFF);
    crc >>= 8;
  }
}

void byte_order(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  std::uint32_t seed = 1;
  Octets fpdu = s.make(victim(memory, seed));
  while (fpdu[kCrcAt] == fpdu[kLastAt]) fpdu = s.make(victim(memory, ++seed));
  std::ranges::reverse(crc_field(fpdu));
  s.octets(fpdu);
  s.expect_terminate({mpa::kCrcMismatch});
}

void zero_field(Script& s) {
  s.establish();
  Octets fpdu = s.make(victim(learn_memory(s)));
  put_crc(fpdu, 0);
  s.octets(fpdu);
  s.expect_terminate({mpa::kCrcMismatch});
}

void length_not_covered(Script& s) {
  s.establish();
  Octets fpdu = s.make(victim(learn_memory(s)));
  put_crc(fpdu, crc32c::compute(bytes::View(fpdu).first(kCrcAt).subspan(2)));
  s.octets(fpdu);
  s.expect_terminate({mpa::kCrcMismatch});
}

void pad_not_covered(Script& s) {
  s.establish();
  Octets fpdu = s.make(victim(learn_memory(s)));
  put_crc(fpdu, crc32c::compute(bytes::View(fpdu).first(kCrcAt - 2)));
  s.octets(fpdu);
  s.expect_terminate({mpa::kCrcMismatch});
}

void empty_write(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  s.fpdu(write_ulpdu(memory, 0, {}), {.crc_xor = 1});
  s.expect_terminate({mpa::kCrcMismatch});
}

void first_fpdu(Script& s) {
  s.establish();
  s.fpdu(empty_read_ulpdu(s), {.crc_xor = 1});
  // The peer must not send a Read Response, because it has not yet validated an FPDU. It may send a
  // Terminate.
  s.watch([](const Segment& segment) {
    require(segment.is(rdmap::Opcode::kTerminate), "no Read Response", "a Read Response");
  });
  s.expect_end();
}

void last_segment(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  auto header = tagged(rdmap::Opcode::kWrite, memory.stag, memory.to);
  header.last = false;
  s.fpdu(make_ulpdu(header, pattern(8)));
  s.fpdu(write_ulpdu(memory, 8, pattern(8)), {.crc_xor = 1});
  s.expect_terminate({mpa::kCrcMismatch});
}

void send_not_delivered(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  const auto header = untagged(rdmap::Opcode::kSend, s.take_msn(rdmap::Opcode::kSend));
  s.fpdu(make_ulpdu(header, advert_of(0, memory.length)), {.crc_xor = 1});
  // If the peer delivers the Send in spite of the wrong CRC, its program responds with a Write or a
  // Send.
  s.serve_memory(false);
  expect_terminate_next(s, {mpa::kCrcMismatch});
}

void read_not_answered(Script& s) {
  s.establish();
  learn_memory(s);
  s.fpdu(empty_read_ulpdu(s), {.crc_xor = 1});
  expect_terminate_next(s, {mpa::kCrcMismatch});
}

void nothing_behind(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  Octets both = s.make(victim(memory), {.crc_xor = 1});
  const Octets good = s.make(empty_read_ulpdu(s));
  both.insert(both.end(), good.begin(), good.end());
  s.octets(both);
  expect_terminate_next(s, {mpa::kCrcMismatch});
}

void behind_good_one(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  Octets both = s.make(victim(memory));
  const Octets bad = s.make(victim(memory), {.crc_xor = 1});
  both.insert(both.end(), bad.begin(), bad.end());
  s.octets(both);
  s.expect_terminate({mpa::kCrcMismatch});
}

// The peer's FPDUs -------------------------------------------------------------------------------

void own_right(Script& s) {
  s.establish();
  const auto check = [](const Segment& segment) {
    require(segment.crc == trace::CrcVerdict::kGood, "FPDUs with correct CRCs",
            "an FPDU with a wrong CRC");
  };
  s.watch(check);
  const auto memory = learn_memory(s);
  for (const std::uint32_t size : {1U, 2U, 3U, 4U, memory.length}) {
    read_peer(s, memory, 0, size);
  }
  finish_exchange(s, memory);
}

void own_terminate(Script& s) {
  s.establish();
  s.fpdu(victim(learn_memory(s)), {.crc_xor = 1});
  const auto received = s.expect_terminate({mpa::kCrcMismatch});
  require(received.segment.crc == trace::CrcVerdict::kGood, "a Terminate with a correct CRC",
          "a Terminate with a wrong CRC");
}

constexpr auto kMust = Level::kMust;
constexpr auto kEither = PeerRole::kEither;
constexpr auto kListens = PeerRole::kResponder;

// clang-format off
constexpr Case kCases[] = {
    {"mpa/crc/wrong-field", "RFC 5044 4.4", "MPA-35 MPA-46 MPA-114", "terminates on a wrong CRC field", kMust, kEither, wrong_field},
    {"mpa/crc/not-complemented", "RFC 5044 4.4", "MPA-43", "terminates on a CRC that lacks the final complement", kMust, kEither, not_complemented},
    {"mpa/crc/byte-order", "RFC 5044 4.4", "MPA-43", "terminates on a CRC sent with its most significant octet first", kMust, kEither, byte_order},
    {"mpa/crc/zero-field", "RFC 5044 4.4", "MPA-46 MPA-72", "terminates on a CRC field of zero when CRCs are in use", kMust, kEither, zero_field},
    {"mpa/crc/flipped-length", "RFC 5044 4.4", "MPA-44 MPA-46", "terminates on a flipped bit in ULPDU_Length", kMust, kEither, flipped<kLengthAt>},
    {"mpa/crc/flipped-header", "RFC 5044 6", "MPA-44 MPA-46 MPA-59", "checks the CRC before it checks the DDP header", kMust, kEither, flipped<kStagAt>},
    {"mpa/crc/flipped-payload", "RFC 5044 4.4", "MPA-44 MPA-46", "terminates on a flipped bit in the payload", kMust, kEither, flipped<kPayloadAt>},
    {"mpa/crc/flipped-pad", "RFC 5044 4.4", "MPA-44 MPA-46", "terminates on a flipped bit in the PAD", kMust, kEither, flipped<kPadAt>},
    {"mpa/crc/flipped-field-first", "RFC 5044 4.4", "MPA-46", "checks the first octet of the CRC field", kMust, kEither, flipped<kCrcAt>},
    {"mpa/crc/flipped-field-last", "RFC 5044 4.4", "MPA-46", "checks the last octet of the CRC field", kMust, kEither, flipped<kLastAt>},
    {"mpa/crc/length-not-covered", "RFC 5044 4.4", "MPA-44", "terminates on a CRC computed without ULPDU_Length", kMust, kEither, length_not_covered},
    {"mpa/crc/pad-not-covered", "RFC 5044 4.4", "MPA-44", "terminates on a CRC computed without the PAD", kMust, kEither, pad_not_covered},
    {"mpa/crc/empty-write", "RFC 5044 4.4", "MPA-46", "checks the CRC of a zero-length Write", kMust, kEither, empty_write},
    {"mpa/crc/first-fpdu", "RFC 5044 4.4", "MPA-46 MPA-93", "ends the stream when the first FPDU has a wrong CRC", kMust, kListens, first_fpdu},
    {"mpa/crc/last-segment", "RFC 5044 4.4", "MPA-46", "checks the CRC of the last segment of a message", kMust, kEither, last_segment},
    {"mpa/crc/send-not-delivered", "RFC 5044 6", "MPA-46 MPA-59", "does not deliver a Send with a wrong CRC", kMust, kEither, send_not_delivered},
    {"mpa/crc/read-not-answered", "RFC 5044 6", "MPA-46 MPA-59", "does not answer a Read Request whose CRC is wrong", kMust, kEither, read_not_answered},
    {"mpa/crc/nothing-behind", "RFC 5044 8", "MPA-113", "processes no FPDU after an FPDU with a wrong CRC", kMust, kEither, nothing_behind},
    {"mpa/crc/behind-good-one", "RFC 5044 4.4", "MPA-46", "checks the CRC of the second FPDU in a TCP segment", kMust, kEither, behind_good_one},
    {"mpa/crc/own-right", "RFC 5044 4.4", "MPA-35 MPA-43 MPA-44", "sends correct CRCs for ULPDUs of every length modulo 4", kMust, kEither, own_right},
    {"mpa/crc/own-terminate", "RFC 5044 4.4", "MPA-43", "sends a Terminate with a correct CRC", kMust, kEither, own_terminate},
};
// clang-format on

}  // namespace
}  // namespace mpa_crc

std::span<const Case> crc_cases() { return mpa_crc::kCases; }

}  // namespace iwarp::apps::conform
