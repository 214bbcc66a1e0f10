// SPDX-License-Identifier: Apache-2.0
// Cases about RDMAP operations (RFC 5040 sections 4.1, 5 and 7.2): Sends of every kind, Writes, the
// order of operations, and the headers that the peer sends. The cases in opcode.cpp test misplaced
// opcodes.
#include <fmt/format.h>

#include <algorithm>

#include "conform/script/case.hpp"
#include "conform/script/steps.hpp"
#include "iwarp/rdmap/faults.hpp"

namespace iwarp::apps::conform {
namespace rdmap_operation {
namespace {

using rdmap::Opcode;

// XOR with this value turns a valid STag of the peer into an unknown one.
constexpr std::uint32_t kUnknown = 0x5A5A5A00;

void send_read_write(Script& s) {
  s.establish();
  exchange(s);
}

// Sends -------------------------------------------------------------------------------------------

void solicited(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  finish_exchange(s, memory, [&](bytes::View advert) { s.send(advert, Opcode::kSendSolicited); });
}

// Sends an empty Send. The peer's program may end the connection, but its RDMAP layer must not send
// a Terminate.
void empty_send(Script& s) {
  after_first_send(s);
  s.send({});
  const Received received = s.receive(std::chrono::milliseconds(300));
  if (received.kind != Received::Kind::kSegment || !received.segment->is(Opcode::kTerminate))
    return;
  const auto fault = read_terminate(*received.segment).terminate.fault;
  if (fault.layer == bytes::Layer::kRdma && fault.type == 0) return;
  throw Failed{"no Terminate except 0/0/00 local catastrophic error", describe(received)};
}

template <Opcode kOpcode>
void invalidate_unknown(Script& s) {
  const auto memory = after_first_send(s);
  s.send(Octets(16), kOpcode, memory.stag ^ kUnknown);
  s.expect_terminate({rdmap::kInvalidStag,
                      rdmap::kNotAssociated,
                      rdmap::kCannotInvalidate,
                      {bytes::Layer::kRdma, 2, 0x09, "STag cannot be invalidated"}});
}

// Sends a Send with Invalidate for the STag that the peer advertised. The peer may reject the Send.
// If the peer accepts it, the STag must be invalid afterwards.
void invalidate_advertised(Script& s) {
  const auto memory = after_first_send(s);
  s.serve_memory(false);
  s.send(advert_of(0, kExchangeSize), Opcode::kSendInvalidate, memory.stag);
  s.read_request(read_of(memory, 0, 8));
  for (;;) {
    const Received received = s.receive();
    if (received.kind == Received::Kind::kClosed || received.kind == Received::Kind::kReset) return;
    const bool segment = received.kind == Received::Kind::kSegment;
    if (!segment || received.segment->is(Opcode::kReadResponse)) {
      throw Failed{
          "the end of the connection after the Send with Invalidate, or after the Read of the "
          "invalidated STag",
          describe(received)};
    }
  }
}

void plain_send_invalidates_nothing(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  const auto send = [&](bytes::View advert) {
    auto header = untagged(Opcode::kSend, s.take_msn(Opcode::kSend));
    header.rsvd_ulp_rest = memory.stag;
    s.fpdu(make_ulpdu(header, advert));
  };
  if (s.peer_role() == PeerRole::kInitiator) {
    send(Octets(16));
    s.expect(Opcode::kSend);
  } else {
    finish_exchange(s, memory, send);
  }
  read_peer(s, memory, 0, memory.length);
}

// Control octet -----------------------------------------------------------------------------------

template <std::uint8_t kVersion>
void version_of_send(Script& s) {
  after_first_send(s);
  auto header = untagged(Opcode::kSend, s.next_msn(Opcode::kSend));
  header.rsvd_ulp = static_cast<std::uint8_t>(kVersion << 6 | 3);
  s.fpdu(make_ulpdu(header, Octets(16)));
  s.expect_terminate({rdmap::kVersionInvalid});
}

template <std::uint8_t kVersion>
void version_of_write(Script& s) {
  const auto memory = after_first_send(s);
  auto header = tagged(Opcode::kWrite, memory.stag, memory.to);
  header.rsvd_ulp = static_cast<std::uint8_t>(kVersion << 6);
  s.fpdu(make_ulpdu(header, Octets(8)));
  s.expect_terminate({rdmap::kVersionInvalid});
}

void reserved_bits(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  finish_exchange(s, memory, [&](bytes::View advert) {
    auto header = untagged(Opcode::kSend, s.take_msn(Opcode::kSend));
    header.rsvd_ulp |= 0x30;
    s.fpdu(make_ulpdu(header, advert));
  });
}

// Writes and order --------------------------------------------------------------------------------

void write_unseen(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  const auto text = read_peer(s, memory, 0, memory.length);
  s.write(memory.stag, memory.to, text);
  s.expect_silence();
  finish_exchange(s, memory);
}

void read_behind_write(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  for (std::uint32_t round = 1; round <= 8; ++round) {
    const auto text = pattern(memory.length, round);
    s.write(memory.stag, memory.to, text);
    if (read_peer(s, memory, 0, memory.length) != text) {
      throw Failed{"a Read Response with the octets of the preceding Write", "other octets"};
    }
  }
}

void read_behind_small_writes(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  // Limit the number of Writes, because slow peers cannot process more of them in time.
  const auto count = std::min(memory.length, std::uint32_t{1024});
  const auto text = pattern(count, 3);
  Octets together;
  for (std::uint32_t at = 0; at < count; ++at) {
    const auto one = s.make(make_ulpdu(tagged(Opcode::kWrite, memory.stag, memory.to + at),
                                       bytes::View(text).subspan(at, 1)));
    together.insert(together.end(), one.begin(), one.end());
  }
  s.octets(together);
  if (read_peer(s, memory, 0, count) != text) {
    throw Failed{"a Read Response with the octets of the preceding Writes", "other octets"};
  }
}

// The peer's messages -----------------------------------------------------------------------------

void expect_octet(const Segment& segment, std::size_t at, unsigned value, const char* what) {
  const auto observed = std::to_integer<unsigned>(segment.ulpdu.at(at));
  if (observed == value) return;
  throw Failed{std::string(what) + " in octet " + std::to_string(at) + " of the ULPDU",
               "another value: " + std::to_string(observed)};
}

Segment next_of(Script& s, Opcode opcode) {
  const Received received = s.receive();
  if (received.kind == Received::Kind::kSegment && received.segment->is(opcode))
    return *received.segment;
  throw Failed{std::string("a message of type ") + std::string(rdmap::info(opcode).name),
               describe(received)};
}

void judge_untagged(const Segment& segment, Opcode opcode, std::uint32_t msn) {
  expect_octet(segment, 0, 0x41, "T=0, L=1, DV=1 and reserved bits set to zero");
  expect_octet(segment, 1, rdmap::control_octet(opcode),
               "RV=1, reserved bits set to zero and the opcode of the message");
  for (std::size_t at = 2; at < 6; ++at) expect_octet(segment, at, 0, "zero (the InvSTag field)");
  const auto& h = segment.header;
  if (h.qn != rdmap::info(opcode).qn || h.msn.value != msn || h.mo != 0) {
    throw Failed{"the queue number of the opcode, the next MSN and MO 0",
                 "a different queue number, MSN or MO"};
  }
}

void own_sends(Script& s) {
  s.establish();
  if (s.peer_role() == PeerRole::kInitiator) {
    judge_untagged(next_of(s, Opcode::kSend), Opcode::kSend, 1);
    s.send(Octets(16));
  } else {
    show_text(s, kExchangeSize);
    s.send(advert_of(0, kExchangeSize));
    judge_untagged(next_of(s, Opcode::kSend), Opcode::kSend, 1);
    s.send(advert_of(4096, kExchangeSize));
  }
  judge_untagged(next_of(s, Opcode::kSend), Opcode::kSend, 2);
}

void own_read_request(Script& s) {
  s.establish();
  s.serve_memory(false);
  show_text(s, kExchangeSize);
  s.send(advert_of(0, kExchangeSize));
  const auto segment = next_of(s, Opcode::kReadRequest);
  judge_untagged(segment, Opcode::kReadRequest, 1);
  const auto request = rdmap::decode_read_request(segment.payload());
  if (segment.payload().size() != rdmap::kReadRequestSize || !request ||
      request->source_stag.value != Script::kOurStag ||
      request->source_to.value != Script::kOurTo || request->size != kExchangeSize) {
    throw Failed{fmt::format("a 28-octet Read Request for {} octets of the advertised memory",
                             kExchangeSize),
                 "a Read Request with a different length, STag, TO or RDMA Read Message Size"};
  }
}

void own_write(Script& s) {
  s.establish();
  learn_memory(s);
  s.serve_memory(false);
  s.send(advert_of(4096, kExchangeSize));
  std::uint64_t to = Script::kOurTo + 4096;
  for (;;) {
    const auto segment = next_of(s, Opcode::kWrite);
    const auto& h = segment.header;
    expect_octet(segment, 0, h.last ? 0xC1 : 0x81, "T=1, DV=1 and reserved bits set to zero");
    expect_octet(segment, 1, 0x40, "RV=1, reserved bits set to zero and the opcode of the message");
    if (h.stag.value != Script::kOurStag || h.to.value != to) {
      throw Failed{"a Write to consecutive TOs of the advertised STag",
                   "a Write to another STag or TO"};
    }
    to += segment.payload().size();
    if (h.last) break;
  }
  judge_untagged(next_of(s, Opcode::kSend), Opcode::kSend, 2);
}

constexpr auto kAny = PeerRole::kEither;
constexpr auto kServer = PeerRole::kResponder;

// clang-format off
constexpr Case kCases[] = {
    {"rdmap/operations/exchange", "RFC 5040 5", "RDMAP-24 RDMAP-35 RDMAP-52", "exchanges a Send, a Read and a Write", Level::kMust, kAny, send_read_write},
    {"rdmap/operations/own-sends", "RFC 5040 4.1", "RDMAP-6 RDMAP-8 RDMAP-9 RDMAP-10 RDMAP-48 RDMAP-54 DDP-18 DDP-31 DDP-32 DDP-35", "formats its Sends as RFC 5040 requires", Level::kMust, kAny, own_sends},
    {"rdmap/operations/own-read-request", "RFC 5040 4.4", "RDMAP-11 RDMAP-12 RDMAP-30 RDMAP-33 DDP-32", "formats its Read Requests as RFC 5040 requires", Level::kMust, kServer, own_read_request},
    {"rdmap/operations/own-write", "RFC 5040 5.1", "RDMAP-23 RDMAP-27 RDMAP-71 DDP-13 DDP-14 DDP-25 DDP-43", "formats its Writes as RFC 5040 requires, and sends them before the Send", Level::kMust, kServer, own_write},
    {"rdmap/version/send-0", "RFC 5040 7.2", "RDMAP-98", "terminates on a Send of RDMAP version 0", Level::kMust, kAny, version_of_send<0>},
    {"rdmap/version/send-2", "RFC 5040 7.2", "RDMAP-98", "terminates on a Send of RDMAP version 2", Level::kMust, kAny, version_of_send<2>},
    {"rdmap/version/send-3", "RFC 5040 7.2", "RDMAP-98", "terminates on a Send of RDMAP version 3", Level::kMust, kAny, version_of_send<3>},
    {"rdmap/version/write-0", "RFC 5040 7.2", "RDMAP-98", "terminates on a Write of RDMAP version 0", Level::kMust, kAny, version_of_write<0>},
    {"rdmap/version/write-2", "RFC 5040 7.2", "RDMAP-98", "terminates on a Write of RDMAP version 2", Level::kMust, kAny, version_of_write<2>},
    {"rdmap/send/reserved-bits", "RFC 5040 4.1", "RDMAP-9", "ignores the reserved bits in the RDMAP Control Field of a Send", Level::kMust, kAny, reserved_bits},
    {"rdmap/send/inv-stag-ignored", "RFC 5040 4.1", "RDMAP-10", "ignores the InvSTag field of a Send without Invalidate", Level::kMust, kAny, plain_send_invalidates_nothing},
    {"rdmap/send/solicited", "RFC 5040 5.3", "RDMAP-53 RDMAP-52", "delivers a Send with Solicited Event like any other Send", Level::kMust, kAny, solicited},
    {"rdmap/send/empty", "RFC 5040 5.3", "RDMAP-56", "accepts a zero-length Send", Level::kMust, kAny, empty_send},
    {"rdmap/send/invalidate-unknown", "RFC 5040 7.2", "RDMAP-58 RDMAP-99", "refuses a Send with Invalidate for an unknown STag", Level::kMust, kAny, invalidate_unknown<Opcode::kSendInvalidate>},
    {"rdmap/send/solicited-invalidate-unknown", "RFC 5040 7.2", "RDMAP-58 RDMAP-99", "refuses a Send with Solicited Event and Invalidate for an unknown STag", Level::kMust, kAny, invalidate_unknown<Opcode::kSendSolicitedInvalidate>},
    {"rdmap/send/invalidate-advertised", "RFC 5040 5.3", "RDMAP-58 RDMAP-113", "invalidates an advertised STag, or refuses the Send with Invalidate", Level::kMust, kAny, invalidate_advertised},
    {"rdmap/write/unseen", "RFC 5040 5.1", "RDMAP-24", "does not notify its program of a Write", Level::kMust, kAny, write_unseen},
    {"rdmap/order/read-behind-write", "RFC 5040 5.5", "RDMAP-69 RDMAP-75", "answers a Read with the data of the preceding Write", Level::kMust, kAny, read_behind_write},
    {"rdmap/order/read-behind-small-writes", "RFC 5040 5.5", "RDMAP-69 RDMAP-75", "answers a Read with the data of many preceding one-octet Writes", Level::kMust, kAny, read_behind_small_writes},
};
// clang-format on

}  // namespace
}  // namespace rdmap_operation

std::span<const Case> operation_cases() { return rdmap_operation::kCases; }

}  // namespace iwarp::apps::conform
