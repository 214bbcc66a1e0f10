// SPDX-License-Identifier: Apache-2.0
// ReportingFlow: reports the frames of one connection to a listener. The connection may come from a
// capture or from a log.
#pragma once

#include <array>
#include <optional>

#include "frames/connections/connections.hpp"

namespace iwarp::apps::frames {

struct ReportingFlow {
  ConnectionInfo info;
  std::optional<Session> session;  ///< set once a frame has been found
  std::array<std::optional<Skipped>, 2> skipped;
  std::optional<Side> first_ended;
  PacketMark mark;  ///< packet whose octets are being decoded

  static std::size_t index(Side side) { return static_cast<std::size_t>(side); }

  /// Adds octets that belong to no frame. Adjacent octets are reported together, before the next
  /// frame of that side or when the connection closes.
  void skip(const Frame& frame) {
    if (session) session->see(frame);
    auto& gap = skipped[index(frame.from)];
    if (!gap) {
      gap = Skipped{.from = frame.from, .offset = frame.offset, .why = frame.why, .mark = mark};
    }
    gap->octets += frame.octets.size() + (frame.octets.empty() ? frame.missing : 0);
    gap->missing += frame.missing;
  }
  void report_skipped(ConnectionListener& listener, Side side) {
    auto& gap = skipped[index(side)];
    if (gap && session) listener.skipped(info, *gap);
    gap.reset();
  }
  /// Reports a frame to the listener. `session` must be set.
  void tell(ConnectionListener& listener, const Frame& frame) {
    const auto i = index(frame.from);
    report_skipped(listener, frame.from);
    const bool startup = frame.kind == FrameKind::kStartup;
    info.startup_seen[i] = info.startup_seen[i] || startup;
    info.rejected = info.rejected || (startup && frame.startup.rejected &&
                                      frame.startup.kind == mpa::FrameKind::kReply);
    info.guessed[i] = !startup && frame.guessed;
    ++info.frames[i];
    listener.frame(info, session->see(frame), mark);
  }
  void report_closed(ConnectionListener& listener, Closing how,
                     const std::array<TcpReassembly::Counts, 2>& tcp) {
    for (const Side side : {Side::kNear, Side::kFar}) report_skipped(listener, side);
    if (!session) return;
    Closed closed{.how = how, .first = first_ended.value_or(Side::kNear), .tcp = tcp};
    for (const Side side : {Side::kNear, Side::kFar}) {
      closed.unanswered[index(side)] = session->unanswered(side);
    }
    listener.closed(info, closed, mark);
  }
};

}  // namespace iwarp::apps::frames
