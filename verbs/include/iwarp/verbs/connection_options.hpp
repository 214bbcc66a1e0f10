// SPDX-License-Identifier: Apache-2.0
// What a program may choose for a connection.
#pragma once

#include <chrono>

#include "iwarp/mpa/startup.hpp"

namespace iwarp::verbs {

using mpa::Duration;
using mpa::TimePoint;

enum class Placement : std::uint8_t {
  kVerified,  ///< CRC first, then into application memory (RFC 5044 section 6)
  kDirect,    ///< Deviation: placed while received; a wrong CRC then leaves the buffer undefined
};

struct ConnectionOptions {
  /// Fit for unknown peers, see rfc-notes/peers.md.
  mpa::StartupOptions startup{.round_ird = true, .extensions = true};
  Placement placement = Placement::kVerified;
  /// ULPDU size limit; 0: from the EMSS [MPA-53]. Clamped to 128..64768.
  std::size_t max_ulpdu = 0;
  std::size_t stage = 256 * 1024;           ///< octets read ahead at most
  std::size_t transmit_batch = 256 * 1024;  ///< octets framed ahead at most
  /// A Send finds no receive posted: stop reading for so long, then Terminate 1/2/02. 0: at once.
  Duration receive_hold = std::chrono::seconds(0);
  /// Bounds the Terminate and Closing states [VRB-12], and how long a close waits for requests to
  /// drain while no octet moves.
  Duration close_timeout = std::chrono::seconds(5);
  /// Initiator: nothing follows the Reply for so long, and then the first FPDU; less than
  /// close_timeout. A work-around for responders that reply before they look at the socket again
  /// (kernel siw before a repair): a first FPDU that comes in between lies there until more octets
  /// come. Nobody can tell from the octets: such a Reply looks like any other, and the silence
  /// behind it like that of a responder with nothing to say. 100 ms were enough in every trial.
  Duration first_fpdu_delay = std::chrono::seconds(0);
  /// For so long, counted from the last departure, a small request may wait for more to leave with
  /// it, while its program has not polled its completion queues empty since the one before. For
  /// whoever drives. 0: none waits.
  Duration gather_delay = std::chrono::microseconds(50);
};

}  // namespace iwarp::verbs
