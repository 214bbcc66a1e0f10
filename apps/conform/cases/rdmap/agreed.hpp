// SPDX-License-Identifier: Apache-2.0
// Begins a case about RFC 7306 with a peer that has agreed to use it. The way in which both ends
// negotiate RFC 7306 is specific to this project (rfc-notes/decisions/0010).
#pragma once

#include "conform/script/steps.hpp"

namespace iwarp::apps::conform {

/// Requests RFC 7306 during startup, and then calls after_first_send(). Throws Skipped if the peer
/// does not offer RFC 7306.
inline PeerMemory agreed(Script& script, const Setup& setup = {.extensions = true}) {
  script.establish_or_skip(setup, "RFC 7306");
  const auto memory = learn_memory(script);
  if (script.peer_role() == PeerRole::kInitiator) {
    script.send(Octets(16));
    script.expect(rdmap::Opcode::kSend);
  }
  return memory;
}

}  // namespace iwarp::apps::conform
