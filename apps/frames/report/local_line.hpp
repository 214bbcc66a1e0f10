// SPDX-License-Identifier: Apache-2.0
// Describes an action of one end, from that end's log, in one line of numbers and fixed words.
#pragma once

#include <string>

#include "iwarp/verbs/local_event.hpp"

namespace iwarp::apps::frames {

/// Returns a line such as "posted RDMA Write wr_id=0x7, 64 octets to STag=0x11223344 TO=0x1000".
std::string local_line(const verbs::LocalEvent& event);

/// Returns whether the event reports a failed request of this end, or a memory access of the peer
/// that this end has refused.
bool is_failure(const verbs::LocalEvent& event);

}  // namespace iwarp::apps::frames
