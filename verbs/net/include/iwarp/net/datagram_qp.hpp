// SPDX-License-Identifier: Apache-2.0
// DatagramQp: a datagram queue pair (UD) with its UDP port. The low 16 bits of the queue pair's
// number are that port. It does not retransmit, and does not report whether a datagram arrived.
//
// <!-- figure: source test/net/examples.cpp | block std::unique_ptr<DatagramQp> open_datagrams -->
// ```cpp
// std::unique_ptr<DatagramQp> open_datagrams(const Program& program, std::uint32_t q_key) {
//   const DatagramQpInit init{.send_cq = program.cq.get(), .recv_cq = program.cq.get()};
//   auto qp = must(program.rnic->create_datagram_qp(*program.pd, {.init = init}));
//   qp->set_q_key(q_key);
//   for (const auto state :
//        {DatagramState::kInit, DatagramState::kReceiving, DatagramState::kReady}) {
//     must(qp->set_state(state));
//   }
//   return qp;
// }
// ```
// <!-- end -->
#pragma once

#include <memory>

#include "iwarp/net/bound_socket.hpp"
#include "iwarp/verbs/datagram_tap.hpp"
#include "iwarp/verbs/datagram_types.hpp"

namespace iwarp::net {

class DrivenDatagrams;
class Rnic;

/// Options of a datagram queue pair.
struct DatagramQpOptions {
  verbs::DatagramQpInit init{};  ///< the Rnic fills in num, pd and instance
  PortRange ports{};             ///< range of UDP ports; with {0, 0}, the system chooses a port
  std::shared_ptr<verbs::DatagramTap> tap{};  ///< observes the datagrams; may be null
};

/// A datagram queue pair. Thread-safe; no call waits for the network.
class DatagramQp {
 public:
  /// Called by the Rnic; applications call Rnic::create_datagram_qp().
  DatagramQp(Rnic& rnic, std::shared_ptr<DrivenDatagrams> driven);
  /// Drops all posted requests without completing them, and removes failed completions of this
  /// queue pair from the completion queues.
  ~DatagramQp();
  DatagramQp(const DatagramQp&) = delete;
  DatagramQp& operator=(const DatagramQp&) = delete;

  verbs::QpNum num() const;            ///< returns the number of the queue pair, which has 24 bits
  verbs::DatagramState state() const;  ///< returns the current state
  /// Returns whether a request has failed; see verbs::DatagramQueuePair::send_failed().
  bool send_failed() const;
  /// Moves the queue pair to another state, see verbs::DatagramQueuePair::set_state(). Fails with
  /// `Errc::kWrongState` if verbs::kDatagramEdges does not list that transition.
  std::error_code set_state(verbs::DatagramState state);
  /// Sets the Q_Key that datagrams to this queue pair must carry. Initially 0.
  void set_q_key(std::uint32_t q_key);
  /// Posts requests in order until one of them is refused, and sets `posted` to the number of
  /// requests posted. Sends up to 16 datagrams with one system call. Fails as
  /// verbs::DatagramQueuePair::post_send() does.
  std::error_code post_send(std::span<const verbs::DatagramWr> wrs, std::size_t& posted);
  /// Posts all requests, or none if any of them is refused. Fails as post_send() does.
  std::error_code post_all(std::span<const verbs::DatagramWr> wrs);
  /// Posts a receive. Fails as verbs::DatagramQueuePair::post_recv() does.
  std::error_code post_recv(const verbs::RecvWr& wr);
  /// Joins a multicast group on each of `interfaces` (indices; 0 for the interface that the routing
  /// table selects). The queue pair stays a member of the group on the interfaces of earlier calls.
  /// DatagramCounters::unjoined counts the interfaces on which joining fails. If joining fails on
  /// all of them, attach() fails with the system's error, or with `Errc::kLimitReached` if there
  /// are too many groups. Fails with `Errc::kInvalidArgument` if `group` is not a multicast
  /// address.
  std::error_code attach(const verbs::IpAddress& group, std::span<const unsigned> interfaces);
  /// Leaves a multicast group on all interfaces. Fails with `Errc::kInvalidArgument` if `group` is
  /// not a multicast address, or if the queue pair is not attached to it.
  std::error_code detach(const verbs::IpAddress& group);
  /// Returns whether the queue pair is attached to a group.
  bool is_attached() const;
  /// Returns the counters.
  verbs::DatagramCounters counters() const;

 private:
  Rnic& rnic_;
  const std::shared_ptr<DrivenDatagrams> driven_;
};

}  // namespace iwarp::net
