// SPDX-License-Identifier: Apache-2.0
// Implements the steps that read, write and check the peer's memory.
#include "conform/script/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace iwarp::apps::conform {

Octets write_ulpdu(const PeerMemory& memory, std::uint64_t offset, bytes::View payload) {
  return make_ulpdu(tagged(rdmap::Opcode::kWrite, memory.stag, memory.to + offset), payload);
}

void write(Script& script, const PeerMemory& memory, std::uint64_t offset, bytes::View payload) {
  script.fpdu(write_ulpdu(memory, offset, payload));
}

void expect_memory(Script& script, const PeerMemory& memory, bytes::View wanted,
                   std::uint32_t offset) {
  const Octets observed =
      read_peer(script, memory, offset, static_cast<std::uint32_t>(wanted.size()));
  const auto differs = std::ranges::mismatch(observed, wanted).in1 - observed.begin();
  require(static_cast<std::size_t>(differs) == wanted.size(),
          "a Read Response with the octets written",
          fmt::format("different octets, starting at octet {}", offset + differs));
}

void expect_answer(Script& script, const PeerMemory& memory) { read_peer(script, memory, 0, 1); }

void expect_survivor(Script& script) {
  script.establish();
  exchange(script);
}

void send_in_pieces(Script& script, bytes::View octets, std::size_t size) {
  while (!octets.empty()) {
    const auto piece = octets.first(std::min(size, octets.size()));
    octets = octets.subspan(piece.size());
    script.octets(piece);
    pause();
  }
}

// Gives the peer time to read what was sent, so that the octets sent next arrive in a separate
// read.
void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

Octets empty_read_ulpdu(Script& script) {
  const auto opcode = rdmap::Opcode::kReadRequest;
  const rdmap::ReadRequest nothing{
      .sink_stag = {1}, .sink_to = {}, .size = 0, .source_stag = {1}, .source_to = {}};
  return make_ulpdu(untagged(opcode, script.take_msn(opcode)), encode_read_request(nothing));
}

PeerMemory learn_or_skip(Script& script, std::uint32_t size) {
  const auto too_small = [size](const char* why) {
    return Skipped{fmt::format("the case needs {} octets of the peer's memory: {}", size, why)};
  };
  if (script.peer_role() == PeerRole::kInitiator) {
    const auto memory = learn_memory(script);
    if (memory.length < size)
      throw too_small(
          "the peer advertises fewer octets (start iwarp ping with a larger --size, or rping with "
          "a larger -S)");
    return memory;
  }
  try {
    return learn_memory(script, size);
  } catch (const Failed&) {
    throw too_small("the peer did not read a buffer of this size (start rping with a larger -S)");
  }
}

std::vector<Segment> receive_long_message(Script& script, const Setup& setup, std::uint32_t size) {
  script.establish(setup);
  const auto memory = learn_or_skip(script, size);
  std::vector<Segment> segments;
  script.watch([&segments](const Segment& segment) {
    const bool done = !segments.empty() && segments.back().header.last;
    if (segment.header.tagged && !done) segments.push_back(segment);
  });
  finish_exchange(script, memory);
  script.watch({});
  return segments;
}

void require(bool condition, std::string expected, std::string observed) {
  if (!condition) throw Failed{std::move(expected), std::move(observed)};
}

}  // namespace iwarp::apps::conform
