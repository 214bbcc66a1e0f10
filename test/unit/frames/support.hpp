// SPDX-License-Identifier: Apache-2.0
// Shows the frames of a script to a Session, and encodes the headers of Atomics.
#pragma once

#include <vector>

#include "frames/session/session.hpp"
#include "iwarp/rdmap/atomic_header.hpp"
#include "iwarp/trace/stream_decoder.hpp"
#include "wire_script.hpp"

namespace iwarp::test {

namespace frames = apps::frames;

inline void decode(const WireScript& script, trace::StreamDecoder& decoder) {
  for (const auto& sent : script.sent) {
    decoder.octets(sent.outbound ? trace::Side::kNear : trace::Side::kFar, sent.octets);
  }
}

/// Calls look(Explained) for each frame of the script.
template <typename Look>
void explain_each(const WireScript& script, frames::Session& session, Look look) {
  trace::StreamDecoder decoder([&](const trace::Frame& frame) { look(session.see(frame)); });
  decode(script, decoder);
}
template <typename Look>
void explain_each(const WireScript& script, Look look) {
  frames::Session session;
  explain_each(script, session, look);
}

/// Encodes an AtomicRequest or an AtomicResponse.
template <typename Header>
std::vector<std::byte> encoded(const Header& header) {
  std::vector<std::byte> octets(rdmap::kAtomicRequestSize);
  bytes::Writer writer(octets);
  encode(header, writer);
  octets.resize(writer.size());
  return octets;
}

}  // namespace iwarp::test
