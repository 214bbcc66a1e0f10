// SPDX-License-Identifier: Apache-2.0
// QlogFile: a log in the main schema of qlog, as JSON text sequences (RFC 7464), shared by the taps
// of any number of connections. Each record goes to the system in one call, so that the file has
// whole records whenever the process dies (a kill within that call cuts the last); a record that
// the disk has no room for is removed. rfc-notes/qlog.md describes the events. Thread-safe.
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

  /// Creates or empties the file at `path` and writes the preamble. `now` is the clock of events
  /// that have no time of their own; any thread calls it. On failure returns one line that says
  /// what went wrong and where.
  static std::expected<std::shared_ptr<QlogFile>, std::string> create(const std::string& path,
                                                                      const CaptureClock& clock,
                                                                      Now now);
  ~QlogFile();
  QlogFile(const QlogFile&) = delete;
  QlogFile& operator=(const QlogFile&) = delete;

  /// Appends an event of that group (a connection). `data` is a JSON object. Writes nothing more
  /// after the first failure.
  void event(std::uint64_t group, std::string_view name, std::string_view data, mpa::TimePoint at);
  mpa::TimePoint now() const { return now_(); }
  /// Returns a number for the next connection, from 1.
  std::uint64_t next_group() { return groups_.fetch_add(1) + 1; }

  /// Returns an empty string while all writes succeed, afterwards one line: the log ends at the
  /// failure.
  std::string error() const;

 private:
  struct State;
  QlogFile(std::unique_ptr<State> state, Now now);

  std::unique_ptr<State> state_;
  Now now_;
  std::atomic<std::uint64_t> groups_{0};
};

}  // namespace iwarp::trace
