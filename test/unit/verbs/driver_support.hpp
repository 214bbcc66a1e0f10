// SPDX-License-Identifier: Apache-2.0
// A driver that only counts the calls of resume().
#pragma once

#include <atomic>
#include <functional>

#include "iwarp/verbs/qp_driver.hpp"

namespace iwarp::verbs {

struct CountingDriver final : QpDriver {
  void resume_soon() override {
    resumed.fetch_add(1);
    resumed.notify_all();
  }
  void abort() override {}
  bool depart() override {
    if (on_depart) on_depart();
    return true;
  }

  std::atomic<int> resumed{0};
  std::function<void()> on_depart;
};

}  // namespace iwarp::verbs
