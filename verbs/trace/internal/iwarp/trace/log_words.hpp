// SPDX-License-Identifier: Apache-2.0
// The words of the qlog events (rfc-notes/qlog.md) for enumerators, both ways, so that the writer
// and the reader of a log agree, and no other word of a file is ever shown.
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

/// Returns nullopt if no enumerator has that word.
template <typename Enum>
std::optional<Enum> of_word(std::string_view text) {
  for (unsigned i = 0;; ++i) {
    const auto known = word(static_cast<Enum>(i));
    if (known.empty()) return std::nullopt;
    if (known == text) return static_cast<Enum>(i);
  }
}

/// Returns the state of `machine` with this name, as a static string; empty if it has none.
std::string_view state_of_word(verbs::Machine machine, std::string_view text);

}  // namespace iwarp::trace
