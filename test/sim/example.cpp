// SPDX-License-Identifier: Apache-2.0
// The example at the beginning of the simulator's header.
#include <doctest/doctest.h>

#include "iwarp/sim/pair.hpp"

namespace iwarp::verbs {

TEST_CASE("the example: an RDMA Write of 4096 octets") {
  sim::Pair pair;
  REQUIRE(pair.establish());
  Region* from = pair.a->memory(4096, Access::kLocalWrite);
  Region* to = pair.b->memory(4096, Access::kLocalWrite | Access::kRemoteWrite);
  from->address[4095] = std::byte{42};
  const Sge octets = sim::sge(from, 0, 4096);
  const SendWr wr{.opcode = WrOpcode::kWrite, .sgl = {&octets, 1}, .remote = sim::remote(to)};
  REQUIRE(!pair.a->qp->post_send(wr));
  pair.run();
  CHECK(to->address[4095] == std::byte{42});
}

}  // namespace iwarp::verbs
