// SPDX-License-Identifier: Apache-2.0
// Cases about the device, its attributes, ports, GIDs and P_Keys.
#include "judge/cases/cases.hpp"
#include "judge/frame/ends.hpp"

namespace iwarp::judge {
namespace {

void unknown_port(Judge& j) {
  ibv_port_attr attr{};
  const auto count = j.attributes().phys_port_cnt;
  j.expect("ibv_query_port, port 0", errno_of(ibv_query_port(j.context(), 0, &attr)), {EINVAL});
  j.expect("ibv_query_port, port after the last",
           errno_of(ibv_query_port(j.context(), static_cast<std::uint8_t>(count + 1), &attr)),
           {EINVAL});
}

void ping(Judge& j) {
  Pair pair(j);
  j.require("ibv_post_recv", pair.b.post_recv(7, 0, 8));
  j.require("ibv_post_send", pair.a.post_send(pair.a.request(3, IBV_WR_SEND, pair.b), 0, 8));
  const ibv_wc wc = expect_completion(j, "completion of the Send", pair.a.send_cq);
  j.expect_equal("wr_id of the Send", wc.wr_id, 3);
  const ibv_wc received = expect_completion(j, "completion of the receive", pair.b.recv_cq);
  j.expect_equal("byte_len", received.byte_len, 8);
}

// clang-format off
constexpr Case kCases[] = {
    {"device/port/unknown", "", "refuses to query a port that does not exist", unknown_port},
    {"device/ping", "", "delivers a Send", ping},
};
// clang-format on

}  // namespace

std::span<const Case> device_cases() { return kCases; }

}  // namespace iwarp::judge
