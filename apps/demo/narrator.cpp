// SPDX-License-Identifier: Apache-2.0
// Prints each text with a single call, because narration and frames come from different threads.
#include "demo/narrator.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "iwarp/trace/text_printer.hpp"

namespace iwarp::apps {

Narrator::Narrator(bool quiet) : quiet_(quiet), colour_(isatty(STDOUT_FILENO) == 1) {}

void Narrator::step(std::string_view title) {
  ++steps_;
  if (quiet_) return;
  put(fmt::format("\n{}{}. {}{}\n", colour_ ? "\x1b[1m" : "", steps_, title,
                  colour_ ? "\x1b[0m" : ""));
}

void Narrator::remark(std::string_view who, std::string_view text) {
  if (!quiet_) put(fmt::format("   {}: {}\n", who, text));
}

void Narrator::summary(std::string_view text) {
  put(fmt::format("{}{}\n", quiet_ ? "" : "\n", text));
}

std::unique_ptr<verbs::WireTap> Narrator::frame_printer() {
  if (quiet_) return nullptr;
  trace::PrinterOptions options;
  options.near = "initiator";
  options.far = "target";
  options.colour = colour_;
  return std::make_unique<trace::TextPrinter>(options,
                                              [this](std::string_view text) { put(text); });
}

void Narrator::put(std::string_view text) {
  const std::lock_guard lock(mutex_);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace iwarp::apps
