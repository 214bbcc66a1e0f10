// SPDX-License-Identifier: Apache-2.0
// OutOfBand: connects queue pairs without the CM, for programs that exchange LID, GID and QPN
// themselves and then only call ibv_modify_qp() (ibv_rc_pingpong, perftest without -R). iWARP does
// not define how to connect such queue pairs. Between two programs that use this library, such a
// connection works, because the values that the programs exchange contain the address and the port
// of the peer (see bring_up/numbers.hpp and device/peer_address.hpp). IWARP_OOB sets which peers
// are allowed.
//
// As with InfiniBand, a queue pair can receive when it is in RTR, and send when it is in RTS. In
// RTR it waits for the peer to connect, and in RTS it also connects to the peer. If both ends
// connect, the request of the queue pair with the smaller number wins. A request is accepted only
// if it comes from the address of the peer's GID, goes to the address of this end's GID, and
// contains the numbers and PSNs of both queue pairs (decision 0028). In addition, its initiator
// must still be connected. An initiator that gets no answer retries.
#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "bring_up/bring_up_fsm.hpp"
#include "bring_up/numbers.hpp"
#include "bring_up/request.hpp"
#include "bring_up/unanswered.hpp"
#include "device/peer_address.hpp"
#include "iwarp/net/connection_manager.hpp"
#include "iwarp/verbs/queue_pair_port.hpp"
#include "qp/bring_up.hpp"

namespace iwarp::rdma_core {

class Core;
struct RcQp;

class OutOfBand final : public BringUp {
 public:
  OutOfBand(Core& core, const Settings& settings)
      : core_(core), peers_(settings.out_of_band), unanswered_(core, *this, settings) {}

  std::uint32_t take_number() override;
  void release_number(std::uint32_t number) override;
  int ready_to_receive(RcQp& qp, const ibv_qp_attr& attr) override;
  int ready_to_send(RcQp& qp, std::uint32_t sq_psn) override;
  void give_up(RcQp& qp) override;
  void limit_wait(verbs::QpNum num, std::chrono::nanoseconds limit) override {
    unanswered_.await(num, limit);
  }
  void end_wait(verbs::QpNum num) override { unanswered_.forget(num); }
  /// For each queue pair that has posted requests, waits until it is connected or has failed, or
  /// until one second after its step to RTS.
  void await_posted() override;

  TimePoint finish_turn() override { return unanswered_.check(); }

  // The dispatcher calls the functions below.
  /// Returns whether the request is for a queue pair that is connected without the CM. If it is,
  /// accepts the request, stores it for later, or drops it.
  bool takes_request(net::CmEvent& event);
  /// Handles an event of a queue pair that has no rdma_cm_id. Returns which completions of the
  /// queue pair may be pushed to its completion queues.
  verbs::Announce happened(RcQp& qp, const net::CmEvent& event);
  /// Logs why the connection of a queue pair without an rdma_cm_id ended, unless the reason was
  /// already logged.
  void log_end(const RcQp& qp, const net::CmEvent& event) const;
  /// Call when requests of the queue pair have waited too long for the peer. Stops waiting, and
  /// notifies the program with failed completions. If an attempt to connect failed, `why` is the
  /// reason; otherwise it is empty.
  void peer_never_connected(RcQp& qp, std::string why);

 private:
  static constexpr std::size_t kMaxWaiting = 256;

  using Clock = std::chrono::steady_clock;
  /// The state of a queue pair that waits for its peer or is connected to it.
  struct AwaitedPeer {
    /// What the peer's request must contain; its rq_psn is set in the step to RTS.
    OobRequest of_peer;
    OobRoute route;
    std::uint16_t ird = 0;  ///< the program's max_dest_rd_atomic; 0 for UC, which has no Reads
    std::optional<Clock::time_point> sends_since;  ///< the time of the queue pair's step to RTS
    PeerState state = PeerState::kListens;
    bool other_logged = false;  ///< a request from another peer was already logged
    Clock::time_point since;
    /// Returns whether the queue pair has its peer. If it has, no other request is accepted.
    bool has_peer() const { return state >= PeerState::kAccepted; }
    void step(PeerEvent event) { state = bytes::step(kPeerEdges, state, event).value_or(state); }
  };
  struct Waiting {
    OobRequest says;
    std::unique_ptr<net::ConnectRequest> request;
  };

  int find_peer(const Port& own, const ibv_qp_attr& attr, std::uint32_t number,
                AwaitedPeer& out) const;
  int listen(std::uint32_t number, const OobAddress& at);
  int connect(RcQp& qp, AwaitedPeer& awaited);
  bool connect_again(RcQp& qp, AwaitedPeer& awaited, const net::CmEvent& event);
  void offer(RcQp& qp, Waiting&& waiting);
  void take_waiting(RcQp& qp, AwaitedPeer& awaited);
  bool take(RcQp& qp, AwaitedPeer& awaited, net::ConnectRequest& request);
  bool accept(RcQp& qp, const AwaitedPeer& awaited, net::ConnectRequest& request);
  void forget(std::uint32_t number);
  void keep(Waiting&& waiting);
  void drop_requests_to(std::uint32_t number);
  AwaitedPeer* find(std::uint32_t number);

  Core& core_;
  const OutOfBandPeers peers_;  ///< which peers are allowed
  Unanswered unanswered_;
  std::mutex mutex_;  ///< locked after the locks of Core
  QpNumbers numbers_;
  std::unordered_map<std::uint32_t, AwaitedPeer> awaited_;  ///< the queue pairs, by their numbers
  /// Notified when a queue pair in awaited_ is connected, or is removed from awaited_.
  std::condition_variable settled_;
  std::deque<Waiting> waiting_;  ///< requests that wait until their queue pairs are ready
};

}  // namespace iwarp::rdma_core
