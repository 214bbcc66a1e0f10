// SPDX-License-Identifier: Apache-2.0
// Tests rdma_connect() and rdma_accept() without parameters. The variables are set so that a Send
// without a receive soon ends the connection (IWARP_RECEIVE_HOLD) and the retry counts take effect
// (IWARP_COMPLETIONS). The library reads them once per process, so these cases are a separate
// program.
#include <cstdlib>

#include "endpoint.hpp"

namespace {

using namespace rdma_core_test;

const int kSet = ::setenv("IWARP_RECEIVE_HOLD", "1", 1) | ::setenv("IWARP_COMPLETIONS", "acked", 1);

struct Connected : Meeting {
  explicit Connected(rdma_conn_param* param) {
    ask(param);
    accept(param);
    establish();
  }
};

// Checks that a Send that finds no receive ends the connection if the retry count is below 7.
void check_few_retries_end() {
  rdma_conn_param few{.rnr_retry_count = 6};
  Connected pair(&few);
  const Buffer out(pair.client.pd.get(), "late");
  REQUIRE(pair.client.send(out.sge()) == 0);
  expect(pair.channel, RDMA_CM_EVENT_DISCONNECTED);
}

// [RCM-193]
TEST_CASE("without parameters a Send waits for its receive, however long it takes") {
  REQUIRE(kSet == 0);
  Connected pair(nullptr);
  const auto check_late = [&pair](End& from, End& to) {
    const Buffer out(from.pd.get(), "late");
    const Buffer in(to.pd.get(), 64);
    REQUIRE(from.send(out.sge()) == 0);
    // If the retries of the Send above were limited, the Send would fail during this call.
    check_few_retries_end();
    REQUIRE_FALSE(is_readable(pair.channel->fd));
    REQUIRE(to.receive(in.sge()) == 0);
    CHECK(in.text(End::done(to.receive_cq).byte_len) == "late");
  };
  check_late(pair.client, pair.server);
  check_late(pair.server, pair.client);
}

// [RCM-194]
TEST_CASE("a retry count below 7 ends the connection") { check_few_retries_end(); }

}  // namespace
