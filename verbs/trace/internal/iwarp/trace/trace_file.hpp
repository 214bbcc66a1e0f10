// SPDX-License-Identifier: Apache-2.0
// TraceFile: the file that --trace FILE writes. Its name selects the format: a name that ends with
// .qlog or .sqlog selects a log (QlogFile), and any other name selects a capture (CaptureFile). A
// log whose name ends with .work.qlog contains no frames. Thread-safe.
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
  /// Creates or empties the file at `path`. On failure returns one line that says what went wrong
  /// and where.
  static std::expected<TraceFile, std::string> create(const std::string& path,
                                                      const CaptureClock& clock, QlogFile::Now now);

  /// Makes a tap for one connection. The tap keeps the file open.
  std::unique_ptr<verbs::WireTap> tap(const CaptureEnds& ends) const;
  /// Makes a tap for one datagram queue pair. The tap keeps the file open.
  std::shared_ptr<verbs::DatagramTap> datagram_tap() const;
  /// Returns one line that describes the first failed write, after which nothing more is written.
  /// Returns an empty string if all writes have succeeded.
  std::string error() const;

  /// Returns whether the suffix of `path` selects a log (.qlog or .sqlog) instead of a capture.
  static bool names_log(std::string_view path);

 private:
  std::shared_ptr<CaptureFile> capture_;  ///< null for a log
  std::shared_ptr<QlogFile> log_;
  bool frames_ = true;  ///< whether the log contains frames
};

/// Makes a tap that writes each datagram of a queue pair to `file`, in a UDP packet with made-up
/// Ethernet and IP headers.
std::shared_ptr<verbs::DatagramTap> capture_datagrams(std::shared_ptr<PacketSink> file);
/// Makes a tap that writes each datagram of a queue pair to `file`, as an event.
std::shared_ptr<verbs::DatagramTap> log_datagrams(std::shared_ptr<QlogFile> file);

}  // namespace iwarp::trace
