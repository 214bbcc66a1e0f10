// SPDX-License-Identifier: Apache-2.0
// TraceFile: what --trace FILE writes, in the format that the file's name asks for: .qlog and
// .sqlog a log (QlogFile), anything else a capture (CaptureFile). Thread safe.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "iwarp/trace/capture_tap.hpp"
#include "iwarp/trace/qlog_file.hpp"
#include "iwarp/verbs/datagram_tap.hpp"

namespace iwarp::trace {

class TraceFile {
 public:
  /// Error: one line that says what went wrong and where.
  static std::expected<TraceFile, std::string> create(const std::string& path,
                                                      const CaptureClock& clock, QlogFile::Now now);

  /// For one connection; keeps the file open.
  std::unique_ptr<verbs::WireTap> tap(const CaptureEnds& ends) const;
  /// For one queue pair of datagrams; the same.
  std::shared_ptr<verbs::DatagramTap> datagram_tap() const;
  /// Empty while all went well, else one line: the trace ends where it happened.
  std::string error() const;

  static bool names_log(std::string_view path);

 private:
  std::shared_ptr<CaptureFile> capture_;  ///< one of the two
  std::shared_ptr<QlogFile> log_;
};

}  // namespace iwarp::trace
