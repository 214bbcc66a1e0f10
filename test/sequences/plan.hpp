// SPDX-License-Identifier: Apache-2.0
// Plans: sequences of calls at two connected queue pairs. A plan does good work, then makes exactly
// one error, and then recovers and does good work again. A seed determines the plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model.hpp"

namespace iwarp::sequences {

struct Step {
  enum class Kind : std::uint8_t {
    kSend,     ///< ibv_post_send() of `requests`
    kReceive,  ///< ibv_post_recv() of `receives`
    kModify,   ///< ibv_modify_qp() to `state`
    kDestroy,  ///< ibv_destroy_qp(), and a new queue pair
    kSettle,   ///< polls until everything has come that must come, and compares everything
  };
  Kind kind;
  int end = 0;
  std::vector<Request> requests;
  std::vector<Receive> receives;
  ibv_qp_state state = IBV_QPS_RESET;
  EndOptions options;  ///< attributes for kModify
};

struct Plan {
  std::uint64_t seed = 0;
  bool as_roce = false;
  std::string trouble;  ///< the error
  std::array<EndOptions, 2> options;
  bool own_receive_cq = false;
  std::vector<Step> steps;
};

Plan make_plan(std::uint64_t seed, bool as_roce);
/// One line for each step.
std::string describe(const Step& step);
std::string describe(const Plan& plan);

}  // namespace iwarp::sequences
