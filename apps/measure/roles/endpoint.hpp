// SPDX-License-Identifier: Apache-2.0
// Endpoint: one end of a measurement over RDMA. It has queue pairs ("lanes") with a common
// completion queue, their memory, and the way of waiting that the plan specifies. The client and
// the server synchronise by signals: small solicited Sends, which arrive after the data that
// precedes them.
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

/// The kind of a signal: a small Send by which client and server synchronise. In the TCP baselines,
/// the first byte of each message also has this type.
enum class Mark : std::uint8_t {
  kData,   ///< data; only used by the TCP baselines
  kBegin,  ///< a phase begins; the server starts to count its own usage
  /// `count` Writes have been placed, starting with message number `first`; the server must check
  /// them.
  kRound,
  kEnd,  ///< a phase ends; `count` messages were sent on this lane in the phase
};

struct Signal {
  Mark mark = Mark::kData;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

struct Lane {
  std::uint64_t index = 0;
  /// Message buffers: plan.places() of them or, for write-lat, one for each direction.
  std::vector<std::byte> data;
  net::Memory data_memory;
  std::vector<std::byte> inbox;
  net::Memory inbox_memory;
  /// Must be declared after the memory, so that it is destroyed first: the peer must see the end of
  /// the stream before the memory becomes invalid.
  net::QpHandle qp;
  Advert peer;  ///< advert of the other end's memory
  // Message numbers, which continue across all phases.
  std::uint64_t posted = 0;
  std::uint64_t done = 0;
  std::uint64_t received = 0;
  std::uint64_t begun = 0;  ///< server: `received` when the phase began
};

class Endpoint {
 public:
  enum class Side : std::uint8_t { kClient, kServer };

  /// Creates the queue pairs and posts their receives.
  Endpoint(const Plan& plan, Side side);

  /// Connects the queue pairs of all lanes, and then exchanges adverts over `control`.
  void connect(const net::Address& to, Control& control);
  /// Listens at `host`, sends the port over `control`, accepts all lanes, and exchanges adverts.
  void accept(const std::string& host, Control& control);
  /// Disconnects all lanes. Each lane first sends all messages that were posted.
  void disconnect();

  std::vector<Lane>& lanes() { return lanes_; }
  /// Waits, in the way that the plan specifies, until a request has completed successfully. Returns
  /// the completion; the functions below decode its wr_id. Throws PeerGone, Interrupted, or Error
  /// if nothing completes in time.
  verbs::WorkCompletion wait();
  /// Returns a successful completion, or nullopt if there is none at the moment. Throws PeerGone or
  /// Interrupted.
  std::optional<verbs::WorkCompletion> poll();
  /// For write-lat: returns whether the peer's message `number` has arrived in target(). Polls the
  /// last byte, which becomes visible last. Throws Interrupted on a stop
  /// signal, or Error after kTimeout without a message.
  bool has_arrived(Lane& lane, std::uint64_t number);
  /// Sets a function that is called while wait() or has_arrived() waits.
  void on_idle(Idle idle) { idle_ = std::move(idle); }

  Lane& lane(const verbs::WorkCompletion& wc) { return lanes_[wc.wr_id >> 32]; }
  /// Returns the number of messages to which a completion of the send queue refers, or the number
  /// of the receive.
  static std::uint64_t count(const verbs::WorkCompletion& wc) { return wc.wr_id & 0xFFFFFFFF; }
  /// Returns the message that a completed receive contains. It is valid until repost() is called.
  bytes::View message(const verbs::WorkCompletion& wc) {
    return bytes::View(lane(wc).inbox)
        .subspan(count(wc) % receive_slots_ * receive_size_, wc.byte_len);
  }
  /// Decodes a signal. Throws Error if the message is not a signal.
  Signal signal(const verbs::WorkCompletion& wc);
  void repost(const verbs::WorkCompletion& wc) { post_receive(lane(wc), count(wc)); }

  /// Returns the buffer of message `number` in the memory of its lane.
  bytes::Span slot(Lane& lane, std::uint64_t number) {
    return bytes::Span(lane.data).subspan(number % plan_.places() * plan_.size, plan_.size);
  }
  /// For write-lat: returns the buffer into which the peer writes.
  bytes::Span target(Lane& lane) { return bytes::Span(lane.data).subspan(plan_.size); }
  /// Posts `count` messages. The last one is signaled, and its wr_id contains `count`; in a
  /// ping-pong, only that of some messages is.
  void post(Lane& lane, std::uint64_t count);
  void send_signal(Lane& lane, const Signal& signal);

  Observed observed() const;
  /// Returns the TCP congestion control of the first connection. Call after connect() or accept().
  std::string congestion() const {
    const auto connections = rnic_->statistics().connections;
    return connections.empty() ? "" : connections.front().congestion;
  }

 private:
  Lane make_lane(std::uint64_t index);
  void post_receive(Lane& lane, std::uint64_t slot);
  void swap_adverts(Control& control);
  void check_time(Clock::time_point deadline);
  void sleep(Clock::time_point deadline);

  const Plan& plan_;
  std::uint64_t receives_ = 0;       ///< number of receives that are posted per lane
  std::uint64_t receive_slots_ = 0;  ///< number of buffers that these receives share
  std::uint64_t receive_size_ = 0;
  std::unique_ptr<net::Rnic> rnic_;
  std::optional<net::MetricsServer::Watch> watch_;
  std::unique_ptr<net::ProtectionDomain> pd_;
  std::unique_ptr<net::CompletionChannel> channel_;
  std::optional<Epoll> epoll_;  ///< for Waiting::kEpoll: an epoll instance on channel_
  net::CmChannelHandle cm_;
  net::CqHandle cq_;
  std::vector<Lane> lanes_;
  std::array<verbs::WorkCompletion, 64> batch_;
  std::span<verbs::WorkCompletion> fresh_;
  std::uint64_t sleeps_ = 0;
  std::uint64_t looks_ = 0;  ///< number of looks of has_arrived() since the last message
  Clock::time_point arrival_deadline_;
  Idle idle_;
  verbs::SendFlags flags_ = verbs::SendFlags::kNone;  ///< flags of each request
  std::uint64_t signal_every_ = 1;
  std::vector<verbs::SendWr> requests_;
  std::vector<verbs::Sge> sges_;
};

}  // namespace iwarp::apps::measure
