// SPDX-License-Identifier: Apache-2.0
// Implements the steps that several tables of cases use.
#include "conform/script/steps.hpp"

namespace iwarp::apps::conform {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kOurSink = Script::kOurTo + 768 * 1024;
constexpr milliseconds kSilence{300};

bool is_terminate(const Received& received) {
  return received.kind == Received::Kind::kSegment &&
         received.segment->is(rdmap::Opcode::kTerminate);
}

std::string words(Faults faults) {
  std::string text;
  for (const auto& fault : faults) {
    text += (text.empty() ? "Terminate " : " or ") + bytes::to_string(fault);
  }
  return text;
}

ReceivedTerminate judge(const Received& received, Faults any_of, const std::string& expected) {
  if (!is_terminate(received)) throw Failed{expected, describe(received)};
  const auto terminate = read_terminate(*received.segment);
  const auto right = [&](const bytes::Fault& fault) { return reports(terminate, fault); };
  if (std::ranges::none_of(any_of, right)) {
    throw Failed{expected, describe(terminate)};
  }
  return terminate;
}

}  // namespace

void begin(Script& script) {
  script.establish();
  if (script.peer_role() == PeerRole::kInitiator) learn_memory(script);
}

PeerMemory after_first_send(Script& script) {
  script.establish();
  const auto memory = learn_memory(script);
  if (script.peer_role() == PeerRole::kInitiator) {
    script.send(Octets(16));
    script.expect(rdmap::Opcode::kSend);
  }
  return memory;
}

void send_segments(Script& script, rdmap::Opcode opcode, bytes::View payload,
                   std::initializer_list<std::size_t> sizes, const std::function<void()>& between) {
  auto header = untagged(opcode, script.take_msn(opcode));
  std::size_t left = sizes.size();
  for (const std::size_t size : sizes) {
    header.last = --left == 0;
    script.fpdu(make_ulpdu(header, payload.subspan(header.mo, size)));
    header.mo += static_cast<std::uint32_t>(size);
    if (between && !header.last) between();
  }
}

rdmap::ReadRequest await_read(Script& script, std::uint32_t size) {
  script.establish();
  script.serve_memory(false);
  show_text(script, size);
  script.send(advert_of(0, size));
  const Message message = script.expect(rdmap::Opcode::kReadRequest);
  const auto request = rdmap::decode_read_request(message.payload);
  if (!request) throw Failed{"a Read Request of 28 octets", "a Read Request of a different length"};
  return *request;
}

rdmap::ReadRequest read_of(const PeerMemory& memory, std::uint64_t offset, std::uint32_t length) {
  return {.sink_stag = {Script::kOurStag},
          .sink_to = {kOurSink},
          .size = length,
          .source_stag = {memory.stag},
          .source_to = {memory.to + offset}};
}

ReceivedTerminate expect_terminate_next(Script& script, Faults any_of) {
  const auto terminate = judge(script.receive(), any_of,
                               words(any_of) + ", without another message before the Terminate");
  script.expect_end();
  return terminate;
}

void expect_undelivered(Script& script, Faults any_of) {
  const Received received = script.receive(kSilence);
  if (received.kind == Received::Kind::kNothing) return;
  judge(received, any_of, any_of.size() == 0 ? "silence" : words(any_of) + ", or silence");
}

void expect_end_without_terminate(Script& script) {
  for (;;) {
    const Received received = script.receive();
    if (is_terminate(received) || received.kind == Received::Kind::kNothing) {
      throw Failed{"the end of the connection, without a Terminate", describe(received)};
    }
    if (received.kind == Received::Kind::kClosed || received.kind == Received::Kind::kReset) return;
  }
}

}  // namespace iwarp::apps::conform
