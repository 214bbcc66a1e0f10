// SPDX-License-Identifier: Apache-2.0
// Cases about untagged buffers: queues, message sequence numbers and offsets, and receive buffers
// (RFC 5041 sections 4.3, 5.3, 5.4 and 7). Each invalid Send is wrong in only one field. In some
// cases the peer may keep the invalid segment and wait for missing segments. Such a case passes if
// the peer stays silent or sends a Terminate, and fails if the peer delivers the message.
#include "conform/script/case.hpp"
#include "conform/script/steps.hpp"
#include "iwarp/rdmap/faults.hpp"

namespace iwarp::apps::conform {
namespace ddp_untagged {
namespace {

constexpr auto kSend = rdmap::Opcode::kSend;
constexpr std::size_t kAdvert = 16;  // size of each of the peer's receive buffers
constexpr std::size_t kLong = 1000;  // size of a Send that exceeds these buffers
// Number of Sends: more than the receives that the peer posts.
constexpr std::size_t kManySends = 36;

ddp::SegmentHeader next_send(Script& s) { return untagged(kSend, s.next_msn(kSend)); }

void send_with(Script& s, const ddp::SegmentHeader& header, std::size_t size = kAdvert) {
  s.fpdu(make_ulpdu(header, pattern(size)));
}

// MSN ---------------------------------------------------------------------------------------------

void msn_first_zero(Script& s) {
  begin(s);
  send_with(s, untagged(kSend, 0));
  s.expect_terminate({ddp::kUntaggedMsnRange});
}

void msn_repeated(Script& s) {
  after_first_send(s);
  send_with(s, untagged(kSend, 1));
  s.expect_terminate({ddp::kUntaggedMsnRange});
}

void msn_skipped(Script& s) {
  after_first_send(s);
  send_with(s, untagged(kSend, 3));
  expect_undelivered(s, {ddp::kUntaggedMsnRange, ddp::kUntaggedNoBuffer});
}

template <std::uint32_t kMsn>
void msn_far(Script& s) {
  begin(s);
  send_with(s, untagged(kSend, kMsn));
  s.expect_terminate({ddp::kUntaggedMsnRange, ddp::kUntaggedNoBuffer});
}

void msn_changes(Script& s) {
  after_first_send(s);
  auto header = next_send(s);
  header.last = false;
  send_with(s, header, 8);
  header.msn = header.msn.next();
  header.mo = 8;
  header.last = true;
  send_with(s, header, 8);
  expect_undelivered(s, {ddp::kUntaggedMsnRange, ddp::kUntaggedNoBuffer, ddp::kUntaggedMo});
}

void msn_per_queue(Script& s) {
  const auto memory = after_first_send(s);
  for (int i = 0; i < 3; ++i) read_peer(s, memory, 0, 8);
}

// MO ----------------------------------------------------------------------------------------------

void mo_first_not_zero(Script& s) {
  after_first_send(s);
  auto header = next_send(s);
  header.mo = 4;
  send_with(s, header, kAdvert - 4);
  expect_undelivered(s, {ddp::kUntaggedMo});
}

void mo_gap(Script& s) {
  after_first_send(s);
  auto header = next_send(s);
  header.last = false;
  send_with(s, header, 4);
  header.last = true;
  header.mo = 8;
  send_with(s, header, kAdvert - 8);
  expect_undelivered(s, {ddp::kUntaggedMo});
}

void mo_back(Script& s) {
  after_first_send(s);
  auto header = next_send(s);
  header.last = false;
  send_with(s, header, 12);
  header.last = true;
  header.mo = 4;
  send_with(s, header, 4);
  expect_undelivered(s, {ddp::kUntaggedMo});
}

template <std::uint32_t kMo>
void mo_far(Script& s) {
  after_first_send(s);
  auto header = next_send(s);
  header.mo = kMo;
  send_with(s, header);
  s.expect_terminate({ddp::kUntaggedMo});
}

// Queues ------------------------------------------------------------------------------------------

template <std::uint32_t kQn>
void queue(Script& s) {
  after_first_send(s);
  auto header = untagged(kSend, 1);
  header.qn = kQn;
  send_with(s, header);
  s.expect_terminate({ddp::kUntaggedQn});
}

// Receive buffers ---------------------------------------------------------------------------------

void too_long(Script& s) {
  after_first_send(s);
  s.send(pattern(kLong));
  s.expect_terminate({ddp::kUntaggedTooLong});
}

void too_long_later(Script& s) {
  after_first_send(s);
  send_segments(s, kSend, pattern(8 + kLong), {8, kLong});
  s.expect_terminate({ddp::kUntaggedTooLong});
}

void no_receive(Script& s) {
  after_first_send(s);
  Octets burst;
  for (std::size_t i = 0; i < kManySends; ++i) {
    const auto one = s.make(make_ulpdu(untagged(kSend, s.take_msn(kSend)), Octets(kAdvert)));
    burst.insert(burst.end(), one.begin(), one.end());
  }
  s.serve_memory(false);
  s.octets(burst);
  for (;;) {
    const Received received = s.receive();
    const bool segment = received.kind == Received::Kind::kSegment;
    if (segment && !received.segment->is(rdmap::Opcode::kTerminate)) continue;
    if (!segment) throw Skipped{"the peer's program never ran out of posted receives"};
    const auto terminate = read_terminate(*received.segment);
    const auto& fault = terminate.terminate.fault;
    // Both layers have an error code for a catastrophic local failure. A peer may report this
    // error, for example, if its program has ended and has freed the receive buffers.
    if (fault == rdmap::kLocalCatastrophic || fault == ddp::kDdpCatastrophic) {
      throw Skipped{"the peer's program ended the stream before its posted receives ran out"};
    }
    if (fault == ddp::kUntaggedNoBuffer) return;
    throw Failed{"Terminate " + bytes::to_string(ddp::kUntaggedNoBuffer), describe(terminate)};
  }
}

// Segments ----------------------------------------------------------------------------------------

void two_segments(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  finish_exchange(s, memory, [&](bytes::View advert) { send_segments(s, kSend, advert, {5, 11}); });
}

void octet_segments(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  finish_exchange(s, memory, [&](bytes::View advert) {
    send_segments(s, kSend, advert, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  });
}

void empty_segments(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  finish_exchange(s, memory,
                  [&](bytes::View advert) { send_segments(s, kSend, advert, {0, 16, 0}); });
}

void write_between(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  const auto text = read_peer(s, memory, 0, memory.length);
  finish_exchange(s, memory, [&](bytes::View advert) {
    send_segments(s, kSend, advert, {8, 8}, [&] { s.write(memory.stag, memory.to, text); });
  });
}

void last_withheld(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  finish_exchange(s, memory, [&](bytes::View advert) {
    send_segments(s, kSend, advert, {15, 1}, [&] { s.expect_silence(); });
  });
}

void good_behind_bad(Script& s) {
  after_first_send(s);
  auto header = next_send(s);
  header.qn = 4;
  auto octets = s.make(make_ulpdu(header, pattern(kAdvert)));
  const auto good = s.make(make_ulpdu(next_send(s), advert_of(0, kExchangeSize)));
  octets.insert(octets.end(), good.begin(), good.end());
  s.octets(octets);
  s.serve_memory(false);
  expect_terminate_next(s, {ddp::kUntaggedQn});
}

// Header bits -------------------------------------------------------------------------------------

template <std::uint8_t kVersion>
void version(Script& s) {
  after_first_send(s);
  auto header = next_send(s);
  header.version = kVersion;
  send_with(s, header);
  s.expect_terminate({ddp::kUntaggedVersion});
}

void reserved_bits(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  finish_exchange(s, memory, [&](bytes::View advert) {
    auto ulpdu = make_ulpdu(untagged(kSend, s.take_msn(kSend)), advert);
    ulpdu[0] |= std::byte{0x3C};
    s.fpdu(ulpdu);
  });
}

// clang-format off
constexpr Case kCases[] = {
    {"ddp/untagged/msn-first-zero", "RFC 5041 4.3", "DDP-32 DDP-72", "terminates on MSN 0 when MSN 1 is expected", Level::kMust, PeerRole::kEither, msn_first_zero},
    {"ddp/untagged/msn-per-queue", "RFC 5041 4.3", "DDP-31 DDP-32", "counts MSNs separately for each queue", Level::kMust, PeerRole::kEither, msn_per_queue},
    {"ddp/untagged/msn-repeated", "RFC 5041 7.1", "DDP-50 DDP-72", "terminates on an MSN that was used before", Level::kMust, PeerRole::kEither, msn_repeated},
    {"ddp/untagged/msn-skipped", "RFC 5041 5.4", "DDP-51 DDP-52", "does not deliver a message while the previous message is missing", Level::kMust, PeerRole::kEither, msn_skipped},
    {"ddp/untagged/msn-far", "RFC 5041 7.1", "DDP-72", "terminates on MSN 0x80000000 when MSN 1 is expected", Level::kMust, PeerRole::kEither, msn_far<0x80000000>},
    {"ddp/untagged/msn-last", "RFC 5041 7.1", "DDP-72", "terminates on MSN 0xFFFFFFFF when MSN 1 is expected", Level::kMust, PeerRole::kEither, msn_far<0xFFFFFFFF>},
    {"ddp/untagged/msn-changes", "RFC 5041 4.3", "DDP-34 DDP-52", "does not join segments with different MSNs into one message", Level::kMust, PeerRole::kEither, msn_changes},
    {"ddp/untagged/mo-first-not-zero", "RFC 5041 4.3", "DDP-35 DDP-52", "does not deliver a message whose beginning is missing", Level::kMust, PeerRole::kEither, mo_first_not_zero},
    {"ddp/untagged/mo-gap", "RFC 5041 5.4", "DDP-41 DDP-52", "does not deliver a message with a gap between its segments", Level::kMust, PeerRole::kEither, mo_gap},
    {"ddp/untagged/mo-back", "RFC 5041 4.1", "DDP-16", "does not deliver a message if the MO of its last segment is too low", Level::kShould, PeerRole::kEither, mo_back},
    {"ddp/untagged/mo-far", "RFC 5041 7.1", "DDP-70 DDP-83", "terminates on an MO beyond the receive buffer", Level::kMust, PeerRole::kEither, mo_far<0x10000000>},
    {"ddp/untagged/mo-wrap", "RFC 5041 7.1", "DDP-70 DDP-83", "terminates on a segment whose MO plus length exceeds 2^32", Level::kMust, PeerRole::kEither, mo_far<0xFFFFFFF8>},
    {"ddp/untagged/queue-4", "RFC 5041 7.1", "DDP-67 DDP-83", "terminates on queue number 4, which is undefined", Level::kMust, PeerRole::kEither, queue<4>},
    {"ddp/untagged/queue-last", "RFC 5041 7.1", "DDP-67 DDP-83 RDMAP-96", "terminates on queue number 0xFFFFFFFF", Level::kMust, PeerRole::kEither, queue<0xFFFFFFFF>},
    {"ddp/untagged/too-long", "RFC 5041 7.1", "DDP-71 DDP-83 RDMAP-51", "terminates on a Send longer than the receive buffer", Level::kMust, PeerRole::kEither, too_long},
    {"ddp/untagged/too-long-later", "RFC 5041 7.1", "DDP-71 DDP-83 RDMAP-51", "terminates when the second segment of a Send exceeds the receive buffer", Level::kMust, PeerRole::kEither, too_long_later},
    {"ddp/untagged/no-receive", "RFC 5041 7.1", "DDP-68 DDP-83 RDMAP-49", "terminates on a Send for which no receive is posted", Level::kMust, PeerRole::kEither, no_receive},
    {"ddp/untagged/two-segments", "RFC 5041 5.2", "DDP-40 DDP-53", "reassembles a message of two segments", Level::kMust, PeerRole::kEither, two_segments},
    {"ddp/untagged/octet-segments", "RFC 5041 5.2", "DDP-40 DDP-53", "reassembles a message of one-octet segments", Level::kMust, PeerRole::kEither, octet_segments},
    {"ddp/untagged/empty-segments", "RFC 5041 5.2", "DDP-40 DDP-53", "accepts zero-length segments in a message", Level::kShould, PeerRole::kEither, empty_segments},
    {"ddp/untagged/write-between", "RFC 5041 5.3", "DDP-40 DDP-52", "accepts a Write between the segments of a Send", Level::kShould, PeerRole::kEither, write_between},
    {"ddp/untagged/last-withheld", "RFC 5041 5.4", "DDP-17 DDP-52 RDMAP-74", "delivers a message only after its last segment", Level::kMust, PeerRole::kEither, last_withheld},
    {"ddp/untagged/good-behind-bad", "RFC 5041 7.1", "DDP-81", "processes no FPDU after an invalid untagged segment", Level::kMust, PeerRole::kEither, good_behind_bad},
    {"ddp/untagged/version-0", "RFC 5041 7.2", "DDP-20 DDP-83", "terminates on a Send of DDP version 0", Level::kMust, PeerRole::kEither, version<0>},
    {"ddp/untagged/version-2", "RFC 5041 7.2", "DDP-20 DDP-83", "terminates on a Send of DDP version 2", Level::kMust, PeerRole::kEither, version<2>},
    {"ddp/untagged/version-3", "RFC 5041 7.2", "DDP-20 DDP-83", "terminates on a Send of DDP version 3", Level::kMust, PeerRole::kEither, version<3>},
    {"ddp/untagged/reserved-bits", "RFC 5041 4.1", "DDP-19", "ignores the reserved bits of an untagged DDP header", Level::kMust, PeerRole::kEither, reserved_bits},
};
// clang-format on

}  // namespace
}  // namespace ddp_untagged

std::span<const Case> untagged_cases() { return ddp_untagged::kCases; }

}  // namespace iwarp::apps::conform
