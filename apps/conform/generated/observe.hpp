// SPDX-License-Identifier: Apache-2.0
// Describes a peer's reaction to a sample in words that are the same in each run: without STags or
// addresses.
#pragma once

#include "conform/generated/rules.hpp"

namespace iwarp::apps::conform::generated {

struct Observed {
  std::optional<ReceivedTerminate> terminate;
  bool ended = false;
  bool reset = false;
  bool answered = false;   ///< whether the peer answered the probing Read
  bool delivered = false;  ///< whether the peer's program sent a message after the sample
  bool read_answered = false;
  std::string wrong;  ///< the first deviation on a stream that continues; empty if there is none

  std::string text(const Sample& sample, const Expectation& expected) const;
};

/// Sends the sample and records the peer's reaction. If the peer stays silent, sends a probing RDMA
/// Read.
Observed observe(Script& script, const Sample& sample, const Progress& progress,
                 const Expectation& expected, std::chrono::milliseconds silence);

/// Returns whether the sample is a valid Send, to which the peer's program must respond.
bool must_deliver(const Sample& sample, const Progress& progress, const Expectation& expected);

/// Returns what is wrong with the headers that a Terminate returns; the text is empty if they are
/// right.
std::string judge_headers(const ReceivedTerminate& terminate, const Sample& sample);

}  // namespace iwarp::apps::conform::generated
