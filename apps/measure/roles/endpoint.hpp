// SPDX-License-Identifier: Apache-2.0
// Endpoint: one end of a measurement over RDMA: queue pairs ("lanes") with one completion queue,
// their memory, and the plan's way of waiting. Client and server synchronise by signals: small
// solicited Sends, ordered after the data that they are about.
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

/// The first byte of a message of the TCP baselines, and the kind of a signal.
enum class Mark : std::uint8_t {
  kData,   ///< TCP only
  kBegin,  ///< a phase begins; the server starts to count its own usage
  kRound,  ///< `count` Writes are in place, starting with number `first`: check them
  kEnd,    ///< a phase ends; `count` messages were sent on this lane in it
};

struct Signal {
  Mark mark = Mark::kData;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

struct Lane {
  std::uint64_t index = 0;
  std::vector<std::byte> data;  ///< a buffer per place; write-lat: one for each direction
  net::Memory data_memory;
  std::vector<std::byte> inbox;
  net::Memory inbox_memory;
  /// Destroyed first: the peer must see the end of the stream before the memory becomes invalid.
  net::QpHandle qp;
  Advert peer;  ///< the other end's data
  // Message numbers, over all phases.
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
  /// Closes all lanes in order.
  void disconnect();

  std::vector<Lane>& lanes() { return lanes_; }
  /// Waits as the plan says and returns a successful completion; the functions below decode its
  /// wr_id. Throws PeerGone, Interrupted, or Error if nothing completes for kTimeout.
  verbs::WorkCompletion wait();
  /// Returns a successful completion if there is one. Throws PeerGone or Interrupted.
  std::optional<verbs::WorkCompletion> poll();
  /// Call now and then while waiting by other means. Throws Interrupted, or Error after `deadline`.
  void check_time(Clock::time_point deadline);
  /// Calls `idle` while wait() has to wait, and in check_time().
  void on_idle(Idle idle) { idle_ = std::move(idle); }

  Lane& lane(const verbs::WorkCompletion& wc) { return lanes_[wc.wr_id >> 32]; }
  /// Returns how many messages a completion of the send queue covers.
  static std::uint64_t count(const verbs::WorkCompletion& wc) { return wc.wr_id & 0xFFFFFFFF; }
  /// Returns the message of a completed receive. Valid until repost().
  bytes::View message(const verbs::WorkCompletion& wc);
  /// Decodes a signal. Throws Error if the message is not one.
  Signal signal(const verbs::WorkCompletion& wc);
  void repost(const verbs::WorkCompletion& wc);

  /// Returns the buffer of message `number` in the memory of its lane.
  bytes::Span slot(Lane& lane, std::uint64_t number);
  /// write-lat: returns the buffer that the peer's Writes fill.
  bytes::Span target(Lane& lane) { return bytes::Span(lane.data).subspan(plan_.size); }
  /// Posts `count` messages. If `signaled`, the last one is signalled and has `count` in its wr_id.
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
  std::uint64_t receives_ = 0;       ///< posted per lane
  std::uint64_t receive_slots_ = 0;  ///< buffers for them
  std::uint64_t receive_size_ = 0;
  std::unique_ptr<net::Rnic> rnic_;
  std::optional<net::MetricsServer::Watch> watch_;
  std::unique_ptr<net::ProtectionDomain> pd_;
  std::unique_ptr<net::CompletionChannel> channel_;
  std::optional<Epoll> epoll_;  ///< on channel_, for Waiting::kEpoll
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
