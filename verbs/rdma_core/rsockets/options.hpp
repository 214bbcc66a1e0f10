// SPDX-License-Identifier: Apache-2.0
// What rsetsockopt() and rfcntl() have set of an rsocket.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>

#include "endpoint.hpp"

namespace iwarp::rdma_core::rsockets {

struct Options {
  Sizes sizes;
  int family = 0;
  int status_flags = 0;      ///< of F_SETFL
  int descriptor_flags = 0;  ///< of F_SETFD
  int error = 0;             ///< for SO_ERROR, once
  int reuse_address = 0;
  int keep_alive = 0;
  int keep_alive_seconds = 7200;
  int out_of_band_inline = 0;
  int no_delay = 0;
  int type_of_service = 0;
  int v6_only = 0;
  linger linger_for{.l_onoff = 1, .l_linger = 0};  ///< as rsockets says it unless told otherwise
  bool linger_is_set = false;
  std::chrono::microseconds receive_limit{0};  ///< 0: none
  std::chrono::microseconds send_limit{0};
};

}  // namespace iwarp::rdma_core::rsockets
