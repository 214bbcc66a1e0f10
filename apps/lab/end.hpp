// SPDX-License-Identifier: Apache-2.0
// End: one end of the session, with its memory and the log of its application.
#pragma once

#include <array>
#include <expected>
#include <string>
#include <vector>

#include "iwarp/sim/end.hpp"
#include "lab/settings.hpp"

namespace iwarp::apps::lab {

using sim::TimePoint;

/// An entry of the log: a request that the application posted, or a notification that it received.
struct Event {
  TimePoint at;
  enum class Kind : std::uint8_t { kPost, kCompletion, kFailure, kNews } kind;
  std::string text;
};

/// A registered memory region. Its first octet has the same TO in each session.
struct Memory {
  const char* name;
  std::vector<std::byte> octets;
  verbs::Region* region = nullptr;
};

class End final : public sim::End {
 public:
  End(Side side, const Settings& settings, const TimePoint& clock);

  static constexpr std::uint32_t kWindow = 512, kReceive = 128, kReceives = 8;
  static constexpr std::uint16_t kReads = 16;

  /// Posts the work request of an action. If this fails, returns an error text of one line.
  std::expected<void, std::string> post(const Action& action, const End& peer);
  /// Processes pending events and completions: logs them, and accepts the connection when it is
  /// requested. Returns whether there were events or completions.
  bool look();
  /// Returns the memory regions in this order: the window, which the peer may access; the source of
  /// Sends and Writes; the sink of Reads; the inbox for received messages.
  const std::array<Memory, 4>& memory() const { return memory_; }
  const std::vector<Event>& log() const { return log_; }

  /// Leaves the resumption to wake(), so that Session::settle() looks at its results.
  void receive_posted() override { resume_soon(); }

 private:
  enum Which : std::uint8_t { kOwnWindow, kSource, kSink, kInbox };

  void make_memory(Which which, const char* name, std::size_t size, verbs::Access access);
  verbs::Sge piece(Which which, std::uint32_t offset, std::uint32_t length) const;
  verbs::RemoteAddress aim(const Action& action, std::uint32_t length) const;
  std::expected<verbs::Sge, std::string> source(const Action& action);
  std::error_code post_receive();
  std::string described(const verbs::WorkCompletion& wc) const;
  void note(Event::Kind kind, std::string text);

  Side side_;
  std::array<Memory, 4> memory_;
  std::vector<std::string> posts_;  ///< name of each work request, by its wr_id
  std::vector<Event> log_;
  std::uint32_t receives_ = 0;
  bool is_over_ = false;  ///< whether the connection has ended or failed
};

}  // namespace iwarp::apps::lab
