// SPDX-License-Identifier: Apache-2.0
// DatagramEndpoint: the queue pair of a datagram rsocket, and the memory of the messages that it
// sends and receives. It uses the verbs API as any application does. It does not handle UDP,
// waiting or the errnos of sockets.
//
// Not thread-safe.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rsockets/common/options.hpp"
#include "rsockets/common/verbs.hpp"
#include "rsockets/datagrams/peers.hpp"

namespace iwarp::rdma_core::rsockets {

class DatagramEndpoint {
 public:
  /// Creates a queue pair on the first device. Sets `sizes` to the sizes of the queues and buffers
  /// that were created. Throws std::system_error or std::bad_alloc.
  explicit DatagramEndpoint(Sizes& sizes);

  std::uint32_t queue_pair() const { return qp_->qp_num; }
  /// Returns the maximum size of a message together with its header, in bytes.
  std::size_t max_message() const { return max_message_; }
  /// Returns an address handle for `peer`, or null if the peer cannot be reached from an address of
  /// the device.
  std::unique_ptr<ibv_ah, DestroyAh> address_handle(const UdpAddress& own,
                                                    const UdpAddress& peer) const;

  struct Received {
    /// Slot of the message, which the caller must pass to post_receive() after use.
    std::uint32_t slot;
    UdpAddress from;  ///< the sender's address from the network header, without a port
    std::span<const std::byte> octets;
  };
  /// Appends to `out` the messages that have arrived. Returns whether any completion was polled.
  bool take(std::vector<Received>& out);
  /// Posts the receive for this slot again. Returns 0 or an errno.
  int post_receive(std::uint32_t slot);

  bool can_send() const { return !free_sends_.empty(); }
  bool all_sent() const { return free_sends_.size() == sends_; }
  /// Returns the memory for the next message that will be sent. Call only if can_send() returns
  /// true.
  std::span<std::byte> send_memory() { return slot_of(send_memory_, free_sends_.back()); }
  /// Sends the first `length` bytes of send_memory(). Returns 0 or an errno.
  int send(std::size_t length, const Peer& to);

  /// Returns the completion queue, for callers that wait for events.
  SocketCq& cq() { return cq_; }

 private:
  void set_state(ibv_qp_state state);
  void sent(const ibv_wc& wc);
  static std::span<std::byte> slot_of(const Buffer& buffer, std::uint32_t slot) {
    return buffer.octets().subspan(std::size_t{slot} * kMaxDatagram, kMaxDatagram);
  }

  const std::uint32_t sends_;
  std::vector<std::uint32_t> free_sends_;
  Owned<ibv_pd, ibv_dealloc_pd> pd_;
  Buffer send_memory_;
  Buffer receive_memory_;
  Buffer routes_;  ///< memory for the 40-octet GRH of each received message
  SocketCq cq_;
  Owned<ibv_qp, ibv_destroy_qp> qp_;
  std::size_t max_message_ = 0;
  std::size_t max_inline_ = 0;
};

}  // namespace iwarp::rdma_core::rsockets
