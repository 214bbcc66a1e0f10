// SPDX-License-Identifier: Apache-2.0
// QlogTap: writes one connection into a QlogFile: its frames with their octets, as CaptureTap does,
// and the local events of its end (verbs/local_event.hpp), in the order in which they are reported.
#pragma once

#include <memory>
#include <string>

#include "iwarp/trace/capture_tap.hpp"
#include "iwarp/trace/qlog_file.hpp"
#include "iwarp/trace/stream_decoder.hpp"
#include "iwarp/verbs/local_event.hpp"
#include "iwarp/verbs/wire_tap.hpp"

namespace iwarp::trace {

/// A local event in the form of a log: its name, without the name space, and its data, a JSON
/// object.
struct QlogRecord {
  const char* name;
  std::string data;
};
QlogRecord qlog_record(const verbs::LocalEvent& event);

class QlogTap final : public verbs::WireTap {
 public:
  QlogTap(std::shared_ptr<QlogFile> file, const CaptureEnds& ends);
  /// Writes the octets of a frame that never became complete, too.
  ~QlogTap() override;

  void octets(bool outbound, bytes::View octets, mpa::TimePoint now) override;
  void closed(bool outbound, bool reset, mpa::TimePoint now) override;
  std::shared_ptr<verbs::LocalObserver> observer() override;

 private:
  void write(const Frame& frame);

  std::shared_ptr<QlogFile> file_;
  std::uint64_t group_;
  bool over_ = false;  ///< the connection was reset
  mpa::TimePoint now_;
  std::string data_;  ///< keeps its capacity
  StreamDecoder decoder_;
};

}  // namespace iwarp::trace
