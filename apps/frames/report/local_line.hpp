// SPDX-License-Identifier: Apache-2.0
// What an end did, from its log, in one line: numbers and our own words only.
#pragma once

#include <string>

#include "iwarp/verbs/local_event.hpp"

namespace iwarp::apps::frames {

/// "posted RDMA Write wr_id=0x7, 64 octets to STag=0x11223344 TO=0x1000".
std::string local_line(const verbs::LocalEvent& event);

/// A request that failed, or memory that the peer may not have.
bool is_failure(const verbs::LocalEvent& event);

}  // namespace iwarp::apps::frames
