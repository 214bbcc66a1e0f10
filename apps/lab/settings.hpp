// SPDX-License-Identifier: Apache-2.0
// The settings of a session, chosen before the ends connect, and their words: for example
// "revision=2" or "markers=both".
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
  std::uint32_t seed = 1;      ///< seed of the generator that draws the STags
  std::uint32_t revision = 2;  ///< MPA revision of the Request
  Ends crc = Ends::kBoth;      ///< the ends that request CRCs
  Ends markers = Ends::kNone;  ///< the ends that request markers in their inbound streams
  mpa::Rtr rtr = mpa::Rtr::kNone;
  /// Maximum size of a ULPDU in octets; 0: as large as a TCP segment permits.
  std::uint32_t ulpdu = 0;
  std::uint32_t receives = 4;  ///< number of Receives posted at each end before it connects

  bool operator==(const Settings&) const = default;
};

/// Sets the setting that `word` names, in the form "name=value". Fails with one line of text.
std::expected<void, std::string> set(Settings& settings, std::string_view word);
/// Returns all settings, joined by "+".
std::string to_words(const Settings& settings);
verbs::ConnectionOptions options_of(const Settings& settings, Side end);

}  // namespace iwarp::apps::lab
