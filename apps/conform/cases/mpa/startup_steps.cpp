// SPDX-License-Identifier: Apache-2.0
// Steps that several cases about MPA startup use.
#include "conform/cases/mpa/startup_steps.hpp"

#include <fmt/format.h>

#include "conform/script/exchange.hpp"
#include "iwarp/mpa/faults.hpp"

namespace iwarp::apps::conform {

using namespace std::chrono_literals;

namespace {

bool ended(const Received& received) {
  return received.kind == Received::Kind::kClosed || received.kind == Received::Kind::kReset;
}

bool is_terminate(const Received& received) {
  return received.segment && received.segment->is(rdmap::Opcode::kTerminate);
}

}  // namespace

void set_length(Octets& frame, std::size_t length) {
  frame[kLengthAt] = static_cast<std::byte>(length >> 8);
  frame[kLengthAt + 1] = static_cast<std::byte>(length & 0xFF);
}

void carry_on(Script& script, const Setup& setup) {
  script.expect_accept();
  const bool rtr = setup.peer_to_peer && script.peer_word().peer_to_peer;
  script.begin(rtr ? setup.rtr : mpa::Rtr::kNone);
  exchange(script);
}

bool answered(Script& script) { return !script.expect_startup().rejected; }

void expect_full_operation(Script& script) {
  script.begin();
  script.write(1, 0, {});
  script.expect_silence(100ms);
  const Tamper wrong{.crc_xor = 1};
  script.fpdu(make_ulpdu(tagged(rdmap::Opcode::kWrite, 1, 0), {}), wrong);
  if (script.crc()) script.expect_terminate({mpa::kCrcMismatch});
}

void expect_give_up(Script& script) {
  for (;;) {
    const Received received = script.receive();
    if (ended(received)) return;
    if (!is_terminate(received)) throw Failed{"the end of the connection", describe(received)};
  }
}

void expect_next_works(Script& script) {
  script.establish();
  exchange(script);
}

void expect_no_fpdu(Script& script) {
  const Received received = script.receive(300ms);
  if (received.kind == Received::Kind::kNothing || ended(received)) return;
  throw Failed{"no FPDU", describe(received)};
}

void exchange_or_end(Script& script) {
  try {
    exchange(script);
  } catch (const Failed&) {
    script.expect_end();
  }
}

void read_burst(Script& script, std::size_t count) {
  Octets burst;
  for (std::size_t i = 0; i < count; ++i) {
    const auto msn = script.take_msn(rdmap::Opcode::kReadRequest);
    const auto request = encode_read_request({.sink_stag = {Script::kOurStag},
                                              .sink_to = {Script::kOurTo + i},
                                              .size = 0,
                                              .source_stag = {1},
                                              .source_to = {}});
    const auto octets =
        script.make(make_ulpdu(untagged(rdmap::Opcode::kReadRequest, msn), request));
    burst.insert(burst.end(), octets.begin(), octets.end());
  }
  script.octets(burst);
  for (std::size_t i = 0; i < count; ++i) {
    const auto response = script.expect(rdmap::Opcode::kReadResponse);
    if (response.header.to.value != Script::kOurTo + i) {
      throw Failed{"Read Responses in the order of the requests",
                   "Read Responses in another order"};
    }
  }
}

void expect_terminate_or_skip(Script& script, const bytes::Fault& fault, const char* otherwise) {
  const std::string wanted = "Terminate " + bytes::to_string(fault);
  const Received received = script.receive();
  if (received.segment && !is_terminate(received)) throw Skipped{otherwise};
  if (!is_terminate(received)) throw Failed{wanted, describe(received)};
  const auto terminate = read_terminate(*received.segment);
  if (terminate.terminate.fault != fault) throw Failed{wanted, describe(terminate)};
  const Received end = script.receive();
  if (!ended(end)) throw Failed{"the end of the connection after the Terminate", describe(end)};
}

void leave_in_order(Script& script) {
  const auto& word = script.peer_word();
  mpa::Rtr kind = mpa::Rtr::kWrite;
  if (!word.rtr_write && word.rtr_read) kind = mpa::Rtr::kRead;
  if (!word.rtr_write && !word.rtr_read && word.rtr_send) kind = mpa::Rtr::kSend;
  script.begin(kind);
  script.receive(50ms);
}

bool names_rtr(const mpa::EnhancedWord& word) {
  return word.rtr_send || word.rtr_write || word.rtr_read;
}

bool names_rtr(const mpa::EnhancedWord& word, mpa::Rtr kind) {
  return (kind == mpa::Rtr::kSend && word.rtr_send) ||
         (kind == mpa::Rtr::kWrite && word.rtr_write) || (kind == mpa::Rtr::kRead && word.rtr_read);
}

std::string flags_of(const mpa::EnhancedWord& word) {
  return fmt::format("A={:d} B={:d} C={:d} D={:d}", word.peer_to_peer, word.rtr_send,
                     word.rtr_write, word.rtr_read);
}

}  // namespace iwarp::apps::conform
