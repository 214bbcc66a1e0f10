// SPDX-License-Identifier: Apache-2.0
// QlogReader: reads a log in the main schema of qlog, as JSON text sequences (RFC 7464). Any
// program may have written the log. Records in this stack's name space (rfc-notes/qlog.md) become
// events of connections. Each record that is ignored is reported, with its position. The file is
// not trusted: records have a maximum size and depth, numbers have bounds, and unknown words are
// ignored. The caller opens and reads the file.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "frames/connections/logged_connections.hpp"

namespace iwarp::apps::frames {

class QlogReader {
 public:
  /// Called with each complaint: one line of printable text, without the line end.
  using Complain = std::function<void(const std::string&)>;

  /// Creates a reader. `listener` and `counts` must outlive it; see LoggedConnections.
  QlogReader(ConnectionListener& listener, Connections::Counts& counts, Complain complain);

  /// Processes the next octets of the file. The caller may split the file at any position.
  void octets(std::string_view octets);
  /// Ends the file. Returns false if any record was ignored; `complain` has reported the reason.
  bool finish();

  /// Maximum size of a record in octets. The largest FPDU needs about half of it.
  static constexpr std::size_t kMaxRecord = 256 * 1024;
  static constexpr int kMaxDepth = 32;
  /// Maximum number of complaints that are reported. Further complaints are only counted.
  static constexpr std::uint64_t kMaxComplaints = 20;

 private:
  void end_record();
  const char* record(std::string_view text);
  const char* header(const nlohmann::json& header);
  const char* event(const nlohmann::json& event);
  const char* known_event(std::string_view name, const std::string& group,
                          const nlohmann::json& data);
  void leave_out(const std::string& why);

  LoggedConnections connections_;
  Connections::Counts& counts_;
  Complain complain_;
  std::string record_;          ///< the part of the current record that has been read
  bool in_record_ = false;      ///< whether the first record separator of the file has been read
  bool too_long_ = false;       ///< whether the current record exceeds kMaxRecord
  std::uint64_t number_ = 0;    ///< number of the current record, from 1
  std::uint64_t offset_ = 0;    ///< offset of the next octet in the file
  std::uint64_t begin_ = 0;     ///< offset of the current record
  std::uint64_t left_out_ = 0;  ///< number of records that were ignored
  std::uint64_t foreign_ = 0;   ///< number of events that belong to other name spaces
  std::string first_foreign_;
  std::uint64_t events_ = 0;
  bool has_header_ = false;
  bool relative_to_previous_ = false;
  std::int64_t start_ = 0;  ///< the origin of the event times, in nanoseconds since 1970
  double time_ = 0;         ///< time of the previous event, in milliseconds since `start_`
  std::string group_;       ///< group_id for events that do not have their own
  PacketMark mark_;
};

}  // namespace iwarp::apps::frames
