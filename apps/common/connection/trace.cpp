// SPDX-License-Identifier: Apache-2.0
// Writes the capture file of --trace.
#include "common/connection/trace.hpp"

#include <cstdio>
#include <memory>

#include "common/base/error.hpp"
#include "iwarp/trace/trace_file.hpp"

namespace iwarp::apps {

namespace {

trace::Endpoint endpoint(const net::Address& address) { return {address.host, address.port}; }

/// Owns the trace file. The destructor prints a warning if the trace is incomplete.
struct Recorder {
  trace::TraceFile file;
  explicit Recorder(trace::TraceFile f) : file(std::move(f)) {}
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder() {
    if (const auto error = file.error(); !error.empty()) {
      std::fputs(("iwarp: the trace is cut short: " + error + "\n").c_str(), stderr);
    }
  }
};

}  // namespace

net::TapFactory make_tap_factory(const std::string& file) {
  if (file.empty()) return {};
  const trace::CaptureClock clock{std::chrono::system_clock::now(), mpa::Clock::now()};
  auto created = trace::TraceFile::create(file, clock, mpa::Clock::now);
  if (!created) throw Error(created.error());
  const auto recorder = std::make_shared<Recorder>(std::move(*created));
  return [recorder](const net::Address& local, const net::Address& peer, bool outgoing) {
    return recorder->file.tap({endpoint(local), endpoint(peer), outgoing});
  };
}

}  // namespace iwarp::apps
