// SPDX-License-Identifier: Apache-2.0
// DatagramEndpoint: the queue pair of a datagram rsocket, with memory for what it sends and
// receives. Uses verbs as any program does; knows nothing of UDP, waiting or errno of sockets.
//
// One caller at a time.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <vector>

#include "rsockets/common/pages.hpp"
#include "rsockets/common/sizes.hpp"
#include "rsockets/datagrams/peers.hpp"

namespace iwarp::rdma_core::rsockets {

class DatagramEndpoint {
 public:
  /// Of a device that has datagrams. `sizes` becomes what there is. Throws std::system_error or
  /// std::bad_alloc.
  explicit DatagramEndpoint(Sizes& sizes);
  ~DatagramEndpoint();
  DatagramEndpoint(const DatagramEndpoint&) = delete;
  DatagramEndpoint& operator=(const DatagramEndpoint&) = delete;

  std::uint32_t queue_pair() const { return qp_->qp_num; }
  /// So many octets fit, with their header.
  std::size_t max_message() const { return max_message_; }
  /// Null: there is none, as one of them is no address of the device's.
  std::unique_ptr<ibv_ah, DestroyAh> way(const Place& own, const Place& peer) const;

  struct Received {
    std::uint32_t slot;  ///< to be given back with post_receive()
    Place from;          ///< as the network says it, without a port
    std::span<const std::byte> octets;
  };
  /// Appends what has come; whether anything has happened at all.
  bool take(std::vector<Received>& out);
  /// An errno.
  int post_receive(std::uint32_t slot);

  bool can_send() const { return !free_sends_.empty(); }
  bool all_sent() const { return free_sends_.size() == sends_; }
  /// Memory for a message; needs can_send().
  std::span<std::byte> send_memory() { return slot_of(send_memory_, free_sends_.back()); }
  /// Sends the first octets of it; an errno.
  int send(std::size_t length, const Peer& to);

  // Waiting for more to happen.
  int fd() const { return channel_->fd; }
  void arm();
  /// Takes what made fd() readable; true: no longer armed.
  bool take_events();

 private:
  void make_queue(const Sizes& sizes);
  void set_state(ibv_qp_state state);
  void release();
  void sent(const ibv_wc& wc);
  static std::span<std::byte> slot_of(const Pages& pages, std::uint32_t slot) {
    return pages.octets().subspan(std::size_t{slot} * kMaxDatagram, kMaxDatagram);
  }

  const std::uint32_t sends_;
  Pages send_memory_;
  Pages receive_memory_;
  Pages routes_;  ///< the 40 octets in front of each message
  std::vector<std::uint32_t> free_sends_;
  ibv_pd* pd_ = nullptr;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_qp* qp_ = nullptr;
  ibv_mr* send_mr_ = nullptr;
  ibv_mr* receive_mr_ = nullptr;
  ibv_mr* routes_mr_ = nullptr;
  std::size_t max_message_ = 0;
  std::size_t max_inline_ = 0;
  bool armed_ = false;
};

}  // namespace iwarp::rdma_core::rsockets
