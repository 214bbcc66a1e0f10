// SPDX-License-Identifier: Apache-2.0
// RSocket: a socket of the program's, from rsocket() to rclose(). What rdma_cm tells comes from the
// thread of Service; what the peer says is got by whoever calls, or sleeps, here. Functions give
// an errno, or what their C counterparts do.
//
// Locks: the RSocket's, then Service's; never two RSockets'. No lock is held while a thread sleeps.
#pragma once

#include <poll.h>
#include <rdma/rdma_cma.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <chrono>
#include <deque>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "endpoint.hpp"
#include "options.hpp"
#include "waiter.hpp"

namespace iwarp::rdma_core::rsockets {

enum class Phase : std::uint8_t {
  kIdle,
  kBound,
  kListening,
  kOpening,  ///< rconnect() was called, or rdma_accept()
  kConnected,
  kEnded,    ///< both directions, as both sides know
  kFailed,   ///< was connected
  kRefused,  ///< was never
};

class RSocket : public std::enable_shared_from_this<RSocket> {
 public:
  using Lock = std::unique_lock<std::mutex>;
  using Result = std::expected<std::size_t, int>;

  /// Of rsocket(): `id` is its own.
  RSocket(int number, rdma_cm_id* id, int family);
  /// Of a request to `listener`.
  RSocket(int number, rdma_cm_id* id, const std::shared_ptr<RSocket>& listener);
  ~RSocket();
  RSocket(const RSocket&) = delete;
  RSocket& operator=(const RSocket&) = delete;

  int number() const { return number_; }
  int bind(const sockaddr* address);
  int listen(int backlog);
  std::expected<std::shared_ptr<RSocket>, int> accept();
  int connect(const sockaddr* address, socklen_t length);
  int shutdown(int how);
  /// Ends it for everybody. Once.
  int close();
  /// Its end does not wait for anything.
  void linger_not();

  Result receive(std::span<const iovec> into, int flags);
  Result send(std::span<const iovec> from, int flags);

  std::expected<std::uint64_t, int> map(void* memory, std::size_t length, int protection,
                                        std::int64_t offset);
  int unmap(const void* memory, std::size_t length);
  Result write_mapped(std::span<const std::byte> from, std::uint64_t offset, int flags);

  void local_address(sockaddr* out, socklen_t* length);
  void peer_address(sockaddr* out, socklen_t* length);
  int set_option(int level, int name, const void* value, socklen_t length);
  int get_option(int level, int name, void* value, socklen_t* length);
  std::expected<int, int> control(int command, int argument);

  /// What poll(2) would say of it, now.
  short events(short wanted);
  /// To sleep on it: whoever changes it wakes `waiter`, and so does what comes to the descriptor
  /// that is returned, if there is one. Nothing of `wanted` may have happened, else nullopt.
  std::optional<int> begin_waiting(Waiter& waiter, short wanted);
  void end_waiting(Waiter& waiter);

  // For Service.
  void happened(rdma_cm_event_type type, int status, std::span<const std::byte> data);
  /// The answer to its request.
  int answer(const rdma_conn_param& request, std::span<const std::byte> data);
  bool is_established();
  /// To whom the request was; null: it is gone.
  std::shared_ptr<RSocket> listener() const { return listener_.lock(); }
  /// One more to be accepted; false: there is no room, or nobody listens.
  bool add(std::shared_ptr<RSocket> connected);
  bool has_room();
  /// When to be asked again, if at all.
  std::optional<std::chrono::steady_clock::time_point> keep_alive(
      std::chrono::steady_clock::time_point now);

 private:
  struct OwnMapping {
    ibv_mr* mr;
    std::uint64_t offset;
    std::optional<std::uint32_t> index;  ///< in the peer's table; none: local
    bool told;
  };

  short state(short wanted);
  bool closes_at_once();
  bool is_connected() const { return phase_ == Phase::kConnected; }
  bool may_read() const { return is_connected() && readable_; }
  bool may_write() const { return is_connected() && writable_; }
  bool is_nonblocking(int flags) const;
  int why_not_write() const;
  void progress();
  void fail(int code);
  void end();
  void refuse(int code);
  void wake(const Waiter* except = nullptr);
  void open_endpoint();
  int advance(rdma_cm_event_type type, int status, std::span<const std::byte> data);
  int greet(std::span<const std::byte> data);
  int say_goodbye(Lock& lock, Control what);
  int drain(Lock& lock);
  int tell_mappings(Lock& lock, int flags);
  int await_open(Lock& lock, int flags);
  Result receive_locked(Lock& lock, std::span<const iovec> into, int flags);
  Result send_locked(Lock& lock, std::span<const iovec> from, int flags);

  using Deadline = std::optional<std::chrono::steady_clock::time_point>;
  /// Until `ready`. An errno: EAGAIN when it may not wait, or the deadline has passed.
  template <typename Ready>
  int await(Lock& lock, bool nonblocking, Deadline deadline, Ready ready);
  int sleep(Lock& lock, Waiter& waiter, Deadline deadline);
  Deadline deadline(std::chrono::microseconds limit) const;

  std::mutex mutex_;
  const int number_;
  rdma_cm_id* id_;
  Phase phase_ = Phase::kIdle;
  bool closed_ = false;
  bool readable_ = false;
  bool writable_ = false;
  int failure_ = 0;
  Options options_;
  std::unique_ptr<Endpoint> endpoint_;
  std::vector<Waiter*> waiters_;
  std::chrono::steady_clock::time_point next_keepalive_;
  std::weak_ptr<RSocket> listener_;
  // Of a listener.
  std::size_t backlog_ = 0;
  std::deque<std::shared_ptr<RSocket>> accepted_;
  // Of riomap().
  std::vector<OwnMapping> own_mappings_;
};

}  // namespace iwarp::rdma_core::rsockets
