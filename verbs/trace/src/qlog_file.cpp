// SPDX-License-Identifier: Apache-2.0
// QlogFile: writes the first record, which says when the log began, and then whole records. After
// the first error it writes no more, and error() returns that error.
#include "iwarp/trace/qlog_file.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <system_error>
#include <utility>

namespace iwarp::trace {
namespace {

constexpr char kRecordSeparator = '\x1E';

std::string log_failure(const std::string& path, int error) {
  return fmt::format("cannot write the qlog file {}: {}", path,
                     std::generic_category().message(error));
}

/// Formats a time in the form of RFC 3339, with microseconds.
std::string date_time(std::chrono::system_clock::time_point at) {
  using std::chrono::microseconds;
  const auto micros =
      std::chrono::duration_cast<microseconds>(at.time_since_epoch()).count() % 1'000'000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", std::chrono::floor<std::chrono::seconds>(at),
                     micros);
}

/// Returns the first record. It contains the time of day at which the log began, and says that the
/// times of events come from the steady clock of the connections, which never goes back.
std::string preamble(const CaptureClock& clock) {
  return fmt::format(
      R"({{"file_schema":"urn:ietf:params:qlog:file:sequential",)"
      R"("serialization_format":"application/qlog+json-seq","title":"iWARP connections",)"
      R"("trace":{{"vantage_point":{{"type":"unknown"}},)"
      R"("event_schemas":["urn:uuid:6f0fbdc5-7f4e-4d1c-9a58-1f2c1b7a51f0#iwarp-1"],)"
      R"("common_fields":{{"time_format":"relative_to_epoch","reference_time":)"
      R"({{"clock_type":"monotonic","epoch":"unknown","wall_clock_time":"{}"}}}}}}}})",
      date_time(clock.wall));
}

}  // namespace

struct QlogFile::State {
  State(std::string file, const CaptureClock& now) : path(std::move(file)), clock(now) {}
  ~State() {
    if (fd >= 0) ::close(fd);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::string path;
  CaptureClock clock;
  int fd = -1;
  mutable std::mutex mutex;
  std::string record;  ///< the record to write; a member so that its memory is reused
  off_t size = 0;      ///< number of octets of the whole records in the file
  int error = 0;       ///< errno of the first failure

  void write();
};

/// Writes the whole record. If that fails, removes the part that was written.
void QlogFile::State::write() {
  std::string_view text = record;
  while (!text.empty() && error == 0) {
    const auto n = ::write(fd, text.data(), text.size());
    if (n > 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (n == 0 || errno != EINTR) {
      error = n == 0 ? ENOSPC : errno;
    }
  }
  if (error == 0) {
    size += static_cast<off_t>(record.size());
  } else {
    // If the file is not a regular file, ftruncate() fails. A reader then notices the incomplete
    // record.
    [[maybe_unused]] const int done = ::ftruncate(fd, size);
  }
}

QlogFile::QlogFile(std::unique_ptr<State> state, Now now)
    : state_(std::move(state)), now_(std::move(now)) {}
QlogFile::~QlogFile() = default;

std::expected<std::shared_ptr<QlogFile>, std::string> QlogFile::create(const std::string& path,
                                                                       const CaptureClock& clock,
                                                                       Now now) {
  auto state = std::make_unique<State>(path, clock);
  constexpr int kMode = 0666;
  state->fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
  if (state->fd < 0) return std::unexpected(log_failure(path, errno));
  state->record = fmt::format("{}{}\n", kRecordSeparator, preamble(clock));
  state->write();
  if (state->error != 0) return std::unexpected(log_failure(path, state->error));
  return std::shared_ptr<QlogFile>(new QlogFile(std::move(state), std::move(now)));
}

void QlogFile::event(std::uint64_t group, std::string_view name, std::string_view data,
                     mpa::TimePoint at) {
  State& s = *state_;
  const std::chrono::duration<double, std::milli> time = at - s.clock.steady;
  const std::lock_guard lock(s.mutex);
  if (s.error != 0) return;
  s.record.clear();
  fmt::format_to(std::back_inserter(s.record),
                 R"({}{{"time":{:.6f},"name":"iwarp:{}","group_id":"{}","data":{}}})",
                 kRecordSeparator, time.count(), name, group, data);
  s.record += '\n';
  s.write();
}

std::string QlogFile::error() const {
  const std::lock_guard lock(state_->mutex);
  return state_->error == 0 ? std::string() : log_failure(state_->path, state_->error);
}

}  // namespace iwarp::trace
