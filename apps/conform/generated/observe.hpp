// SPDX-License-Identifier: Apache-2.0
// Records the peer's reaction to a sample, and describes it as text. The text contains no STags or
// addresses, so it is the same in each run.
#pragma once

#include "conform/generated/rules.hpp"

namespace iwarp::apps::conform::generated {

struct Observed {
  std::optional<ReceivedTerminate> terminate;
  bool ended = false;
  bool reset = false;
  bool answered = false;   ///< whether the peer answered the probing Read
  bool delivered = false;  ///< whether the peer's program sent a message in response to the sample
  bool read_answered = false;
  std::string wrong;  ///< first deviation before the stream ended; empty if there is none

  std::string text(const Sample& sample, const Expectation& expected) const;
};

/// Sends the sample and records the peer's reaction. If the peer stays silent for `silence`, sends
/// a probing RDMA Read.
Observed observe(Script& script, const Sample& sample, const Progress& progress,
                 const Expectation& expected, std::chrono::milliseconds silence);

/// Returns whether the sample is a valid Send. The peer's program must respond to a valid Send.
bool must_deliver(const Sample& sample, const Progress& progress, const Expectation& expected);

/// Checks the headers that a Terminate returns. Returns an error text, or an empty string if the
/// headers are correct.
std::string judge_headers(const ReceivedTerminate& terminate, const Sample& sample);

}  // namespace iwarp::apps::conform::generated
