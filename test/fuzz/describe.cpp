// SPDX-License-Identifier: Apache-2.0
// Target: all functions that describe octets in words. Property: the result is one line of text for
// any octets.
#include "iwarp/rdmap/describe.hpp"

#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/mpa/startup_frame.hpp"
#include "iwarp/rdmap/terminate.hpp"
#include "target.hpp"

namespace iwarp::fuzz {

void run(View input) {
  Input in(input);
  const auto octets = in.octets(input.size());
  for (const auto& line : {mpa::describe_startup_frame(octets), ddp::describe_segment(octets),
                           rdmap::describe_message(octets), rdmap::describe_terminate(octets)}) {
    require(!line.empty(), "a description says something");
    require(line.find('\n') == std::string::npos, "a description is one line");
  }
}

}  // namespace iwarp::fuzz
