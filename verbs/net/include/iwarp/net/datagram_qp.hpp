// SPDX-License-Identifier: Apache-2.0
// DatagramQp: a queue pair of datagrams (UD) with its UDP port, which its number names. Every
// function is thread safe and waits for nobody.
#pragma once

#include <memory>

#include "iwarp/net/bound_socket.hpp"
#include "iwarp/verbs/datagram_queue_pair.hpp"
#include "iwarp/verbs/datagram_tap.hpp"

namespace iwarp::net {

class DrivenDatagrams;
class Rnic;

struct DatagramQpOptions {
  verbs::DatagramQpInit init;  ///< Rnic::create_datagram_qp() fills in num, pd and instance
  PortRange ports;
  std::shared_ptr<verbs::DatagramTap> tap;  ///< null: nobody looks
};

class DatagramQp {
 public:
  DatagramQp(Rnic& rnic, std::shared_ptr<DrivenDatagrams> driven);
  /// Flushes nothing: completions of it that failed leave the queues.
  ~DatagramQp();
  DatagramQp(const DatagramQp&) = delete;
  DatagramQp& operator=(const DatagramQp&) = delete;

  verbs::QpNum num() const;
  verbs::DatagramState state() const;
  /// A request has failed, and what is posted is flushed until the state is set to kReady.
  bool send_failed() const;
  /// Errc::kWrongState: not from the present one, see verbs::kDatagramEdges.
  std::error_code set_state(verbs::DatagramState state);
  void set_q_key(std::uint32_t q_key);
  /// In order until one is refused; `posted` says how many were not. One system call for up to 16.
  std::error_code post_send(std::span<const verbs::DatagramWr> wrs, std::size_t& posted);
  std::error_code post_all(std::span<const verbs::DatagramWr> wrs);
  std::error_code post_recv(const verbs::RecvWr& wr);
  /// What is sent to that group is received, too, on each of `interfaces` (0: as routes have it),
  /// and on those where it is already. An error when it is on none of these, otherwise those on
  /// which it is not are counted. Errc::kInvalidArgument: it is no group.
  std::error_code attach(const verbs::IpAddress& group, std::span<const unsigned> interfaces);
  /// Errc::kInvalidArgument: it is no group, or was not attached.
  std::error_code detach(const verbs::IpAddress& group);
  verbs::DatagramCounters counters() const;

 private:
  Rnic& rnic_;
  const std::shared_ptr<DrivenDatagrams> driven_;
};

}  // namespace iwarp::net
