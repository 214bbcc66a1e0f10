// SPDX-License-Identifier: Apache-2.0
// Tests how the timers and retry counts of ibv_modify_qp(3) are converted to durations.
#include "qp/peer_timeouts.hpp"

#include <doctest/doctest.h>

using namespace iwarp;             // NOLINT
using namespace iwarp::rdma_core;  // NOLINT
using namespace std::chrono_literals;

TEST_CASE("timeout and retry_cnt: 4.096 us times two to the timeout, once and for each retry") {
  ibv_qp_attr attr{};
  attr.timeout = 14;
  attr.retry_cnt = 7;
  CHECK(peer_timeouts(attr, 0).answer == 0ns);
  CHECK(peer_timeouts(attr, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT).answer == 4096ns * 16384 * 8);
  attr.retry_cnt = 0;
  attr.timeout = 31;
  CHECK(peer_timeouts(attr, IBV_QP_TIMEOUT).answer == 4096ns * (std::int64_t{1} << 31));
  attr.timeout = 0;  // 0 means no timeout.
  CHECK(peer_timeouts(attr, IBV_QP_TIMEOUT).answer == 0ns);
}

TEST_CASE("rnr_retry and min_rnr_timer: their product, and 7 is for ever") {
  constexpr int kBoth = IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER;
  ibv_qp_attr attr{};
  attr.rnr_retry = 3;
  attr.min_rnr_timer = 12;
  CHECK_FALSE(peer_timeouts(attr, 0).receive_hold);
  CHECK_FALSE(peer_timeouts(attr, IBV_QP_MIN_RNR_TIMER).receive_hold);
  CHECK(peer_timeouts(attr, kBoth).receive_hold == 3 * 640us);
  attr.min_rnr_timer = 0;
  CHECK(peer_timeouts(attr, kBoth).receive_hold == 3 * 655'360us);
  attr.min_rnr_timer = 31;
  CHECK(peer_timeouts(attr, kBoth).receive_hold == 3 * 491'520us);
  attr.rnr_retry = 0;
  CHECK(peer_timeouts(attr, kBoth).receive_hold == 0ns);
  attr.rnr_retry = 7;
  CHECK(peer_timeouts(attr, IBV_QP_RNR_RETRY).receive_hold == verbs::PeerTimeouts::kForEver);
}
