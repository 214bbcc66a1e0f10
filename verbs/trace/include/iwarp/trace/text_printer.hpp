// SPDX-License-Identifier: Apache-2.0
// TextPrinter: a tap that shows each frame of a connection as four indented layers: MPA, DDP, RDMAP
// and verbs. The verbs layer says what the frame means to a verbs programmer. TextPrinter is for
// learning and for finding faults; it is too slow for other uses. It shows only octets on the wire,
// so only later frames of the peer show whether the peer has accepted a frame.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "iwarp/trace/stream_decoder.hpp"
#include "iwarp/verbs/wire_tap.hpp"

namespace iwarp::trace {

/// Options of TextPrinter.
struct PrinterOptions {
  std::string near = "local";    ///< name of the end that is tapped
  std::string far = "peer";      ///< name of the other end
  bool colour = false;           ///< use an ANSI colour for each direction, and red for faults
  std::size_t max_payload = 16;  ///< maximum number of payload octets shown per frame
  bool header_octets = false;    ///< also show the header octets of each layer
  std::optional<mpa::TimePoint> start{};  ///< time zero; if empty, the time of the first octets
};

/// Returns the text of a frame: `heading`, followed by the layers.
std::string frame_text(const Frame& frame, std::string heading, const PrinterOptions& options);

/// Prints each frame of a connection as text. The connection holds its lock when it calls a
/// WireTap.
class TextPrinter final : public verbs::WireTap {
 public:
  /// Receives the text of one frame: a few lines, each with a newline. Called with the connection's
  /// lock held.
  using Sink = std::function<void(std::string_view)>;

  /// Passes the text of each frame to `sink`.
  TextPrinter(PrinterOptions options, Sink sink);
  /// Writes the text of each frame to `out`, which must outlive this object, and flushes `out`.
  TextPrinter(PrinterOptions options, std::ostream& out);

  void octets(bool outbound, bytes::View octets, mpa::TimePoint now) override;
  void closed(bool outbound, bool reset, mpa::TimePoint now) override;

 private:
  void print(const Frame& frame);
  std::string heading(Side from, std::string_view what) const;
  void touch(mpa::TimePoint now);

  PrinterOptions options_;
  Sink sink_;
  StreamDecoder decoder_;
  mpa::TimePoint now_;
};

}  // namespace iwarp::trace
