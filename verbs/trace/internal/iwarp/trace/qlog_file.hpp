// SPDX-License-Identifier: Apache-2.0
// QlogFile: a log in the main schema of qlog, as JSON text sequences (RFC 7464), to which the taps
// of any number of connections write. Each record is written in one system call, so the file
// contains only whole records, unless the process is killed during such a call. If the disk has no
// room for all of a record, the incomplete record is removed. rfc-notes/qlog.md describes the
// events. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "iwarp/trace/capture_file.hpp"

namespace iwarp::trace {

class QlogFile {
 public:
  using Now = std::function<mpa::TimePoint()>;

  /// Creates or empties the file at `path` and writes the preamble. `now` returns the time for
  /// events that the caller reports without a time; QlogFile may call it in any thread. On failure
  /// returns one line that says what went wrong and where.
  static std::expected<std::shared_ptr<QlogFile>, std::string> create(const std::string& path,
                                                                      const CaptureClock& clock,
                                                                      Now now);
  ~QlogFile();
  QlogFile(const QlogFile&) = delete;
  QlogFile& operator=(const QlogFile&) = delete;

  /// Appends an event of the connection with the number `group`. `data` is a JSON object. After the
  /// first failure, does nothing.
  void event(std::uint64_t group, std::string_view name, std::string_view data, mpa::TimePoint at);
  mpa::TimePoint now() const { return now_(); }
  /// Returns the number for a new connection: 1 for the first one, then 2 and so on.
  std::uint64_t next_group() { return groups_.fetch_add(1) + 1; }

  /// Returns one line that describes the first failed write, after which nothing more is written.
  /// Returns an empty string if all writes have succeeded.
  std::string error() const;

 private:
  struct State;
  QlogFile(std::unique_ptr<State> state, Now now);

  std::unique_ptr<State> state_;
  Now now_;
  std::atomic<std::uint64_t> groups_{0};
};

}  // namespace iwarp::trace
