// SPDX-License-Identifier: Apache-2.0
// Tests that every verbs error maps to a specific errno, and that no exception passes the C
// interface.
#include "process/errno_table.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

#include "iwarp/verbs/errors.hpp"

using namespace iwarp;
using namespace iwarp::rdma_core;

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
