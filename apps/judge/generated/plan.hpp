// SPDX-License-Identifier: Apache-2.0
// Plans: sequences of calls at two connected queue pairs. A plan does good work, then makes exactly
// one error, and then recovers and does good work again. A seed determines the plan.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "judge/generated/model.hpp"

namespace iwarp::judge::generated {

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
  QpOptions options;  ///< attributes for kModify
};

struct Plan {
  std::uint64_t seed = 0;
  bool as_roce = false;
  std::size_t trouble = 0;  ///< the error, an index into trouble_names()
  std::array<QpOptions, 2> options;
  bool own_receive_cq = false;
  std::vector<Step> steps;
};

Plan make_plan(std::uint64_t seed, bool as_roce);
std::span<const std::string_view> trouble_names();
/// One line for each step.
std::string describe(const Step& step);
std::string describe(const Plan& plan);

}  // namespace iwarp::judge::generated
