// SPDX-License-Identifier: Apache-2.0
// QlogTap: writes one connection to a QlogFile: the frames of both ends with their octets, and the
// local events of the tapped end (verbs/local_event.hpp), in the order in which they are reported.
#pragma once

#include <memory>
#include <string>

#include "iwarp/trace/capture_tap.hpp"
#include "iwarp/trace/qlog_file.hpp"
#include "iwarp/trace/stream_decoder.hpp"
#include "iwarp/verbs/local_event.hpp"
#include "iwarp/verbs/wire_tap.hpp"

namespace iwarp::trace {

/// A local event in the form that a log stores: the name without its name space, and the data as a
/// JSON object.
struct QlogRecord {
  const char* name;
  std::string data;
};
QlogRecord qlog_record(const verbs::LocalEvent& event);

class QlogTap final : public verbs::WireTap {
 public:
  /// If `frames` is false, writes only the local events.
  QlogTap(std::shared_ptr<QlogFile> file, const CaptureEnds& ends, bool frames = true);
  /// Writes the octets of a frame that is still incomplete.
  ~QlogTap() override;

  void octets(bool outbound, bytes::View octets, mpa::TimePoint now) override;
  void closed(bool outbound, bool reset, mpa::TimePoint now) override;
  std::shared_ptr<verbs::LocalObserver> observer() override;

 private:
  void write(const Frame& frame);

  std::shared_ptr<QlogFile> file_;
  std::uint64_t group_;
  const bool frames_;
  bool over_ = false;  ///< the connection was reset
  mpa::TimePoint now_;
  std::string data_;  ///< the data of one event; a member so that its memory is reused
  StreamDecoder decoder_;
};

}  // namespace iwarp::trace
