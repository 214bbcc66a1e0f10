// SPDX-License-Identifier: Apache-2.0
// A log in the main schema of qlog, as JSON text sequences (RFC 7464), whoever wrote it: of its
// records those of our name space (rfc-notes/qlog.md) become events of connections. What is left
// out is said, with its place. Nothing of a file is trusted: a record has a largest size and depth,
// numbers have bounds, words are ours or unknown. Opens no file.
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
  /// Takes one line, printable, without its line end.
  using Complain = std::function<void(const std::string&)>;

  /// `listener` and `counts` outlive this; see LoggedConnections.
  QlogReader(ConnectionListener& listener, Connections::Counts& counts, Complain complain);

  /// The next octets of the file, cut anywhere.
  void octets(std::string_view octets);
  /// The file has ended. False: something of it was left out, and what was said.
  bool finish();

  static constexpr std::size_t kMaxRecord = 256 * 1024;  ///< the largest FPDU takes half of it
  static constexpr int kMaxDepth = 32;
  static constexpr std::uint64_t kMaxComplaints = 20;  ///< then they are counted only

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
  std::string record_;          ///< what there is of it
  bool in_record_ = false;      ///< behind the first record separator
  bool too_long_ = false;       ///< the record that comes now
  std::uint64_t number_ = 0;    ///< of the record, from 1
  std::uint64_t offset_ = 0;    ///< of the octets that come next, in the file
  std::uint64_t begin_ = 0;     ///< of the record
  std::uint64_t left_out_ = 0;  ///< records
  std::uint64_t foreign_ = 0;   ///< of other name spaces
  std::string first_foreign_;
  std::uint64_t events_ = 0;
  bool has_header_ = false;
  bool relative_to_previous_ = false;
  std::int64_t start_ = 0;  ///< nanoseconds since 1970
  double time_ = 0;         ///< milliseconds since then
  std::string group_;       ///< of events that have none
  PacketMark mark_;
};

}  // namespace iwarp::apps::frames
