// SPDX-License-Identifier: Apache-2.0
// Implements rping's protocol from the tester's side.
#include "conform/script/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/error.hpp"
#include "common/connection/advert.hpp"

namespace iwarp::apps::conform {
namespace {

constexpr std::uint64_t kSinkOffset = 512 * 1024;  // offset of the sink in the tester's memory

Octets empty_advert() { return Octets(kAdvertSize); }

PeerMemory advertised(Script& script) {
  const Message message = script.expect(rdmap::Opcode::kSend);
  const auto advert = decode_advert(message.payload);
  if (!advert) {
    throw Failed{"a Send of 16 octets that advertises memory",
                 fmt::format("a Send of {} octets", message.payload.size())};
  }
  return {advert->stag.value, advert->to, advert->length};
}

// Returns the memory that a listening peer, which is rping's server, names as the sink of its Read
// Request.
PeerMemory learn_from_server(Script& script, std::uint32_t size) {
  show_text(script, size);
  script.send(advert_of(0, size));
  script.serve_memory(false);
  const Message message = script.expect(rdmap::Opcode::kReadRequest);
  const auto request = rdmap::decode_read_request(message.payload);
  if (!request || request->source_stag.value != Script::kOurStag ||
      request->source_to.value != Script::kOurTo || request->size != size) {
    throw Failed{fmt::format("a Read Request for the {} advertised octets", size),
                 "a Read Request for other octets"};
  }
  script.serve_memory(true);
  script.read_response(request->sink_stag.value, request->sink_to.value,
                       bytes::View(script.memory()).first(size));
  script.expect(rdmap::Opcode::kSend);
  return {request->sink_stag.value, request->sink_to.value, size};
}

// Describes the octets of a peer that has sent no valid startup frame.
std::string describe_foreign(bytes::View octets) {
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(octets[i]); };
  constexpr unsigned kAlert = 21, kHandshake = 22, kMajor = 3;
  if (octets.size() >= 2 && (at(0) == kAlert || at(0) == kHandshake) && at(1) == kMajor) {
    return "TLS";
  }
  const std::string text(reinterpret_cast<const char*>(octets.data()), octets.size());
  return fmt::format("\"{}\"", printable(text.substr(0, text.find_first_of("\r\n"))));
}

}  // namespace

std::optional<std::string> answered_instead(const Target& target) {
  Script script(target);
  const bool listens = target.peer_role() == PeerRole::kResponder;
  bool is_served = false;
  script.watch([&](const Segment& s) {
    const bool advert = s.is(rdmap::Opcode::kSend) && s.payload().size() == kAdvertSize;
    if (listens ? s.is(rdmap::Opcode::kReadRequest) : advert) is_served = true;
  });
  bool is_established = false;
  try {
    script.establish();
    is_established = true;
    exchange(script);
  } catch (const Failed& failed) {
    if (is_served) return std::nullopt;
    if (is_established) return "MPA startup, and then " + failed.observed;
    return script.heard().empty() ? failed.observed : describe_foreign(script.heard());
  }
  return std::nullopt;
}

void show_text(Script& script, std::uint32_t size) {
  auto text = pattern(size, script.next_msn(rdmap::Opcode::kSend));
  // rping writes back strlen() octets. The text must therefore end with a NUL and contain no other
  // NUL.
  text.back() = std::byte{0};
  std::ranges::copy(text, script.memory().begin());
}

Octets advert_of(std::uint64_t offset, std::uint32_t size) {
  const auto octets = encode(Advert{Script::kOurTo + offset, verbs::Stag{Script::kOurStag}, size});
  return {octets.begin(), octets.end()};
}

PeerMemory learn_memory(Script& script, std::uint32_t size) {
  return script.peer_role() == PeerRole::kResponder ? learn_from_server(script, size)
                                                    : advertised(script);
}

void finish_exchange(Script& script, const PeerMemory& memory, const Sender& sender) {
  const auto send = [&](bytes::View advert) { sender ? sender(advert) : script.send(advert); };
  if (script.peer_role() == PeerRole::kInitiator) {
    const Octets text = read_peer(script, memory, 0, memory.length);
    send(empty_advert());
    const PeerMemory sink = advertised(script);
    script.write(sink.stag, sink.to, text);
    if (read_peer(script, sink, 0, sink.length) != text) {
      throw Failed{"a Read Response with the octets written", "other octets"};
    }
    send(empty_advert());
    return;
  }
  const auto source = bytes::View(script.memory()).first(memory.length);
  const auto sink = bytes::Span(script.memory()).subspan(kSinkOffset, memory.length);
  std::ranges::fill(sink, std::byte{0});
  send(advert_of(kSinkOffset, memory.length));
  script.expect(rdmap::Opcode::kSend);
  if (!std::ranges::equal(source, sink)) {
    throw Failed{"a Write of the octets that the peer has read", "other octets"};
  }
}

void exchange(Script& script, std::uint32_t size) {
  finish_exchange(script, learn_memory(script, size));
}

Octets read_peer(Script& script, const PeerMemory& memory, std::uint32_t offset,
                 std::uint32_t length) {
  constexpr std::uint64_t kOurSink = Script::kOurTo + 768 * 1024;
  script.read_request({.sink_stag = {Script::kOurStag},
                       .sink_to = {kOurSink},
                       .size = length,
                       .source_stag = {memory.stag},
                       .source_to = {memory.to + offset}});
  Message response = script.expect(rdmap::Opcode::kReadResponse);
  if (response.header.stag.value != Script::kOurStag || response.header.to.value != kOurSink) {
    throw Failed{"a Read Response to the sink of the request",
                 "a Read Response to another STag or TO"};
  }
  if (response.payload.size() != length) {
    throw Failed{fmt::format("a Read Response of {} octets", length),
                 fmt::format("a Read Response of {} octets", response.payload.size())};
  }
  return std::move(response.payload);
}

}  // namespace iwarp::apps::conform
