// SPDX-License-Identifier: Apache-2.0
// Endpoint: one end of a measurement over RDMA: its queue pairs ("lanes") with one completion
// queue, their memory, and waiting as the plan wants it. Client and server keep in step with
// signals: small Sends with the solicited flag, in order behind the data they are about.
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

/// The first octet of a message of the TCP baselines, and what a signal is about.
enum class Mark : std::uint8_t {
  kData,   ///< TCP only
  kBegin,  ///< of a phase; the server starts to measure itself
  kRound,  ///< `count` Writes are in place, from number `first` on: check them
  kEnd,    ///< of a phase; so many messages were sent on this lane in it
};

struct Signal {
  Mark mark = Mark::kData;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

struct Lane {
  std::uint64_t index = 0;
  std::vector<std::byte> data;  ///< a message for each place; write-lat: one, and one from the peer
  net::Memory data_memory;
  std::vector<std::byte> inbox;
  net::Memory inbox_memory;
  net::QpHandle
      qp;       ///< goes first: before its memory is invalid, the peer has to be told of the end
  Advert peer;  ///< the other end's data
  // Numbers of messages, over all phases.
  std::uint64_t posted = 0;
  std::uint64_t done = 0;
  std::uint64_t received = 0;
};

class Endpoint {
 public:
  enum class Side : std::uint8_t { kClient, kServer };

  /// Makes the queue pairs and posts their receives.
  Endpoint(const Plan& plan, Side side);

  /// Connects all lanes, then swaps adverts over `control`.
  void connect(const net::Address& to, Control& control);
  /// Listens at `host`, tells the port over `control`, accepts all lanes, swaps adverts.
  void accept(const std::string& host, Control& control);
  /// Orderly, all lanes.
  void disconnect();

  std::vector<Lane>& lanes() { return lanes_; }
  /// One completion, which succeeded; what it is: wr_id through the functions below. Waits as the
  /// plan wants. PeerGone, Interrupted, Error: nothing came for kTimeout.
  verbs::WorkCompletion wait();
  /// The same without waiting. PeerGone, Interrupted.
  std::optional<verbs::WorkCompletion> poll();
  /// For whoever waits by other means, every now and then. Interrupted; Error: it is later than
  /// `deadline`.
  void check_time(Clock::time_point deadline);
  /// Calls `idle` while wait() has to wait, and in check_time().
  void on_idle(Idle idle) { idle_ = std::move(idle); }

  Lane& lane(const verbs::WorkCompletion& wc) { return lanes_[wc.wr_id >> 32]; }
  /// Of a send queue request: how many messages are complete with it.
  static std::uint64_t count(const verbs::WorkCompletion& wc) { return wc.wr_id & 0xFFFFFFFF; }
  /// Of a receive: what arrived. Valid until repost().
  bytes::View message(const verbs::WorkCompletion& wc);
  /// Error: not a signal.
  Signal signal(const verbs::WorkCompletion& wc);
  void repost(const verbs::WorkCompletion& wc);

  /// Message `number`'s place in the memory of its lane.
  bytes::Span slot(Lane& lane, std::uint64_t number);
  /// write-lat: where the peer's Writes arrive.
  bytes::Span target(Lane& lane) { return bytes::Span(lane.data).subspan(plan_.size); }
  /// Posts `count` messages, the last of them signalled (`count` in its wr_id) if `signaled`.
  void post(Lane& lane, std::uint64_t count, bool signaled);
  void send_signal(Lane& lane, const Signal& signal);
  /// Of a ping-pong: whether message `number` is to be signalled.
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
  std::uint64_t receive_slots_ = 0;  ///< different places for them
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
