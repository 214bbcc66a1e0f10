// SPDX-License-Identifier: Apache-2.0
// Endpoint: one end of a measurement over RDMA: queue pairs ("lanes") with a common completion
// queue, their memory, and the way of waiting that the plan sets. Client and server synchronise by
// signals: small solicited Sends, which arrive after the data that precedes them.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "common/connection/advert.hpp"
#include "iwarp/net/metrics.hpp"
#include "iwarp/net/rnic.hpp"
#include "measure/basics/control.hpp"
#include "measure/basics/epoll.hpp"
#include "measure/basics/plan.hpp"
#include "usage/usage.hpp"

namespace iwarp::apps::measure {

using usage::Observed;

/// The kind of a signal; in the TCP baselines, also the first byte of each message.
enum class Mark : std::uint8_t {
  kData,   ///< data; used by the TCP baselines only
  kBegin,  ///< a phase begins, and the server starts to count its own usage
  /// `count` Writes beginning with number `first` are in place, and the server must check them.
  kRound,
  kEnd,  ///< a phase ends, in which `count` messages were sent on this lane
};

struct Signal {
  Mark mark = Mark::kData;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

struct Lane {
  std::uint64_t index = 0;
  std::vector<std::byte> data;  ///< a buffer for each place; for write-lat, one for each direction
  net::Memory data_memory;
  std::vector<std::byte> inbox;
  net::Memory inbox_memory;
  /// Declared after the memory, so that it is destroyed before it: the peer must see the end of the
  /// stream before the memory becomes invalid.
  net::QpHandle qp;
  Advert peer;  ///< advert of the other end's data
  // Numbers of messages, counted over all phases.
  std::uint64_t posted = 0;
  std::uint64_t done = 0;
  std::uint64_t received = 0;
};

class Endpoint {
 public:
  enum class Side : std::uint8_t { kClient, kServer };

  /// Creates the queue pairs and posts their receives.
  Endpoint(const Plan& plan, Side side);

  /// Connects all lanes, then exchanges adverts over `control`.
  void connect(const net::Address& to, Control& control);
  /// Listens at `host`, sends the port over `control`, accepts all lanes, and exchanges adverts.
  void accept(const std::string& host, Control& control);
  /// Disconnects all lanes; each sends its posted messages first.
  void disconnect();

  std::vector<Lane>& lanes() { return lanes_; }
  /// Waits in the way that the plan sets, and returns a successful completion; the functions below
  /// decode its wr_id. Throws PeerGone, Interrupted, or Error if nothing completes in time.
  verbs::WorkCompletion wait();
  /// Returns a successful completion, or nullopt if there is none yet. Throws PeerGone or
  /// Interrupted.
  std::optional<verbs::WorkCompletion> poll();
  /// Call from time to time while waiting in another way. Throws Interrupted, or Error after
  /// `deadline`.
  void check_time(Clock::time_point deadline);
  /// Sets a function that is called while wait() has to wait, and by check_time().
  void on_idle(Idle idle) { idle_ = std::move(idle); }

  Lane& lane(const verbs::WorkCompletion& wc) { return lanes_[wc.wr_id >> 32]; }
  /// Returns how many messages a completion of the send queue stands for.
  static std::uint64_t count(const verbs::WorkCompletion& wc) { return wc.wr_id & 0xFFFFFFFF; }
  /// Returns the message of a completed receive. It is valid until repost().
  bytes::View message(const verbs::WorkCompletion& wc);
  /// Decodes a signal. Throws Error if the message is not a signal.
  Signal signal(const verbs::WorkCompletion& wc);
  void repost(const verbs::WorkCompletion& wc);

  /// Returns the buffer of message `number` in the memory of its lane.
  bytes::Span slot(Lane& lane, std::uint64_t number);
  /// For write-lat: returns the buffer to which the peer writes.
  bytes::Span target(Lane& lane) { return bytes::Span(lane.data).subspan(plan_.size); }
  /// Posts `count` messages. If `signaled` is true, the last one is signalled and its wr_id
  /// contains `count`.
  void post(Lane& lane, std::uint64_t count, bool signaled);
  void send_signal(Lane& lane, const Signal& signal);
  /// Returns whether message `number` of a ping-pong is signalled.
  bool signals(std::uint64_t number) const;

  Observed observed() const;

 private:
  Lane make_lane(std::uint64_t index);
  void post_receive(Lane& lane, std::uint64_t slot);
  void request(Lane& lane, std::uint64_t number, verbs::SendWr& wr, verbs::Sge& sge);
  void accept_request(net::ConnectRequest& request);
  net::CmEvent next_event(Clock::time_point deadline);
  void swap_adverts(Control& control);
  void sleep(Clock::time_point deadline);

  const Plan& plan_;
  std::uint64_t receives_ = 0;       ///< number of receives posted per lane
  std::uint64_t receive_slots_ = 0;  ///< number of buffers for these receives
  std::uint64_t receive_size_ = 0;
  std::unique_ptr<net::Rnic> rnic_;
  std::optional<net::MetricsServer::Watch> watch_;
  std::unique_ptr<net::ProtectionDomain> pd_;
  std::unique_ptr<net::CompletionChannel> channel_;
  std::optional<Epoll> epoll_;  ///< epoll on channel_, for Waiting::kEpoll
  net::CmChannelHandle cm_;
  net::CqHandle cq_;
  std::vector<Lane> lanes_;
  std::array<verbs::WorkCompletion, 64> batch_;
  std::span<verbs::WorkCompletion> fresh_;
  std::uint64_t sleeps_ = 0;
  Idle idle_;
  std::vector<verbs::SendWr> requests_;
  std::vector<verbs::Sge> sges_;
};

}  // namespace iwarp::apps::measure
