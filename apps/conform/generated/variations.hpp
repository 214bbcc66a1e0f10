// SPDX-License-Identifier: Apache-2.0
// A table of values for the fields of a sample: values at, below and above the limits of a field,
// and reserved values. The limits are computed from the Progress of the session.
#pragma once

#include <span>
#include <string_view>

#include "conform/generated/sample.hpp"

namespace iwarp::apps::conform::generated {

/// The messages to which a Variation applies: the messages that contain the field that it changes.
enum class Scope : std::uint8_t { kAny, kUntagged, kTagged, kSend, kRead, kTerminate };

struct Variation {
  Scope scope;
  std::string_view field;         ///< name of the field, for example "MSN"
  std::string_view value;         ///< name of the value, for example "next+1"
  std::string_view requirements;  ///< requirement rows about the field, separated by blanks
  void (*apply)(Sample&, const Progress&);
};

std::span<const Variation> all_variations();
bool applies(const Variation& variation, rdmap::Opcode opcode);

}  // namespace iwarp::apps::conform::generated
