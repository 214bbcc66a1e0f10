// SPDX-License-Identifier: Apache-2.0
// What a peer makes of a sample, in words that do not depend on the run: no STags, no addresses.
#pragma once

#include "conform/generated/rules.hpp"

namespace iwarp::apps::conform::generated {

struct Observed {
  std::optional<ReceivedTerminate> terminate;
  bool ended = false;
  bool reset = false;
  bool answered = false;   ///< the Read that asks whether it lives
  bool delivered = false;  ///< its program has said something since
  bool read_answered = false;
  std::string wrong;  ///< what is not as it must be where the stream goes on

  std::string text(const Sample& sample, const Expectation& expected) const;
};

/// Sends the sample, then listens; asks for an answer with an RDMA Read when it has to know.
Observed observe(Script& script, const Sample& sample, const Progress& progress,
                 const Expectation& expected, std::chrono::milliseconds silence);

/// A valid Send that the peer's program answers.
bool must_deliver(const Sample& sample, const Progress& progress, const Expectation& expected);

/// What is wrong about the headers that come back; empty: nothing.
std::string judge_headers(const ReceivedTerminate& terminate, const Sample& sample);

}  // namespace iwarp::apps::conform::generated
