// SPDX-License-Identifier: Apache-2.0
#include "iwarp/trace/trace_file.hpp"

#include <utility>

#include "iwarp/trace/qlog_tap.hpp"

namespace iwarp::trace {

bool TraceFile::names_log(std::string_view path) {
  return path.ends_with(".qlog") || path.ends_with(".sqlog");
}

std::expected<TraceFile, std::string> TraceFile::create(const std::string& path,
                                                        const CaptureClock& clock,
                                                        QlogFile::Now now) {
  TraceFile out;
  if (names_log(path)) {
    auto log = QlogFile::create(path, clock, std::move(now));
    if (!log) return std::unexpected(log.error());
    out.log_ = std::move(*log);
    out.frames_ = !path.ends_with(".work.qlog");
  } else {
    auto capture = CaptureFile::create(path, clock);
    if (!capture) return std::unexpected(capture.error());
    out.capture_ = std::move(*capture);
  }
  return out;
}

std::unique_ptr<verbs::WireTap> TraceFile::tap(const CaptureEnds& ends) const {
  if (log_ != nullptr) return std::make_unique<QlogTap>(log_, ends, frames_);
  return std::make_unique<CaptureTap>(capture_, ends);
}

std::shared_ptr<verbs::DatagramTap> TraceFile::datagram_tap() const {
  if (log_ != nullptr) return log_datagrams(log_);
  return capture_datagrams(capture_);
}

std::string TraceFile::error() const { return log_ != nullptr ? log_->error() : capture_->error(); }

}  // namespace iwarp::trace
