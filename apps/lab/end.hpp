// SPDX-License-Identifier: Apache-2.0
// End: one end of the session, with its memory, its queues, its connection, and the log of its
// application.
#pragma once

#include <array>
#include <expected>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "iwarp/verbs/connection.hpp"
#include "iwarp/verbs/memory.hpp"
#include "lab/settings.hpp"

namespace iwarp::apps::lab {

using mpa::TimePoint;

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

class End final : public verbs::QpDriver {
 public:
  End(Side side, const Settings& settings);
  ~End() override = default;

  static constexpr std::uint32_t kWindow = 512, kReceive = 128, kReceives = 8;
  static constexpr std::uint16_t kReads = 16;

  /// Posts the work request of an action. If this fails, returns an error text of one line.
  std::expected<void, std::string> post(const Action& action, const End& peer, TimePoint now);
  /// Processes pending events and completions: logs them, and accepts the connection when it is
  /// requested. Returns whether there were events or completions.
  bool look(TimePoint now);
  /// Resumes the connection if pins were released or Receives were posted since the last call.
  /// Returns whether it resumed the connection.
  bool resume(TimePoint now);
  void note(TimePoint at, Event::Kind kind, std::string text);

  verbs::Connection& connection() { return *connection_; }
  const verbs::Connection& connection() const { return *connection_; }
  verbs::QueuePair& qp() { return *qp_; }
  const verbs::QueuePair& qp() const { return *qp_; }
  /// Returns the memory regions in this order: the window, which the peer may access; the source of
  /// Sends and Writes; the sink of Reads; the inbox for received messages.
  const std::array<Memory, 4>& memory() const { return memory_; }
  const std::vector<Event>& log() const { return log_; }

  // Implementation of verbs::QpDriver.
  bool posted(verbs::Doorbell) override { return false; }
  void receive_posted() override { resume_due_ = true; }
  void resume_soon() override { resume_due_ = true; }
  void break_pins(verbs::Stag stag) override { to_break_.push_back(stag); }
  void disconnect() override { connection_->disconnect(now_); }
  void terminate() override { connection_->abort(now_); }
  void abort() override { connection_->abort(now_); }

 private:
  enum Which : std::uint8_t { kOwnWindow, kSource, kSink, kInbox };

  void make_memory(Which which, const char* name, std::size_t size, verbs::Access access);
  verbs::Sge piece(Which which, std::uint32_t offset, std::uint32_t length) const;
  verbs::RemoteAddress aim(const Action& action, std::uint32_t length) const;
  std::expected<verbs::Sge, std::string> source(const Action& action);
  std::error_code post_receive();
  std::string told(const verbs::WorkCompletion& wc) const;

  Side side_;
  std::mt19937 random_;
  verbs::StagTable stags_;
  verbs::CompletionQueue cq_;
  std::array<Memory, 4> memory_;
  std::unique_ptr<verbs::QueuePair> qp_;
  std::unique_ptr<verbs::Connection> connection_;
  std::vector<std::string> posts_;  ///< name of each work request, by its wr_id
  std::vector<verbs::AsyncEvent> async_;
  std::vector<verbs::Stag> to_break_;
  std::vector<Event> log_;
  std::uint32_t receives_ = 0;
  bool resume_due_ = false;
  bool is_over_ = false;  ///< whether the connection has ended or failed
  TimePoint now_;
};

}  // namespace iwarp::apps::lab
