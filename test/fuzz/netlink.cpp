// SPDX-License-Identifier: Apache-2.0
// Target: what a program sends on a socket of NETLINK_RDMA. Properties: the rules of
// netlink_answers.hpp, and that only names of a valid length are added.
#include "netlink_answers.hpp"
#include "target.hpp"

namespace iwarp::fuzz {

void run(View input) {
  constexpr std::uint32_t kPortId = 4711;
  rdma_core::netlink::MadeUpLinks links(40);
  const auto answers = rdma_core::netlink::answer(input, {kPortId}, links);
  const char* const broken = rdma_core::netlink::broken_rule(input, kPortId, answers);
  require(broken == nullptr, broken);
  require(links.longest_name < 64, "a name is at most 63 characters long");
}

}  // namespace iwarp::fuzz
