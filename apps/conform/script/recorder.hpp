// SPDX-License-Identifier: Apache-2.0
// Recorder: records as text, layer by layer, the frames on all connections of one case.
#pragma once

#include <memory>
#include <string>

#include "iwarp/trace/text_printer.hpp"

namespace iwarp::apps::conform {

class Recorder {
 public:
  Recorder() { restart(); }
  /// Resets the printer at the start of a new connection.
  void restart();
  void octets(bool outbound, bytes::View octets);
  void closed(bool outbound, bool reset);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::unique_ptr<trace::TextPrinter> printer_;
};

}  // namespace iwarp::apps::conform
