// SPDX-License-Identifier: Apache-2.0
// Capture files for --trace.
#include "common/trace.hpp"

#include <cstdio>
#include <memory>

#include "common/error.hpp"
#include "iwarp/trace/capture_file.hpp"
#include "iwarp/trace/capture_tap.hpp"

namespace iwarp::apps {

namespace {

trace::Endpoint endpoint(const net::Address& address) { return {address.host, address.port}; }

/// Says at the end when the capture is not whole.
struct Recorder {
  std::shared_ptr<trace::CaptureFile> file;
  explicit Recorder(std::shared_ptr<trace::CaptureFile> f) : file(std::move(f)) {}
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder() {
    if (const auto error = file->error(); !error.empty()) {
      std::fputs(("iwarp: the trace is cut short: " + error + "\n").c_str(), stderr);
    }
  }
};

}  // namespace

net::TapFactory make_tap_factory(const std::string& file) {
  if (file.empty()) return {};
  const trace::CaptureClock clock{std::chrono::system_clock::now(), mpa::Clock::now()};
  auto capture = trace::CaptureFile::create(file, clock);
  if (!capture) throw Error(capture.error());
  const auto recorder = std::make_shared<Recorder>(*capture);
  return [recorder](const net::Address& local, const net::Address& peer, bool outgoing) {
    return std::make_unique<trace::CaptureTap>(
        recorder->file, trace::CaptureEnds{endpoint(local), endpoint(peer), outgoing});
  };
}

}  // namespace iwarp::apps
