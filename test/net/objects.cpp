// SPDX-License-Identifier: Apache-2.0
// What a program may choose about its objects, and which choices are refused.
#include <doctest/doctest.h>

#include <ostream>

#include "support.hpp"

using namespace iwarp;
using namespace iwarp::net;
using verbs::Errc;

TEST_CASE("a program may number its queue pairs; what is taken or too large is refused") {
  auto rnic = open_rnic();
  auto pd = must(rnic->alloc_pd());
  auto cq = must(rnic->create_cq(16));
  const auto create = [&](verbs::QpNum num) {
    return rnic->create_qp(*pd, {.num = num, .send_cq = cq.get(), .recv_cq = cq.get()});
  };
  const auto refused = [&](verbs::QpNum num) {
    const auto qp = create(num);
    return !qp && qp.error() == make_error_code(Errc::kInvalidArgument);
  };
  auto chosen = must(create(1));
  CHECK_EQ(chosen->num(), 1);
  CHECK(refused(1));
  CHECK_EQ(must(create(0xFFFFFF))->num(), 0xFFFFFF);
  CHECK(refused(0x1000000));
  // Those that the device numbers keep out of the way.
  auto picked = must(create(0));
  CHECK_EQ(picked->num(), 2);
  CHECK(refused(2));
  chosen.reset();
  CHECK_EQ(must(create(1))->num(), 1);
}
