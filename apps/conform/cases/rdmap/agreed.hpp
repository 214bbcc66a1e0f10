// SPDX-License-Identifier: Apache-2.0
// Where a case about RFC 7306 begins: with a peer that agreed to it. How two ends learn of each
// other that they speak it is this project's own way (rfc-notes/decisions/0010).
#pragma once

#include "conform/script/steps.hpp"

namespace iwarp::apps::conform {

/// As after_first_send(); Skipped: the peer does not offer RFC 7306.
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
