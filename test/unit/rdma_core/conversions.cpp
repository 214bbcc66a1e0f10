// SPDX-License-Identifier: Apache-2.0
// Tests how durations of ibv_modify_qp(3) and errors of the verbs layer are converted, and that no
// exception passes the C interface.
#include <doctest/doctest.h>

#include <stdexcept>

#include "iwarp/verbs/errors.hpp"
#include "process/errno_table.hpp"
#include "qp/peer_timeouts.hpp"

using namespace iwarp;             // NOLINT
using namespace iwarp::rdma_core;  // NOLINT
using namespace std::chrono_literals;
using namespace iwarp;
using namespace iwarp::rdma_core;

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

TEST_CASE("errors of the verbs layer become errno values") {
  CHECK(to_errno({}) == 0);
  CHECK(to_errno(make_error_code(verbs::Errc::kQueueFull)) == ENOMEM);
  CHECK(to_errno(make_error_code(verbs::Errc::kAddressInUse)) == EADDRINUSE);
  CHECK(to_errno(make_error_code(verbs::Errc::kTimedOut)) == ETIMEDOUT);
  CHECK(to_errno(make_error_code(verbs::Errc::kNotAgreed)) == EOPNOTSUPP);
  // An error that is missing from the table maps to EIO. Only kSystem is meant to map to EIO.
  for (int i = 1; i <= static_cast<int>(verbs::Errc::kCarrierFailed); ++i) {
    const std::error_code error(i, verbs::verbs_category());
    if (error == verbs::Errc::kSystem) continue;
    CAPTURE(error.message());
    CHECK(to_errno(error) != EIO);
  }
}

TEST_CASE("errors of the operating system keep their errno values") {
  CHECK(to_errno({ENOSPC, std::generic_category()}) == ENOSPC);
  CHECK(to_errno({EMFILE, std::system_category()}) == EMFILE);
}

TEST_CASE("an exception below the C interface becomes an errno") {
  CHECK(guarded([] { return 5; }) == 5);
  CHECK(guarded([]() -> int { throw std::bad_alloc(); }) == ENOMEM);
  CHECK(guarded([]() -> int { throw std::runtime_error("no"); }) == EIO);
  CHECK(guarded([]() -> int { throw std::system_error(make_error_code(verbs::Errc::kBusy)); }) ==
        EBUSY);
  errno = 0;
  CHECK(guarded_pointer<int>([]() -> int* { throw std::bad_alloc(); }) == nullptr);
  CHECK(errno == ENOMEM);
  CHECK(minus_one(EPERM) == -1);
  CHECK(errno == EPERM);
}
