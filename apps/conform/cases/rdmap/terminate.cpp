// SPDX-License-Identifier: Apache-2.0
// Cases about the peer's Terminate (RFC 5040 sections 4.8, 5.4, 6.2.1 and 7.1): its layout, the
// headers that it returns, and that no message follows it. The cases in the other files test which
// error code the Terminate has. All cases accept the wrong layout that some peers use, except the
// case that tests the layout.
#include <fmt/format.h>

#include "conform/script/case.hpp"
#include "conform/script/steps.hpp"
#include "iwarp/mpa/faults.hpp"
#include "iwarp/rdmap/faults.hpp"

namespace iwarp::apps::conform {
namespace rdmap_terminate {
namespace {

using rdmap::Opcode;

constexpr std::uint32_t kUnknown = 0x5A5A5A00;
constexpr std::size_t kControlSize = 4;
constexpr std::size_t kLengthSize = 2;

// Errors that the tester provokes -----------------------------------------------------------------

struct Provoked {
  Octets ulpdu;  ///< the invalid ULPDU that the tester sent
  ReceivedTerminate received;
};
using Provoke = Provoked(Script&);

Provoked provoke(Script& s, const Octets& ulpdu, Faults faults) {
  s.fpdu(ulpdu);
  return {ulpdu, s.expect_terminate(faults)};
}

Provoked write_error(Script& s) {
  const auto memory = after_first_send(s);
  const auto header = tagged(Opcode::kWrite, memory.stag ^ kUnknown, memory.to + 3);
  return provoke(s, make_ulpdu(header, pattern(8)), {ddp::kTaggedInvalidStag});
}

Provoked send_error(Script& s) {
  after_first_send(s);
  auto header = untagged(Opcode::kSend, s.next_msn(Opcode::kSend));
  header.qn = 4;
  return provoke(s, make_ulpdu(header, pattern(16)), {ddp::kUntaggedQn});
}

Provoked read_error(Script& s) {
  auto memory = after_first_send(s);
  memory.stag ^= kUnknown;
  const auto header = untagged(Opcode::kReadRequest, 1);
  return provoke(s, make_ulpdu(header, encode_read_request(read_of(memory, 5, 24))),
                 {rdmap::kInvalidStag});
}

Provoked opcode_error(Script& s) {
  after_first_send(s);
  auto header = untagged(Opcode::kSend, s.next_msn(Opcode::kSend));
  header.rsvd_ulp = rdmap::kVersion | 0x0F;
  return provoke(s, make_ulpdu(header, pattern(16)), {rdmap::kUnexpectedOpcode});
}

Provoked invalidate_error(Script& s) {
  const auto memory = after_first_send(s);
  const auto header =
      untagged(Opcode::kSendInvalidate, s.next_msn(Opcode::kSend), memory.stag ^ kUnknown);
  return provoke(s, make_ulpdu(header, Octets(16)),
                 {rdmap::kInvalidStag,
                  rdmap::kNotAssociated,
                  rdmap::kCannotInvalidate,
                  {bytes::Layer::kRdma, 2, 0x09, "STag cannot be invalidated"}});
}

Provoked crc_error(Script& s) {
  const auto memory = after_first_send(s);
  const auto ulpdu = make_ulpdu(tagged(Opcode::kWrite, memory.stag, memory.to), pattern(8));
  s.fpdu(ulpdu, {.crc_xor = 1});
  return {ulpdu, s.expect_terminate({mpa::kCrcMismatch})};
}

// Layout ------------------------------------------------------------------------------------------

struct Flags {
  bool m = false;
  bool d = false;
  bool r = false;
  bool operator==(const Flags&) const = default;
};

// Some peers use a wrong layout, in which M, D and R are the lowest bits of the octet.
Flags flags_of(const ReceivedTerminate& received) {
  const auto octet = std::to_integer<unsigned>(received.segment.payload()[2]);
  if (received.standard_layout)
    return {(octet & 0x80) != 0, (octet & 0x40) != 0, (octet & 0x20) != 0};
  return {(octet & 1) != 0, (octet & 2) != 0, (octet & 4) != 0};
}

std::string words(const Flags& f) { return fmt::format("M={:d} D={:d} R={:d}", f.m, f.d, f.r); }

// Checks the layout of the control word in four Terminates. Three of them set at least one of the
// flags M, D and R, whose position reveals the layout. The fourth may set none of these flags; in
// this case the order of Layer and EType reveals the layout.
void control_word(Script& s) {
  for (Provoke* provoked : {crc_error, write_error, read_error, opcode_error}) {
    const auto received = provoked(s).received;
    const bool exchanged =
        provoked == opcode_error && received.terminate.fault != rdmap::kUnexpectedOpcode;
    if (received.standard_layout && !exchanged) continue;
    throw Failed{
        "a Terminate Control field with Layer, EType, Error Code, M, D and R in this order, "
        "starting at the most significant bit",
        describe(received)};
  }
}

void message(Script& s) {
  const auto received = write_error(s).received;
  const auto& h = received.segment.header;
  if (h.tagged || h.qn != 2 || h.msn.value != 1 || h.mo != 0 || !h.last) {
    throw Failed{"an untagged segment on queue 2 with MSN 1, MO 0 and L=1", "a different header"};
  }
  const auto& octets = received.segment.ulpdu;
  if (octets[0] != std::byte{0x41} || octets[1] != std::byte{0x47} || h.rsvd_ulp_rest != 0) {
    throw Failed{"a header that begins with the octets 41 47 00 00 00 00",
                 "a header that begins with other octets"};
  }
}

void reserved_bits(Script& s) {
  const auto received = write_error(s).received;
  const auto payload = received.segment.payload();
  const std::byte mask{received.standard_layout ? std::uint8_t{0x1F} : std::uint8_t{0xF8}};
  if ((payload[2] & mask) != std::byte{0} || payload[3] != std::byte{0}) {
    throw Failed{"zero in the 13 reserved bits after M, D and R", "reserved bits that are set"};
  }
}

template <Provoke kProvoke>
void size(Script& s) {
  const auto provoked = kProvoke(s);
  const auto flags = flags_of(provoked.received);
  const std::size_t header = (provoked.ulpdu[0] & std::byte{0x80}) != std::byte{0} ? 14 : 18;
  const std::size_t expected = kControlSize + (flags.m || flags.d ? kLengthSize : 0) +
                               (flags.d ? header : 0) + (flags.r ? rdmap::kReadRequestSize : 0);
  const auto observed = provoked.received.segment.payload().size();
  if (observed != expected) {
    throw Failed{fmt::format("a Terminate of {} octets, which matches {}", expected, words(flags)),
                 fmt::format("a Terminate of {} octets", observed)};
  }
}

// Returned headers --------------------------------------------------------------------------------

template <Provoke kProvoke, bool kHeader, bool kRequest>
void brings(Script& s) {
  const auto flags = flags_of(kProvoke(s).received);
  const Flags expected{kHeader, kHeader, kRequest};
  if (flags != expected) throw Failed{words(expected), words(flags)};
}

// The Terminate need not return the headers of the invalid segment: figure 10 of RFC 5040 says "If
// possible" for this error.
void brings_for_opcode(Script& s) {
  const auto flags = flags_of(opcode_error(s).received);
  if (flags.r || flags.m != flags.d) throw Failed{"R=0, and M equal to D", words(flags)};
}

bytes::View behind_control(const ReceivedTerminate& received, std::size_t skip, std::size_t size) {
  const auto payload = received.segment.payload();
  if (payload.size() < kControlSize + skip + size) {
    throw Failed{"all fields that M, D and R indicate", "a shorter Terminate"};
  }
  return payload.subspan(kControlSize + skip, size);
}

template <Provoke kProvoke>
void header(Script& s) {
  const auto provoked = kProvoke(s);
  if (!flags_of(provoked.received).d)
    throw Skipped{"the peer's Terminate does not contain the DDP header"};
  const std::size_t size = (provoked.ulpdu[0] & std::byte{0x80}) != std::byte{0} ? 14 : 18;
  if (!std::ranges::equal(behind_control(provoked.received, kLengthSize, size),
                          bytes::View(provoked.ulpdu).first(size))) {
    throw Failed{"the DDP header of the invalid segment, octet for octet",
                 "a different DDP header"};
  }
}

void read_request(Script& s) {
  const auto provoked = read_error(s);
  if (!flags_of(provoked.received).r)
    throw Skipped{"the peer's Terminate does not contain the RDMA header"};
  constexpr std::size_t kHeader = ddp::kUntaggedHeaderSize;
  if (!std::ranges::equal(
          behind_control(provoked.received, kLengthSize + kHeader, rdmap::kReadRequestSize),
          bytes::View(provoked.ulpdu).subspan(kHeader))) {
    throw Failed{"the RDMA header of the invalid Read Request, octet for octet",
                 "a different RDMA header"};
  }
}

template <Provoke kProvoke>
void length(Script& s) {
  const auto provoked = kProvoke(s);
  if (!flags_of(provoked.received).m)
    throw Skipped{"the peer's Terminate does not contain the DDP Segment Length"};
  bytes::Reader reader(behind_control(provoked.received, 0, kLengthSize));
  const std::size_t observed = reader.u16();
  if (observed != provoked.ulpdu.size()) {
    throw Failed{fmt::format("DDP Segment Length {}, which counts header and payload",
                             provoked.ulpdu.size()),
                 fmt::format("DDP Segment Length {}", observed)};
  }
}

// Nothing after the Terminate ---------------------------------------------------------------------

void first_error(Script& s) {
  const auto memory = after_first_send(s);
  auto both = s.make(make_ulpdu(tagged(Opcode::kWrite, memory.stag ^ kUnknown, 7), pattern(8)));
  auto header = untagged(Opcode::kSend, s.next_msn(Opcode::kSend));
  header.qn = 4;
  const auto second = s.make(make_ulpdu(header, pattern(16)));
  both.insert(both.end(), second.begin(), second.end());
  s.octets(both);
  s.expect_terminate({ddp::kTaggedInvalidStag});
}

void nothing_behind(Script& s) {
  const auto memory = after_first_send(s);
  s.write(memory.stag ^ kUnknown, memory.to, pattern(8));
  s.read_request(read_of(memory, 0, 8));
  s.send(advert_of(0, kExchangeSize));
  s.serve_memory(false);
  s.expect_terminate({ddp::kTaggedInvalidStag});
}

void graceful(Script& s) {
  const auto memory = after_first_send(s);
  s.write(memory.stag ^ kUnknown, memory.to, pattern(8));
  const Received received = s.receive();
  if (received.kind != Received::Kind::kSegment || !received.segment->is(Opcode::kTerminate)) {
    throw Failed{"a Terminate", describe(received)};
  }
  const Received end = s.receive();
  if (end.kind != Received::Kind::kClosed) throw Failed{"a FIN", describe(end)};
}

constexpr auto kAny = PeerRole::kEither;
constexpr auto kMust = Level::kMust;

// clang-format off
constexpr Case kCases[] = {
    {"rdmap/terminate/control-word", "RFC 5040 4.8", "RDMAP-15 RDMAP-16", "lays out the Terminate Control field as in figure 8 of RFC 5040", kMust, kAny, control_word},
    {"rdmap/terminate/message", "RFC 5040 5.4", "RDMAP-59 RDMAP-7 RDMAP-10 DDP-32", "sends its Terminate as the first message on queue 2", kMust, kAny, message},
    {"rdmap/terminate/reserved-bits", "RFC 5040 4.8", "RDMAP-18", "sends zero in the reserved bits of its Terminate", kMust, kAny, reserved_bits},
    {"rdmap/terminate/size-crc", "RFC 5040 4.8", "RDMAP-19 RDMAP-20 RDMAP-21", "after a CRC error, sends a Terminate whose length matches M, D and R", kMust, kAny, size<crc_error>},
    {"rdmap/terminate/size-write", "RFC 5040 4.8", "RDMAP-19 RDMAP-20 RDMAP-21", "after an invalid Write, sends a Terminate whose length matches M, D and R", kMust, kAny, size<write_error>},
    {"rdmap/terminate/size-read", "RFC 5040 4.8", "RDMAP-19 RDMAP-20 RDMAP-21", "after an invalid Read, sends a Terminate whose length matches M, D and R", kMust, kAny, size<read_error>},
    {"rdmap/terminate/brings-write", "RFC 5040 7.1", "RDMAP-93 RDMAP-17", "sends a Terminate with the DDP header of an invalid Write", kMust, kAny, brings<write_error, true, false>},
    {"rdmap/terminate/brings-send", "RFC 5040 7.1", "RDMAP-93 RDMAP-17", "sends a Terminate with the DDP header of an invalid Send", kMust, kAny, brings<send_error, true, false>},
    {"rdmap/terminate/brings-read", "RFC 5040 7.1", "RDMAP-94 RDMAP-17", "sends a Terminate with the DDP and RDMA headers of an invalid Read Request", kMust, kAny, brings<read_error, true, true>},
    {"rdmap/terminate/brings-invalidate", "RFC 5040 7.1", "RDMAP-93 RDMAP-17", "sends a Terminate with the DDP header of a Send whose InvSTag is unknown", kMust, kAny, brings<invalidate_error, true, false>},
    {"rdmap/terminate/brings-opcode", "RFC 5040 4.8", "RDMAP-17", "sends a Terminate without an RDMA header after an invalid opcode", Level::kShould, kAny, brings_for_opcode},
    {"rdmap/terminate/brings-crc", "RFC 5040 4.8", "RDMAP-92 RDMAP-17", "sends a Terminate without headers after a CRC error", kMust, kAny, brings<crc_error, false, false>},
    {"rdmap/terminate/header-write", "RFC 5040 4.8", "RDMAP-20 VRB-22", "copies the DDP header of an invalid Write unchanged into its Terminate", kMust, kAny, header<write_error>},
    {"rdmap/terminate/header-send", "RFC 5040 4.8", "RDMAP-20", "copies the DDP header of an invalid Send unchanged into its Terminate", kMust, kAny, header<send_error>},
    {"rdmap/terminate/header-read", "RFC 5040 4.8", "RDMAP-20", "copies the DDP header of an invalid Read Request unchanged into its Terminate", kMust, kAny, header<read_error>},
    {"rdmap/terminate/read-request", "RFC 5040 4.8", "RDMAP-21", "copies the RDMA header of an invalid Read Request unchanged into its Terminate", kMust, kAny, read_request},
    {"rdmap/terminate/length-write", "RFC 5040 4.8", "RDMAP-19", "reports the DDP Segment Length of an invalid Write in its Terminate", kMust, kAny, length<write_error>},
    {"rdmap/terminate/length-send", "RFC 5040 4.8", "RDMAP-19", "reports the DDP Segment Length of an invalid Send in its Terminate", kMust, kAny, length<send_error>},
    {"rdmap/terminate/length-read", "RFC 5040 4.8", "RDMAP-19", "reports the DDP Segment Length of an invalid Read Request in its Terminate", kMust, kAny, length<read_error>},
    {"rdmap/terminate/first-error", "RFC 5040 7.1", "RDMAP-95", "sends one Terminate, which reports the first of two errors", kMust, kAny, first_error},
    {"rdmap/terminate/nothing-behind", "RFC 5040 5.4", "RDMAP-63 RDMAP-89 RDMAP-90", "sends nothing after its Terminate", kMust, kAny, nothing_behind},
    {"rdmap/terminate/graceful", "RFC 5040 6.2.1", "RDMAP-88", "closes with a FIN, not with a reset, after its Terminate", Level::kShould, kAny, graceful},
};
// clang-format on

}  // namespace
}  // namespace rdmap_terminate

std::span<const Case> terminate_cases() { return rdmap_terminate::kCases; }

}  // namespace iwarp::apps::conform
