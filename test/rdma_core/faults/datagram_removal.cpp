// SPDX-License-Identifier: Apache-2.0
// Tests device removal as seen by a program that uses datagrams.
#include "ud.hpp"

using namespace faults;

[[maybe_unused]] static const int kSet = setenv("IWARP_AS", "roce", 1);

TEST_CASE("removing the device flushes requests of datagram queue pairs, and refuses new ones") {
  const Ud ud;
  ud.post_receives();
  rule("now remove device");
  CHECK_EQ(ud.build(ud, {1}), EIO);
  ud.expect_event(IBV_EVENT_DEVICE_FATAL);
  for (std::size_t i = 0; i != kReceives; ++i) {
    CHECK_EQ(next(ud.receive_cq).status, IBV_WC_WR_FLUSH_ERR);
  }
  CHECK_EQ(post_send(ud.qp, {}), EIO);
}
