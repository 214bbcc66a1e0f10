// SPDX-License-Identifier: Apache-2.0
// Cases about the end of a connection: FIN, reset and half-close in every state (RFC 5044 sections
// 7.1, 7.2 and 8, RFC 5041 section 6.2, RFC 5040 section 6.2). A listening peer must survive each
// of these endings.
#include <fmt/format.h>

#include "conform/script/case.hpp"
#include "conform/script/probe.hpp"
#include "conform/script/steps.hpp"

namespace iwarp::apps::conform {
namespace rdmap_closing {
namespace {

constexpr std::size_t kPiece = 8;
constexpr int kAborts = 20;

void end_and_survive(Script& s) {
  s.half_close();
  s.expect_end();
  expect_survivor(s);
}

void reset_and_survive(Script& s) {
  s.reset();
  expect_survivor(s);
}

// FIN --------------------------------------------------------------------------------------------

void fin_idle(Script& s) {
  s.establish();
  learn_memory(s);
  end_and_survive(s);
}

void fin_after_startup(Script& s) {
  s.establish();
  end_and_survive(s);
}

void fin_graceful(Script& s) {
  s.establish();
  learn_memory(s);
  s.half_close();
  const Received received = s.receive();
  require(received.kind == Received::Kind::kClosed, "a FIN, and no message before the FIN",
          describe(received));
}

template <std::size_t size>
void fin_inside(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  const Octets fpdu = s.make(write_ulpdu(memory, 0, pattern(kPiece)));
  s.octets(bytes::View(fpdu).first(size));
  end_and_survive(s);
}

void fin_in_message(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  auto header = tagged(rdmap::Opcode::kWrite, memory.stag, memory.to);
  header.last = false;
  s.fpdu(make_ulpdu(header, pattern(kPiece)));
  end_and_survive(s);
}

void fin_without_answer(Script& s) {
  s.establish();
  s.serve_memory(false);
  s.send(advert_of(0, kExchangeSize));
  s.expect(rdmap::Opcode::kReadRequest);
  end_and_survive(s);
}

void fin_before_answer(Script& s) {
  s.establish();
  s.fpdu(empty_read_ulpdu(s));
  end_and_survive(s);
}

void answers_after_fin(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  // Use a short Read: the FIN then arrives after the response has been sent. If the FIN arrives
  // during a longer response, an RNIC sends a Terminate. [VRB-8]
  s.read_request(read_of(memory, 0, kPiece));
  s.half_close();
  s.expect(rdmap::Opcode::kReadResponse);
  s.expect_end();
}

void fin_without_request(Script& s) {
  s.open();
  end_and_survive(s);
}

void fin_behind_reply(Script& s) {
  s.send_startup(s.await_peer());
  s.half_close();
  s.expect_end();
}

// Reset ------------------------------------------------------------------------------------------

void reset_after_startup(Script& s) {
  s.establish();
  reset_and_survive(s);
}

void reset_idle(Script& s) {
  s.establish();
  learn_memory(s);
  reset_and_survive(s);
}

void reset_inside_fpdu(Script& s) {
  s.establish();
  const Octets fpdu = s.make(write_ulpdu(learn_memory(s), 0, pattern(kPiece)));
  s.octets(bytes::View(fpdu).first(fpdu.size() / 2));
  reset_and_survive(s);
}

void reset_without_answer(Script& s) {
  s.establish();
  s.serve_memory(false);
  s.send(advert_of(0, kExchangeSize));
  s.expect(rdmap::Opcode::kReadRequest);
  reset_and_survive(s);
}

void many_resets(Script& s) {
  for (int i = 0; i < kAborts; ++i) {
    s.establish();
    s.send(advert_of(0, kExchangeSize));
    s.reset();
  }
  expect_survivor(s);
}

// Other endings ----------------------------------------------------------------------------------

void stays_open(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  s.expect_silence();
  finish_exchange(s, memory);
}

void fin_behind_terminate(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  write(s, {.stag = memory.stag ^ 0x5A5A5A00, .to = memory.to}, 0, pattern(kPiece));
  for (;;) {
    const Received received = s.receive();
    if (received.kind == Received::Kind::kSegment) continue;
    require(received.kind == Received::Kind::kClosed, "a FIN after the Terminate",
            describe(received));
    return;
  }
}

void survives_error(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  write(s, {.stag = memory.stag ^ 0x5A5A5A00, .to = memory.to}, 0, pattern(kPiece));
  s.expect_end();
  expect_survivor(s);
}

// Opens a second connection while the peer waits for the rest of an FPDU on the first one.
void beside_stuck_one(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  const Octets fpdu = s.make(write_ulpdu(memory, 0, pattern(kPiece)));
  const auto stuck = bytes::View(fpdu).first(fpdu.size() / 2);
  s.octets(stuck);
  Script other(s.target());
  expect_survivor(other);
  s.octets(bytes::View(fpdu).subspan(stuck.size()));
  expect_answer(s, memory);
}

constexpr auto kMust = Level::kMust;
constexpr auto kShould = Level::kShould;
constexpr auto kEither = PeerRole::kEither;
constexpr auto kListens = PeerRole::kResponder;
constexpr auto kConnects = PeerRole::kInitiator;

// clang-format off
constexpr Case kCases[] = {
    {"closing/fin/idle", "RFC 5041 6.2.1", "DDP-60 RDMAP-90", "closes the connection on a FIN between messages", kMust, kEither, fin_idle},
    {"closing/fin/after-startup", "RFC 5041 6.2.1", "DDP-60 RDMAP-90", "closes the connection on a FIN before any FPDU", kMust, kEither, fin_after_startup},
    {"closing/fin/in-length", "RFC 5044 8", "MPA-61 MPA-108 RDMAP-90", "closes the connection on a FIN inside ULPDU_Length", kMust, kEither, fin_inside<1>},
    {"closing/fin/in-header", "RFC 5044 8", "MPA-61 MPA-108 RDMAP-90", "closes the connection on a FIN inside the DDP header", kMust, kEither, fin_inside<10>},
    {"closing/fin/in-payload", "RFC 5044 8", "MPA-61 MPA-108 RDMAP-90", "closes the connection on a FIN inside the payload", kMust, kEither, fin_inside<20>},
    {"closing/fin/in-crc", "RFC 5044 8", "MPA-61 MPA-108 RDMAP-90", "closes the connection on a FIN inside the CRC", kMust, kEither, fin_inside<27>},
    {"closing/fin/in-message", "RFC 5041 6.2.2", "DDP-62 RDMAP-90", "closes the connection on a FIN between two segments of a message", kMust, kEither, fin_in_message},
    {"closing/fin/read-unanswered", "RFC 5040 6.2", "DDP-62 RDMAP-90", "closes the connection on a FIN in place of a Read Response", kMust, kListens, fin_without_answer},
    {"closing/fin/behind-request-for-data", "RFC 5040 6.2", "DDP-60 RDMAP-90", "closes the connection on a FIN right after a Read Request", kMust, kListens, fin_before_answer},
    {"closing/fin/without-mpa-request", "RFC 5044 7.1.2", "MPA-84 MPA-108", "closes the connection on a FIN in place of an MPA Request", kMust, kListens, fin_without_request, kLast},
    {"closing/fin/behind-mpa-reply", "RFC 5044 7.1.2", "DDP-60 RDMAP-90", "closes the connection on a FIN right after an MPA Reply", kMust, kConnects, fin_behind_reply},
    {"closing/reset/after-startup", "RFC 5044 8", "MPA-108 DDP-62", "survives a reset before any FPDU", kMust, kListens, reset_after_startup},
    {"closing/reset/idle", "RFC 5044 8", "MPA-108 DDP-62", "survives a reset between messages", kMust, kListens, reset_idle},
    {"closing/reset/inside-fpdu", "RFC 5044 8", "MPA-108 DDP-62", "survives a reset inside an FPDU", kMust, kListens, reset_inside_fpdu},
    {"closing/reset/read-unanswered", "RFC 5044 8", "MPA-108 DDP-62", "survives a reset in place of a Read Response", kMust, kListens, reset_without_answer},
    {"closing/reset/many", "RFC 5044 8", "MPA-108 DDP-62", "survives many resets in a row", kMust, kListens, many_resets},
    {"closing/stays-open", "RFC 5041 6.2", "DDP-55", "keeps an idle stream open", kMust, kEither, stays_open},
    {"closing/survives-error", "RFC 5040 7", "RDMAP-89 RDMAP-90", "serves a new connection after it has terminated another connection", kMust, kListens, survives_error},
    {"closing/beside-stuck-one", "RFC 5040 7", "MPA-61", "serves a connection while another connection is stalled", kMust, kListens, beside_stuck_one},
    {"closing/fin/graceful", "RFC 5041 6.2.1", "DDP-59 RDMAP-90", "answers a FIN between messages with a FIN, and sends no message", kShould, kEither, fin_graceful},
    {"closing/fin/answers-after", "RFC 5041 6.2.1", "DDP-59", "answers a Read Request even if a FIN follows it", kShould, kEither, answers_after_fin},
    {"closing/fin/behind-terminate", "RFC 5040 6.2.1", "RDMAP-88", "closes with a FIN after its Terminate", kShould, kEither, fin_behind_terminate},
};
// clang-format on

}  // namespace
}  // namespace rdmap_closing

std::span<const Case> closing_cases() { return rdmap_closing::kCases; }

}  // namespace iwarp::apps::conform
