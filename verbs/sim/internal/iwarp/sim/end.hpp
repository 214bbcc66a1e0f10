// SPDX-License-Identifier: Apache-2.0
// Driver: drives one connection without a socket: the caller moves the octets and advances the
// clock. End: a driver with everything else that a program needs for one connection.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "iwarp/verbs/connection.hpp"
#include "iwarp/verbs/memory.hpp"

namespace iwarp::sim {

using bytes::View;
using mpa::TimePoint;

/// The driver of a queue pair. A shared_ptr must own it, because a connected queue pair shares its
/// ownership; QueuePair::abort() ends that. Not thread-safe.
class Driver : public verbs::QpDriver {
 public:
  /// `stags` is the STag table of the queue pair, and `clock` is the time, which the caller
  /// advances. Both must outlive the driver.
  Driver(verbs::StagTable& stags, const TimePoint& clock) : now(clock), stags_(stags) {}

  /// Begins a connection of `qp`, observed by `tap`. An initiator then calls connect() of the
  /// connection; a responder waits for the Request.
  void open(mpa::Role role, verbs::QueuePair& qp, const verbs::ConnectionOptions& options);

  /// Sends at most `limit` octets: calls `put(View)` for each piece of them. Returns their number.
  template <typename Put>
  std::size_t transmit(std::size_t limit, Put&& put) {
    constexpr std::size_t kPieces = 256;
    const auto plan = connection->transmit_plan(kPieces, now);
    if (on_plan) on_plan();
    std::size_t n = 0;
    for (const View piece : plan) {
      const auto part = piece.first(std::min(piece.size(), limit - n));
      if (part.empty()) break;
      put(part);
      n += part.size();
    }
    if (n != 0) connection->transmitted(n, now);
    return n;
  }
  /// Delivers the first of these octets, as one read from a socket would. Returns how many octets
  /// the connection has taken: 0 if it does not read at present.
  std::size_t receive(View octets);
  /// Does what the queue pair leaves to another thread: ends the accesses of peers to invalidated
  /// memory, and resumes the stream. Returns whether it has resumed the stream.
  bool wake();
  /// Handles the timeout if it is due. Returns whether it was.
  bool expire();

  // Implements verbs::QpDriver.
  void receive_posted() override { connection->resume(now); }
  void resume_soon() override { resume_due_ = true; }
  void break_pins(verbs::Stag stag) override { to_break_.push_back(stag); }
  void disconnect() override { connection->disconnect(now); }
  void terminate() override;
  void abort() override { connection->abort(); }

  const TimePoint& now;
  std::unique_ptr<verbs::Connection> connection;  ///< null before open()
  std::unique_ptr<verbs::WireTap> tap;            ///< may be null; takes effect with open()
  /// If set, transmit() calls it while the octets to send are still in the application's memory.
  std::function<void()> on_plan;

 private:
  verbs::StagTable& stags_;
  bool resume_due_ = false;
  std::vector<verbs::Stag> to_break_;
};

/// One end of a connection: a driver, a queue pair and what the queue pair needs.
class End : public Driver {
 public:
  /// `seed` determines the STags. If `init` names no completion queue, the queue pair uses `cq`.
  /// `clock` must outlive the End.
  End(std::uint32_t seed, const TimePoint& clock, verbs::QpInit init = {});
  ~End() override;

  /// Begins a connection of the queue pair; see Driver::open().
  void open(mpa::Role role, const verbs::ConnectionOptions& options) {
    Driver::open(role, *qp, options);
  }
  /// Registers `octets` octets of zeroed memory, which live as long as the End, with guard octets
  /// before and after them. Only connections of `qp` may use the region if `only_for_qp` is set.
  verbs::Region* memory(std::size_t octets, verbs::Access access, bool only_for_qp = false);
  /// Returns whether all guard octets around memory() are unchanged.
  bool guards_intact() const;
  /// Polls `cq`: returns at most 256 completions.
  std::vector<verbs::WorkCompletion> completions();
  /// Returns the type of the next event of the connection, and sets `last_failure` to its failure.
  std::optional<verbs::ConnectionEvent::Type> event();

  verbs::StagTable stags;
  verbs::CompletionQueue cq;
  std::vector<verbs::AsyncEvent> async;
  std::unique_ptr<verbs::QueuePair> qp;
  std::optional<mpa::Failure> last_failure;
  int notifications = 0;            ///< number of notifications by `cq`
  std::function<void()> on_notify;  ///< if set, called with each notification

 private:
  std::deque<std::vector<std::byte>> blocks_;
};

/// Returns the part of `region` that begins at `offset`, for a request of the region's own end.
inline verbs::Sge sge(const verbs::Region* region, std::size_t offset, std::size_t length) {
  return {.address = region->address + offset,
          .length = static_cast<std::uint32_t>(length),
          .lkey = verbs::Stag{region->stag.load()}};
}
/// Returns the address of octet `offset` of `region`, for a request of the peer.
inline verbs::RemoteAddress remote(const verbs::Region* region, std::size_t offset = 0) {
  return {.rkey = verbs::Stag{region->stag.load()}, .to = region->to_base + offset};
}

}  // namespace iwarp::sim
