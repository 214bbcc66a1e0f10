// SPDX-License-Identifier: Apache-2.0
// Endpoint: the queue pair of a connected rsocket, and the memory into which its peer writes. It
// converts completions to received messages, and messages to work requests. It uses the verbs API
// as any application does, with one exception: it asks the core whether the peer has agreed to RFC
// 7306. If the peer has agreed, and the program sees a RoCE adapter, messages are sent as the
// immediate data of Writes. Otherwise they are sent as Sends. Received messages may have either
// form. Endpoint does not handle descriptors, waiting or the errnos of sockets.
//
// Not thread-safe.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rsockets/common/options.hpp"
#include "rsockets/common/verbs.hpp"
#include "rsockets/streams/inbound.hpp"
#include "rsockets/streams/outbound.hpp"
#include "rsockets/streams/wire.hpp"

namespace iwarp::rdma_core::rsockets {

class Endpoint {
 public:
  /// Makes the queue pair of an id that has a device, and posts its receives. Sets `sizes` to the
  /// sizes of the queues and rings that were created. Throws std::system_error or std::bad_alloc.
  Endpoint(rdma_cm_id* id, Sizes& sizes);

  Greeting greeting() const;
  /// Starts the stream, with the parameters in the greeting that the peer has sent. The connection
  /// must be established. Before this call, the Endpoint neither sends nor receives.
  void start(const Greeting& peer);
  bool started() const { return outbound_.has_value(); }

  struct Received {
    bool anything = false;
    bool shutdown = false;
    bool disconnect = false;
    int error = 0;  ///< errno if the connection is over, or if the peer has violated the protocol
  };
  /// Handles the completions that have arrived since the previous call, and grants room and credits
  /// to the peer.
  Received listen();

  /// Returns the completion queue, for callers that wait for events.
  SocketCq& cq() { return cq_; }

  // The functions below read and write the stream.
  std::size_t readable() const { return inbound_.readable(); }
  /// Skips the first `skip` received bytes, and fills `to` with the next received bytes. Returns
  /// the number of bytes that were copied. All received bytes remain readable until consume()
  /// removes them.
  std::size_t copy_to(std::span<std::byte> to, std::size_t skip = 0) const;
  /// Removes received bytes. When a sufficient number was removed, grants their room and credits to
  /// the peer again. Returns 0 or an errno.
  int consume(std::size_t length);
  bool can_send() const { return outbound_ && outbound_->ready(); }
  /// Sends up to `wanted` bytes, which `copy` must write into the ring. Returns the number of bytes
  /// that were sent, or 0 if nothing can be sent now.
  template <typename Copy>
  std::expected<std::size_t, int> send(std::size_t wanted, Copy copy) {
    const auto piece = outbound_->take(wanted);
    if (!piece) return 0;
    copy(send_ring_.octets().subspan(piece->at, piece->length));
    const Message message{MessageType::kData, piece->length};
    if (const int code = write_piece(*piece, message)) return std::unexpected(code);
    return piece->length;
  }
  /// Writes directly into the memory that the peer's application has mapped at `offset`. Returns
  /// the number of bytes that were sent, or 0 if nothing can be sent now. Fails with EINVAL if no
  /// memory is mapped at `offset`.
  std::expected<std::size_t, int> send_direct(std::span<const std::byte> from,
                                              std::uint64_t offset);
  bool can_send_direct() const { return outbound_ && outbound_->ready_direct(); }
  /// Returns whether all posted requests have completed.
  bool all_sent() const { return outbound_->idle() && control_free_ == kControlRequests; }

  bool can_control() const { return control_free_ != 0; }
  /// Sends a control message. Call only if can_control() returns true. Returns 0 or an errno.
  int control(Control what);
  /// Sends a keepalive: posts an empty Write, which has no effect on the peer's application. Does
  /// nothing if no request is free. Returns 0 or an errno.
  int keep_alive();

  /// Returns the number of mappings for which the peer's table has room.
  std::uint32_t peer_mappings() const { return peer_.mappings; }
  bool can_map() const { return can_send(); }
  /// Announces a mapping to the peer. Call only if can_map() returns true. Returns 0 or an errno.
  int map(std::uint32_t index, const Mapping& mapping);

  /// Ends the connection in both directions, by moving the queue pair to ERR.
  void break_off();

 private:
  static constexpr unsigned kControlRequests = 4;
  /// The number of receives for control messages, in addition to the receives for which the peer
  /// has credits.
  static constexpr unsigned kControlReceives = 8;

  struct DestroyQp {
    void operator()(rdma_cm_id* id) const { rdma_destroy_qp(id); }
  };

  std::uint32_t receives() const { return credits_ + kControlReceives; }
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
  int write_piece(const Outbound::Piece& piece, std::optional<Message> message);
  int write_table(std::span<const std::byte> entry, std::uint64_t offset, Message message,
                  std::uint64_t wr_id);
  Target half_at(std::size_t at) const;

  rdma_cm_id* const id_;
  const std::uint16_t credits_;
  /// Number of send requests, without the requests for control messages.
  const std::uint32_t requests_;
  Buffer send_ring_;
  Buffer receive_ring_;
  Buffer tables_;  ///< the tables into which the peer writes: first the targets, then the mappings
  Buffer slots_;   ///< receive buffers for messages that the peer sends as Sends
  SocketCq cq_;

  Greeting peer_{};
  /// Whether messages are sent as Sends and not as immediate data; set by start().
  bool by_sends_ = false;
  Inbound inbound_;
  std::optional<Outbound> outbound_;
  unsigned control_free_ = kControlRequests;
  std::uint32_t own_entry_ = 1;  ///< index of the next entry of tables_ that the peer will fill
  /// Index of the next entry of the peer's table that this end will fill.
  std::uint32_t peer_entry_ = 1;
  std::vector<Mapping> mappings_;
  /// The id whose queue pair is destroyed first, before the memory and the completion queue.
  std::unique_ptr<rdma_cm_id, DestroyQp> qp_;
};

}  // namespace iwarp::rdma_core::rsockets
