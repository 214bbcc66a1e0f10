// SPDX-License-Identifier: Apache-2.0
// Bring-up without the CM, for programs that exchange LID, GID and QPN themselves and then only
// call ibv_modify_qp() (ibv_rc_pingpong, perftest without -R). iWARP does not define this. Between
// two programs on this layer it works because these values say where to connect: see
// bring_up/numbers.hpp and device/peer_address.hpp. IWARP_OOB sets which peers are allowed.
//
// As on InfiniBand, a queue pair can receive from RTR on and send from RTS on: RTR awaits the peer,
// RTS also connects to it. If both connect, the request of the smaller number wins. A request is
// accepted only from the address of the peer's GID, to the address of our GID, with both numbers
// and both PSNs (decision 0028), and while the initiator still waits. An initiator without an
// answer retries.
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
#include <utility>
#include <vector>

#include "bring_up/numbers.hpp"
#include "bring_up/request.hpp"
#include "bring_up/unanswered.hpp"
#include "device/peer_address.hpp"
#include "iwarp/net/connection_manager.hpp"
#include "iwarp/verbs/queue_pair.hpp"
#include "qp/bring_up.hpp"

namespace iwarp::rdma_core {

class Core;
struct RcQp;

class OutOfBand final : public BringUp {
 public:
  OutOfBand(Core& core, const Settings& settings)
      : core_(core),
        peers_(settings.out_of_band),
        unanswered_(core, *this, settings.connection.completions) {}

  std::uint32_t take_number() override;
  void release_number(std::uint32_t number) override;
  int ready_to_receive(RcQp& qp, const ibv_qp_attr& attr) override;
  int ready_to_send(RcQp& qp, std::uint32_t sq_psn) override;
  void give_up(RcQp& qp) override;
  void limit_wait(verbs::QpNum num, std::chrono::nanoseconds limit) override {
    unanswered_.await(num, limit);
  }
  void end_wait(verbs::QpNum num) override { unanswered_.forget(num); }
  /// Returns when each queue pair with requests is connected or has failed, at the latest one
  /// second after its RTS.
  void await_posted() override;

  int fd() const override { return unanswered_.fd(); }
  void check() override { unanswered_.check(); }

  // For the dispatcher.
  /// Returns whether the request is for a queue pair brought up in this way; if so, accepts it,
  /// holds it for later or drops it.
  bool takes_request(net::CmEvent& event);
  /// Handles an event of a queue pair without a CM id. Returns what its queues may announce.
  verbs::Announce happened(RcQp& qp, const net::CmEvent& event);
  /// Logs, once, why the connection of such a queue pair ended.
  void log_end(const RcQp& qp, const net::CmEvent& event) const;
  /// Gives up a queue pair whose requests have waited too long, and notifies the program. `why` is
  /// the reason if the first attempt to connect failed, else empty.
  void peer_never_came(RcQp& qp, const std::string& why);

 private:
  static constexpr std::size_t kMaxWaiting = 256;

  using Clock = std::chrono::steady_clock;
  /// A queue pair that awaits its peer.
  struct Wanting {
    OobRequest of_peer;  ///< what the peer's request must contain; rq_psn is known from RTS on
    OobRoute route;
    std::optional<Clock::time_point> sends_since;  ///< when it went to RTS
    bool connecting = false;
    bool accepted = false;  ///< or established: other requests are not accepted
    bool established = false;
    Clock::time_point since;
  };
  struct Waiting {
    OobRequest says;
    std::unique_ptr<net::ConnectRequest> request;
  };

  int find_peer(const ibv_qp_attr& attr, std::uint32_t number, Wanting& out) const;
  int listen(std::uint32_t number, const OobAddress& at);
  int connect(RcQp& qp, Wanting& wanting);
  bool connect_again(RcQp& qp, Wanting& wanting, const net::CmEvent& event);
  void offer(RcQp& qp, Waiting&& waiting);
  void take_waiting(RcQp& qp, Wanting& wanting);
  bool take(RcQp& qp, Wanting& wanting, net::ConnectRequest& request);
  bool accept(RcQp& qp, net::ConnectRequest& request);
  void forget(std::uint32_t number);
  void keep(Waiting&& waiting);
  void drop_requests_to(std::uint32_t number);
  Wanting* find(std::uint32_t number);
  /// Returns the queue pairs in RTS that are not connected, and since when they are in RTS.
  std::vector<std::pair<std::uint32_t, Clock::time_point>> coming_up();

  Core& core_;
  const OutOfBandPeers peers_;  ///< which peers are allowed
  Unanswered unanswered_;
  std::mutex mutex_;  ///< locked after Core's
  QpNumbers numbers_;
  std::unordered_map<std::uint32_t, Wanting> wanting_;  ///< by number
  std::condition_variable settled_;  ///< an entry of wanting_ is established or was removed
  std::deque<Waiting> waiting_;      ///< requests for queue pairs that are not ready for them
};

}  // namespace iwarp::rdma_core
