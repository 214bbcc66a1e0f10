// SPDX-License-Identifier: Apache-2.0
// Cases about functions of libibverbs that need no device: texts of values, rates, keys and fork.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <set>
#include <string>

#include "judge/cases/cases.hpp"
#include "judge/tools/ends.hpp"

namespace iwarp::judge::device_texts {
namespace {

/// Compares that the texts of the values from `first` to `last` are there and differ.
template <typename T, typename Text>
void expect_texts(Judge& j, std::string_view step, T first, T last, Text text) {
  std::set<std::string> found;
  bool all = true;
  for (int value = first; value <= static_cast<int>(last); ++value) {
    const char* const one = text(static_cast<T>(value));
    all &= one != nullptr && *one != '\0' && found.insert(one).second;
  }
  j.expect_true(step, all, "a text for each value, different from all others");
}

template <typename T, typename Text>
void expect_unknown(Judge& j, std::string_view step, int value, Text text) {
  const char* const one = text(static_cast<T>(value));
  j.expect_true(step, one != nullptr && *one != '\0', "a text");
}

void status_texts(Judge& j) {
  expect_texts(j, "ibv_wc_status_str", IBV_WC_SUCCESS, IBV_WC_TM_RNDV_INCOMPLETE,
               ibv_wc_status_str);
  expect_unknown<ibv_wc_status>(j, "ibv_wc_status_str of an unknown status", 1000,
                                ibv_wc_status_str);
}

void node_texts(Judge& j) {
  expect_texts(j, "ibv_node_type_str", IBV_NODE_CA, IBV_NODE_USNIC_UDP, ibv_node_type_str);
  expect_unknown<ibv_node_type>(j, "ibv_node_type_str of IBV_NODE_UNKNOWN", IBV_NODE_UNKNOWN,
                                ibv_node_type_str);
  expect_unknown<ibv_node_type>(j, "ibv_node_type_str of an unknown type", 1000, ibv_node_type_str);
}

void port_texts(Judge& j) {
  expect_texts(j, "ibv_port_state_str", IBV_PORT_NOP, IBV_PORT_ACTIVE_DEFER, ibv_port_state_str);
  expect_unknown<ibv_port_state>(j, "ibv_port_state_str of an unknown state", 1000,
                                 ibv_port_state_str);
}

void event_texts(Judge& j) {
  expect_texts(j, "ibv_event_type_str", IBV_EVENT_CQ_ERR, IBV_EVENT_WQ_FATAL, ibv_event_type_str);
  expect_unknown<ibv_event_type>(j, "ibv_event_type_str of an unknown type", 1000,
                                 ibv_event_type_str);
}

struct Rate {
  ibv_rate rate;
  int mult;  ///< 0: the rate has none that ibv_rate_to_mult() defines
  int mbps;
};
// Exact rates of the lanes: FDR is 14.0625, and EDR is 25.78125 Gbit/s per lane.
constexpr std::array kRates{Rate{IBV_RATE_2_5_GBPS, 1, 2500},    Rate{IBV_RATE_5_GBPS, 2, 5000},
                            Rate{IBV_RATE_10_GBPS, 4, 10000},    Rate{IBV_RATE_20_GBPS, 8, 20000},
                            Rate{IBV_RATE_30_GBPS, 12, 30000},   Rate{IBV_RATE_40_GBPS, 16, 40000},
                            Rate{IBV_RATE_60_GBPS, 24, 60000},   Rate{IBV_RATE_80_GBPS, 32, 80000},
                            Rate{IBV_RATE_120_GBPS, 48, 120000}, Rate{IBV_RATE_14_GBPS, 0, 14062},
                            Rate{IBV_RATE_56_GBPS, 0, 56250},    Rate{IBV_RATE_25_GBPS, 0, 25781},
                            Rate{IBV_RATE_100_GBPS, 0, 103125}};

void rates(Judge& j) {
  bool forth = true;
  bool back = true;
  for (const Rate& one : kRates) {
    forth &= ibv_rate_to_mbps(one.rate) == one.mbps;
    back &= mbps_to_ibv_rate(one.mbps) == one.rate;
    if (one.mult == 0) continue;
    forth &= ibv_rate_to_mult(one.rate) == one.mult;
    back &= mult_to_ibv_rate(one.mult) == one.rate;
  }
  j.expect_true("ibv_rate_to_mult and ibv_rate_to_mbps", forth, "the rate");
  j.expect_true("mult_to_ibv_rate and mbps_to_ibv_rate", back, "the value that was converted");
}

void unknown_rates(Judge& j) {
  j.expect_true("ibv_rate_to_mult of IBV_RATE_MAX", ibv_rate_to_mult(IBV_RATE_MAX) == -1, "-1");
  j.expect_true("ibv_rate_to_mbps of IBV_RATE_MAX", ibv_rate_to_mbps(IBV_RATE_MAX) == -1, "-1");
  j.expect_true("mult_to_ibv_rate(3)", mult_to_ibv_rate(3) == IBV_RATE_MAX, "IBV_RATE_MAX");
  j.expect_true("mbps_to_ibv_rate(1)", mbps_to_ibv_rate(1) == IBV_RATE_MAX, "IBV_RATE_MAX");
}

void next_key(Judge& j) {
  j.expect_equal("ibv_inc_rkey(0x12345678)", ibv_inc_rkey(0x12345678), 0x12345679);
  j.expect_equal("ibv_inc_rkey(0x123456ff)", ibv_inc_rkey(0x123456FF), 0x12345600);
}

// A kernel that copies pages for a child, and ibv_fork_init() on others, both make this hold.
void fork_keeps_memory(Judge& j) {
  j.expect("ibv_fork_init", errno_of(ibv_fork_init()));
  const ibv_fork_status status = ibv_is_fork_initialized();
  j.expect_true("ibv_is_fork_initialized",
                status == IBV_FORK_ENABLED || status == IBV_FORK_UNNEEDED,
                "IBV_FORK_ENABLED or IBV_FORK_UNNEEDED");
  Pair pair(j);
  std::strcpy(pair.a.memory(0), "before");
  j.require("ibv_post_recv", pair.b.post_recv(1, 0, 8));
  const pid_t child = ::fork();
  j.require("fork", child < 0 ? errno : 0);
  if (child == 0) ::_exit(7);
  std::strcpy(pair.a.memory(0), "after");  // The copy, if there is one, must belong to the child.
  j.require("ibv_post_send", pair.a.post_send(pair.a.request(2, IBV_WR_SEND, pair.b), 0, 8));
  expect_completion(j, "completion of the receive", pair.b.recv_cq);
  j.expect_text("payload", pair.b.memory(0), {"after"});
  int ended = 0;
  ::waitpid(child, &ended, 0);
  j.expect_true("the child", WIFEXITED(ended) && WEXITSTATUS(ended) == 7, "ends by itself");
}

void fork_late(Judge& j) {
  End end(j);
  const ibv_fork_status before = ibv_is_fork_initialized();
  const int code = errno_of(ibv_fork_init());
  if (before == IBV_FORK_DISABLED) {
    j.expect("ibv_fork_init after a registration", code, {EINVAL});
  } else {
    j.expect("ibv_fork_init when it has nothing to do", code);
  }
}

// clang-format off
constexpr Case kCases[] = {
    {"text/status", "IBV-312", "has a text for each completion status", status_texts},
    {"text/node-type", "IBV-616", "has a text for each node type", node_texts},
    {"text/port-state", "IBV-617", "has a text for each port state", port_texts},
    {"text/event", "IBV-615", "has a text for each asynchronous event", event_texts},
    {"text/rate", "IBV-618 IBV-619 IBV-620 IBV-621", "converts rates to multiples of 2.5 Gbit/s and to Mbit/s, and back", rates},
    {"text/rate-unknown", "IBV-619 IBV-620 IBV-621", "returns -1 or IBV_RATE_MAX for an unknown rate", unknown_rates},
    {"text/next-key", "IBV-208", "changes only the low 8 bits of a key in ibv_inc_rkey()", next_key},
    {"fork/memory", "IBV-70 IBV-73", "sends what the parent writes after fork()", fork_keeps_memory},
    {"fork/late", "IBV-69", "refuses ibv_fork_init() after a registration, unless fork support is on or not needed", fork_late},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::device_texts

iwarp::judge::Table iwarp::judge::device_texts_cases() { return device_texts::kCases; }
