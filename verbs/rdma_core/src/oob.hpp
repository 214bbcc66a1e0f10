// SPDX-License-Identifier: Apache-2.0
// Bring-up without the CM: programs that exchange LID, GID and QPN themselves and then only call
// ibv_modify_qp() (ibv_rc_pingpong, perftest without -R). iWARP has nothing of the kind. Between
// two programs on this layer it works because these numbers say where to connect:
//
//   QPN = listener (8 bits) . TCP port (16 bits)      address: from the GID or LID, see port.hpp
//
// With the change to RTR the side with the smaller QPN connects and names both QPNs in its private
// data; the other waits for that. IWARP_OOB says with whom; the default is programs of this host.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <bitset>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "iwarp/net/connection_manager.hpp"

namespace iwarp::rdma_core {

class Core;
struct Qp;

class OutOfBand {
 public:
  explicit OutOfBand(Core& core) : core_(core) {}

  /// A number for a new queue pair under which peers find it; 0: any will do, as this is off.
  /// Throws std::system_error when there is no port to listen on.
  std::uint32_t take_number();
  /// The queue pair is gone, or was never made. 0 does nothing.
  void release_number(std::uint32_t number);
  /// `attr` names the peer: connects, or awaits it. Does not wait: if it fails, the queue pair is
  /// told with qp_disconnected(). EOPNOTSUPP and a line where this is off or the peer is out of
  /// reach.
  int ready(Qp& qp, const ibv_qp_attr& attr);

  // For the dispatcher.
  /// True: the request is for a queue pair brought up like this; it is taken or kept for later.
  bool takes_request(net::CmEvent& event);
  /// About a queue pair that no id of the CM has.
  void happened(Qp& qp, const net::CmEvent& event);

 private:
  static constexpr std::size_t kPerListener = 256;
  static constexpr std::size_t kMaxWaiting = 256;

  struct Door {
    std::unique_ptr<net::Listener> listener;
    std::uint16_t port = 0;
    std::bitset<kPerListener> taken;
  };
  struct Waiting {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::unique_ptr<net::ConnectRequest> request;
  };

  Door& open_door();
  void accept(Qp& qp, net::ConnectRequest& request);
  int connect(Qp& qp, const ibv_gid& address, std::uint32_t peer);

  Core& core_;
  std::mutex mutex_;  ///< behind Core's
  std::deque<Door> doors_;
  std::unordered_map<std::uint32_t, std::uint32_t> awaited_;  ///< our QPN: the peer's
  std::deque<Waiting> waiting_;  ///< requests for queue pairs that are not ready yet
};

}  // namespace iwarp::rdma_core
