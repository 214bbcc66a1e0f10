// SPDX-License-Identifier: Apache-2.0
// Formats the octets with a TextPrinter. Each connection of a case gets a new TextPrinter.
#include "conform/script/recorder.hpp"

#include <chrono>

namespace iwarp::apps::conform {

void Recorder::restart() {
  printer_ =
      std::make_unique<trace::TextPrinter>(trace::PrinterOptions{.near = "conform", .far = "peer"},
                                           [this](std::string_view lines) { text_ += lines; });
}

void Recorder::octets(bool outbound, bytes::View octets) {
  printer_->octets(outbound, octets, std::chrono::steady_clock::now());
}

void Recorder::closed(bool outbound, bool reset) {
  printer_->closed(outbound, reset, std::chrono::steady_clock::now());
}

}  // namespace iwarp::apps::conform
