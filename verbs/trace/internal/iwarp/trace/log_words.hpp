// SPDX-License-Identifier: Apache-2.0
// Converts enumerators to the words that stand for them in qlog events (rfc-notes/qlog.md), and
// back. The writer and the reader of a log use the same words. The reader shows only these words
// and never copies other text from a file to its output.
#pragma once

#include <optional>
#include <string_view>

#include "iwarp/verbs/local_event.hpp"

namespace iwarp::trace {

std::string_view word(verbs::WorkQueue value);
std::string_view word(verbs::WrOpcode value);
std::string_view word(verbs::WcOpcode value);
std::string_view word(verbs::WcStatus value);
std::string_view word(verbs::MemoryUse value);
std::string_view word(rdmap::AccessError value);
std::string_view word(verbs::Machine value);

/// Returns the enumerator whose word is `text`, or nullopt if there is none.
template <typename Enum>
std::optional<Enum> of_word(std::string_view text) {
  for (unsigned i = 0;; ++i) {
    const auto known = word(static_cast<Enum>(i));
    if (known.empty()) return std::nullopt;
    if (known == text) return static_cast<Enum>(i);
  }
}

/// If `machine` has a state with the name `text`, returns the name as a static string, and
/// otherwise an empty string.
std::string_view state_of_word(verbs::Machine machine, std::string_view text);

}  // namespace iwarp::trace
