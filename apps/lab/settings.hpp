// SPDX-License-Identifier: Apache-2.0
// The settings of a session, which are chosen before the ends connect. Each setting is also written
// as a word, for example "revision=2" or "markers=both".
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "iwarp/verbs/connection_options.hpp"
#include "lab/action.hpp"

namespace iwarp::apps::lab {

enum class Ends : std::uint8_t { kNone, kInitiator, kResponder, kBoth };

struct Settings {
  std::uint32_t seed = 1;      ///< seed of the random generator that chooses the STags
  std::uint32_t revision = 2;  ///< MPA revision of the Request
  Ends crc = Ends::kBoth;      ///< which ends request CRCs
  Ends markers = Ends::kNone;  ///< which ends request markers in their inbound streams
  mpa::Rtr rtr = mpa::Rtr::kNone;
  /// Maximum size of a ULPDU in octets. 0 means as large as a TCP segment permits.
  std::uint32_t ulpdu = 0;
  std::uint32_t receives = 4;  ///< number of Receives that each end posts before it connects

  bool operator==(const Settings&) const = default;
};

/// Sets the setting in `word`, which has the form "name=value". If this fails, returns an error
/// text of one line.
std::expected<void, std::string> set(Settings& settings, std::string_view word);
/// Returns all settings, joined by "+".
std::string to_words(const Settings& settings);
verbs::ConnectionOptions options_of(const Settings& settings, Side end);

}  // namespace iwarp::apps::lab
