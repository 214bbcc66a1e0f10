// SPDX-License-Identifier: Apache-2.0
// Runs the command of `iwarp run --adversary=FIRST..LAST` with one seed after the other until it
// fails. Then determines which freedoms the failure needs, and prints what the adversary did before
// it.
#pragma once

#include <functional>
#include <string>

#include "iwarp/options/adversary.hpp"
#include "watched.hpp"

namespace iwarp::apps {

/// How to run the command once.
struct SeedRun {
  std::string adversary;   ///< value of IWARP_ADVERSARY
  std::string record;      ///< value of IWARP_ADVERSARY_RECORD; may be empty
  bool is_silent = false;  ///< whether the output of the command is discarded
};

/// Calls `run` for each seed. Returns the exit status of the first run that failed, or 0. Unless
/// `is_quiet`, prints on standard error what it has found out.
int try_seeds(const options::Adversary& adversary, const std::string& command, bool is_quiet,
              const std::function<Ending(const SeedRun&)>& run);

}  // namespace iwarp::apps
