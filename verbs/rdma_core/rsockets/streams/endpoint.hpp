// SPDX-License-Identifier: Apache-2.0
// Endpoint: the queue pair of a connected rsocket and the memory that its peer writes into. Turns
// completions into what was got, and what is to be said into work requests; uses verbs as any
// program does, and asks the queue pair besides whether its peer agreed to RFC 7306. Messages are
// the immediate data of Writes if it did and the device is shown as an adapter, and Sends if not;
// either is understood. Knows nothing of descriptors, waiting or errno of sockets.
//
// One caller at a time.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <vector>

#include "rsockets/common/pages.hpp"
#include "rsockets/common/sizes.hpp"
#include "rsockets/streams/inbound.hpp"
#include "rsockets/streams/outbound.hpp"
#include "rsockets/streams/wire.hpp"

namespace iwarp::rdma_core::rsockets {

class Endpoint {
 public:
  /// Makes the queue pair of an id that has a device, and posts its receives. `sizes` becomes what
  /// there is. Throws std::system_error or std::bad_alloc.
  Endpoint(rdma_cm_id* id, Sizes& sizes);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  Greeting greeting() const;
  /// The connection is established, and the peer has sent this greeting. Before, there is nothing
  /// to send and nobody to hear.
  void start(const Greeting& peer);
  bool started() const { return outbound_.has_value(); }

  struct Received {
    bool anything = false;
    bool shutdown = false;
    bool disconnect = false;
    int error = 0;  ///< an errno: the connection is over, or the peer talks nonsense
  };
  /// What has happened since; gives room and credits back.
  Received listen();

  // Waiting for more to happen.
  int fd() const { return id_->recv_cq_channel->fd; }
  void arm();
  /// Takes what made fd() readable; true: no longer armed.
  bool take_events();

  // The stream.
  std::size_t readable() const { return inbound_.readable(); }
  /// Copies; consume() afterwards, or it is still there. How many octets.
  std::size_t copy_to(std::span<std::byte> to, std::size_t skip = 0) const;
  /// An errno.
  int consume(std::size_t length);
  bool can_send() const { return outbound_ && outbound_->ready(); }
  /// Sends of what `copy` puts into the ring, at most `wanted`; 0 octets: not now.
  template <typename Copy>
  std::expected<std::size_t, int> send(std::size_t wanted, Copy copy) {
    const auto piece = outbound_->take(wanted);
    if (!piece) return 0;
    copy(send_ring_.octets().subspan(piece->at, piece->length));
    if (const int code = write_piece(*piece)) return std::unexpected(code);
    return piece->length;
  }
  /// Directly to where the peer's program has mapped `offset`; 0: not now. EINVAL: nowhere.
  std::expected<std::size_t, int> send_direct(std::span<const std::byte> from,
                                              std::uint64_t offset);
  bool can_send_direct() const { return outbound_ && outbound_->ready_direct(); }
  /// All that was posted is done.
  bool all_sent() const { return outbound_->idle() && control_free_ == kControlRequests; }

  bool can_control() const { return control_free_ != 0; }
  /// An errno; needs can_control().
  int control(Control what);
  /// A Write of nothing, which the peer does not see; not while requests are short. An errno.
  int keep_alive();

  /// How many mappings the peer has room for.
  std::uint32_t peer_mappings() const { return peer_.mappings; }
  bool can_map() const { return can_send(); }
  /// Tells the peer of memory; needs can_map(). An errno.
  int map(std::uint32_t index, const Mapping& mapping);

  /// No more, in either direction.
  void break_off();

 private:
  static constexpr unsigned kControlRequests = 4;
  static constexpr unsigned kControlReceives = 8;  ///< beyond those that the peer has credits for

  void make_queue(Sizes& sizes);
  ibv_mr* registered(const Pages& pages, int access);
  void release();
  std::size_t receives() const { return slots_.size() / sizeof(std::uint32_t); }
  int post_receive(std::uint64_t slot);
  void received(const ibv_wc& wc, Received& got);
  void sent(const ibv_wc& wc, Received& got);
  void understand(Message message, Received& got);
  bool take_credits(std::uint32_t value);
  bool take_mapping(std::uint32_t index);
  int give_back();
  int post(ibv_send_wr& wr);
  int post_message(Message message, std::uint64_t wr_id);
  int post_write(const ibv_sge& from, unsigned flags, std::uint64_t to, std::uint32_t key,
                 std::optional<Message> message, std::uint64_t wr_id);
  int write_piece(const Outbound::Piece& piece);

  rdma_cm_id* const id_;
  const std::uint16_t credits_;
  Pages send_ring_;
  Pages receive_ring_;
  Pages tables_;  ///< targets, then mappings, for the peer to write
  Pages slots_;   ///< of messages that are Sends
  ibv_mr* send_mr_ = nullptr;
  ibv_mr* receive_mr_ = nullptr;
  ibv_mr* tables_mr_ = nullptr;
  ibv_mr* slots_mr_ = nullptr;
  bool armed_ = false;
  std::uint32_t requests_ = 0;  ///< without those of control messages

  Greeting peer_{};
  bool by_sends_ = false;  ///< messages are; of start()
  Inbound inbound_;
  std::optional<Outbound> outbound_;
  unsigned control_free_ = kControlRequests;
  std::uint32_t own_entry_ = 1;   ///< of tables_, that the peer fills next
  std::uint32_t peer_entry_ = 1;  ///< of its table, to be filled next
  std::vector<Mapping> mappings_;
};

}  // namespace iwarp::rdma_core::rsockets
