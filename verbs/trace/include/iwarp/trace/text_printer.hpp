// SPDX-License-Identifier: Apache-2.0
// TextPrinter: a tap that shows each frame of a connection as four indented layers, MPA, DDP, RDMAP
// and verbs, the last in the words of a verbs programmer. For learning and for finding faults; too
// slow for anything else. It does not interpret what it cannot see: whether a peer accepted a frame
// shows in what that peer sends next.
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

/// What TextPrinter shows, and how.
struct PrinterOptions {
  std::string near = "local";           ///< name of the end that is tapped
  std::string far = "peer";             ///< name of the other end
  bool colour = false;                  ///< ANSI colours: one for each direction, faults in red
  std::size_t max_payload = 16;         ///< payload octets shown of a frame; 0: none
  bool header_octets = false;           ///< also show each layer's own octets
  std::optional<mpa::TimePoint> start;  ///< time zero; if empty, when the first octets pass
};

/// Returns the layers of a frame under a heading.
std::string frame_text(const Frame& frame, std::string heading, const PrinterOptions& options);

/// Prints each frame of a connection as text. Called under the lock of the connection.
class TextPrinter final : public verbs::WireTap {
 public:
  /// Receives whole frames: a few lines, each with its line end. Called under the connection's
  /// lock.
  using Sink = std::function<void(std::string_view)>;

  /// Passes the text of each frame to `sink`.
  TextPrinter(PrinterOptions options, Sink sink);
  /// `out` must outlive this; it is flushed after each frame.
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
