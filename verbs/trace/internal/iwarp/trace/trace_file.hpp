// SPDX-License-Identifier: Apache-2.0
// TraceFile: what --trace FILE writes. The file's name selects the format: a log (QlogFile) for
// .qlog and .sqlog, otherwise a capture (CaptureFile). Thread-safe.
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
  /// On failure returns one line that says what went wrong and where.
  static std::expected<TraceFile, std::string> create(const std::string& path,
                                                      const CaptureClock& clock, QlogFile::Now now);

  /// Makes a tap for one connection, which keeps the file open.
  std::unique_ptr<verbs::WireTap> tap(const CaptureEnds& ends) const;
  /// Makes a tap for one datagram queue pair, which keeps the file open.
  std::shared_ptr<verbs::DatagramTap> datagram_tap() const;
  /// Returns an empty string while all writes succeed, afterwards one line: the trace ends at the
  /// failure.
  std::string error() const;

  static bool names_log(std::string_view path);

 private:
  std::shared_ptr<CaptureFile> capture_;  ///< null for a log
  std::shared_ptr<QlogFile> log_;
};

}  // namespace iwarp::trace
