// SPDX-License-Identifier: Apache-2.0
// Decides which frames are reported to the user.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frames/connections/connections.hpp"

namespace iwarp::apps::frames {

struct Filter {
  std::uint64_t connection = 0;  ///< number of the connection to report; 0 means all connections
  std::string operation;         ///< one of operation_names(); empty means all operations
  bool errors = false;           ///< whether to report only errors and Terminates

  bool wants(const ConnectionInfo& info) const {
    return connection == 0 || connection == info.number;
  }
  bool wants(const ConnectionInfo& info, const Explained& frame) const;
  bool wants(const ConnectionInfo& info, const verbs::LocalEvent& event) const;
  bool wants(const SeenDatagram& seen) const {
    return connection == 0 && operation.empty() && (!errors || !seen.has_right_crc);
  }
  /// Returns whether the user wants ranges of octets that contain no frame.
  bool wants_skipped(const ConnectionInfo& info) const { return wants(info) && operation.empty(); }
  bool shows_all() const { return operation.empty() && !errors; }
};

/// Returns the name of the frame's operation: one of operation_names(), or "unknown" if its opcode
/// is undefined.
std::string_view operation_of(const Explained& frame);
/// Returns whether the frame violates a rule, ends the stream, or rejects the connection.
bool is_error(const Explained& frame);

/// Returns the operation names that --op accepts. A request and its response have the same name.
const std::vector<std::string>& operation_names();

}  // namespace iwarp::apps::frames
