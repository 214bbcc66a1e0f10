// SPDX-License-Identifier: Apache-2.0
// Prints the output of the demonstration: steps, remarks, and the frames between them.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "iwarp/verbs/wire_tap.hpp"

namespace iwarp::apps {

class Narrator {
 public:
  explicit Narrator(bool quiet);

  /// Prints the number and the title of the step that begins.
  void step(std::string_view title);
  void remark(std::string_view who, std::string_view text);
  /// Prints `text`, even with --quiet.
  void summary(std::string_view text);
  /// Returns a tap that prints each frame of a connection when the frame is sent or received.
  /// Returns null with --quiet. The Narrator must outlive the tap.
  std::unique_ptr<verbs::WireTap> frame_printer();

 private:
  void put(std::string_view text);

  const bool quiet_;
  const bool colour_;
  int steps_ = 0;
  std::mutex mutex_;
};

}  // namespace iwarp::apps
