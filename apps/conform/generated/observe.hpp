// SPDX-License-Identifier: Apache-2.0
// A peer's reaction to a sample, in words that do not depend on the run: no STags, no addresses.
#pragma once

#include "conform/generated/rules.hpp"

namespace iwarp::apps::conform::generated {

struct Observed {
  std::optional<ReceivedTerminate> terminate;
  bool ended = false;
  bool reset = false;
  bool answered = false;   ///< the peer answered the probing Read
  bool delivered = false;  ///< the peer's program sent a message afterwards
  bool read_answered = false;
  std::string wrong;  ///< the first deviation on a stream that goes on

  std::string text(const Sample& sample, const Expectation& expected) const;
};

/// Sends the sample and listens. Sends a probing RDMA Read if the peer stays silent.
Observed observe(Script& script, const Sample& sample, const Progress& progress,
                 const Expectation& expected, std::chrono::milliseconds silence);

/// Returns whether the sample is a valid Send, which the peer's program must answer.
bool must_deliver(const Sample& sample, const Progress& progress, const Expectation& expected);

/// Returns what is wrong with the headers that a Terminate returns; empty if they are right.
std::string judge_headers(const ReceivedTerminate& terminate, const Sample& sample);

}  // namespace iwarp::apps::conform::generated
