// SPDX-License-Identifier: Apache-2.0
// Golden frames of full operation. Fig. 5 and Fig. 6 are from RFC 5044 section 4.4; the other
// frames were computed with an encoder independent of this project and accepted by tshark 4.0.17.
#pragma once

#include <string>
#include <vector>

#include "stream.hpp"

namespace iwarp::test {

struct Golden {
  std::string name;
  bool markers = true;
  std::uint64_t position = 0;
  std::vector<Octets> ulpdus;
  Octets stream;
};

std::vector<Golden> golden_frames();

}  // namespace iwarp::test
