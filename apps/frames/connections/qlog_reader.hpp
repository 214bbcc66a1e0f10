// SPDX-License-Identifier: Apache-2.0
// QlogReader: reads a log in the main schema of qlog, as JSON text sequences (RFC 7464), from any
// writer. Turns its records in this stack's name space (rfc-notes/qlog.md) into events of
// connections. Reports what it leaves out, with its place. Trusts nothing in a file: records have a
// largest size and depth, numbers have bounds, and unknown words are ignored. Opens no file.
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
  /// Receives one line, printable, without its line end.
  using Complain = std::function<void(const std::string&)>;

  /// `listener` and `counts` must outlive this; see LoggedConnections.
  QlogReader(ConnectionListener& listener, Connections::Counts& counts, Complain complain);

  /// Reads the next octets of the file, cut anywhere.
  void octets(std::string_view octets);
  /// The file has ended. Returns false if any of it was left out, which has been reported.
  bool finish();

  static constexpr std::size_t kMaxRecord = 256 * 1024;  ///< the largest FPDU takes half of it
  static constexpr int kMaxDepth = 32;
  static constexpr std::uint64_t kMaxComplaints = 20;  ///< further ones are only counted

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
  std::string record_;          ///< the part read so far
  bool in_record_ = false;      ///< after the first record separator
  bool too_long_ = false;       ///< the current record
  std::uint64_t number_ = 0;    ///< of the current record, from 1
  std::uint64_t offset_ = 0;    ///< of the next octet in the file
  std::uint64_t begin_ = 0;     ///< offset of the current record
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
