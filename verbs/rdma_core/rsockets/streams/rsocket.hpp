// SPDX-License-Identifier: Apache-2.0
// RSocket: a stream rsocket. The thread of Service passes events of rdma_cm to it. The threads of
// the application poll for the peer's messages while they execute functions of the RSocket.
#pragma once

#include <rdma/rdma_cma.h>

#include <deque>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rsockets/common/socket.hpp"
#include "rsockets/streams/endpoint.hpp"

namespace iwarp::rdma_core::rsockets {

enum class Phase : std::uint8_t {
  kIdle,
  kBound,
  kListening,
  kOpening,  ///< rconnect() or rdma_accept() was called, and the connection is being set up
  kConnected,
  kEnded,    ///< the connection has ended without an error, in both directions
  kFailed,   ///< the connection failed after it was established
  kRefused,  ///< the connection could not be established
};

class RSocket final : public Socket {
 public:
  /// Makes an RSocket for a call of rsocket(). Takes ownership of `id`.
  RSocket(rdma_cm_id* id, int family);
  /// Makes an RSocket for a connect request to `listener`. Takes ownership of `id`.
  RSocket(rdma_cm_id* id, const std::shared_ptr<RSocket>& listener);
  ~RSocket() override;

  int bind(const sockaddr* address, socklen_t length) override;
  int listen(int backlog) override;
  std::expected<std::shared_ptr<Socket>, int> accept() override;
  int connect(const sockaddr* address, socklen_t length) override;
  int shutdown(int how) override;
  int close() override;
  /// Makes close() return without waiting.
  void stop_lingering();

  Result receive(Pieces into, int flags, Arrival* arrival) override;
  Result send(Pieces from, int flags, const sockaddr* to, socklen_t length) override;

  std::expected<std::uint64_t, int> map(void* memory, std::size_t length, int protection,
                                        std::int64_t offset) override;
  int unmap(const void* memory, std::size_t length) override;
  Result write_mapped(std::span<const std::byte> from, std::uint64_t offset, int flags) override;

  int local_address(sockaddr* out, socklen_t* length) override;
  int peer_address(sockaddr* out, socklen_t* length) override;

  // Service calls the functions below.
  void happened(rdma_cm_event_type type, int status, std::span<const std::byte> data);
  /// Accepts the connect request for which this socket was made. Returns 0 or an errno.
  int answer(const rdma_conn_param& request, std::span<const std::byte> data);
  bool is_established();
  /// Returns the listener of the connect request, or null if the listener no longer exists.
  std::shared_ptr<RSocket> listener() const { return listener_.lock(); }
  /// Queues a connection for accept(). Returns false if this socket no longer listens.
  bool add(std::shared_ptr<RSocket> connected);
  bool has_room();
  Deadline keep_alive(Time now) override;

 private:
  struct OwnMapping {
    ibv_mr* mr;
    std::uint64_t offset;
    /// Index in the peer's table, or nullopt for a mapping that is not announced to the peer.
    std::optional<std::uint32_t> index;
    bool is_advertised;
  };

  void progress() override;
  short state(short wanted) override;
  SocketCq* queue() override;
  int set_own_option(int level, int name, const void* value, socklen_t length,
                     std::optional<int> number) override;
  int get_own_option(int level, int name, void* value, socklen_t* length) override;
  bool has_fixed_sizes() const override { return phase_ >= Phase::kOpening; }
  bool has_buffers() const override { return endpoint_ != nullptr; }

  bool closes_at_once();
  bool is_connected() const { return phase_ == Phase::kConnected; }
  bool may_read() const { return is_connected() && readable_; }
  bool may_write() const { return is_connected() && writable_; }
  int why_not_write() const;
  /// Ends an established connection with an error.
  void fail(int code);
  void end(Phase how, int code = 0);
  int advance(rdma_cm_event_type type, int status, std::span<const std::byte> data);
  /// Checks the greeting that the peer has sent, and sets peer_.
  int greet(std::span<const std::byte> data);
  int send_control(Lock& lock, Control what);
  int drain(Lock& lock);
  int report_mappings(Lock& lock, int flags);
  int await_open(Lock& lock, int flags);
  Result receive_locked(Lock& lock, Pieces into, int flags);
  Result send_locked(Lock& lock, Pieces from, int flags);

  /// Copies the id's own address to own_address_. The mutex does not protect the address in the id,
  /// because rdma_get_cm_event() changes it in the thread of the Service without locking the mutex.
  /// So other functions read own_address_.
  void note_address();

  rdma_cm_id* id_;
  sockaddr_storage own_address_{};
  Phase phase_ = Phase::kIdle;
  bool readable_ = false;
  bool writable_ = false;
  int failure_ = 0;
  std::unique_ptr<Endpoint> endpoint_;
  /// The greeting that the peer has sent during the connection setup.
  std::optional<Greeting> peer_;
  Time next_keepalive_;
  std::weak_ptr<RSocket> listener_;
  // The next two members are used only if this rsocket listens.
  std::size_t backlog_ = 0;
  std::deque<std::shared_ptr<RSocket>> accepted_;
  // The memory that the application has mapped with riomap().
  std::vector<OwnMapping> own_mappings_;
};

}  // namespace iwarp::rdma_core::rsockets
