// SPDX-License-Identifier: Apache-2.0
// Socket: what streams and datagrams have in common, from rsocket() to rclose(): a number, options,
// and threads that wait. Functions give an errno, or what their C counterparts do.
//
// Locks: the Socket's, then Service's; never two Sockets'. No lock is held while a thread sleeps.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "rsockets/common/options.hpp"
#include "rsockets/common/reserved_fd.hpp"
#include "rsockets/common/waiter.hpp"

namespace iwarp::rdma_core::rsockets {

/// Of what was received.
struct Arrival {
  sockaddr_storage sender{};  ///< family 0: nobody's
  bool cut = false;           ///< there was more in the message
};

class Socket {
 public:
  using Lock = std::unique_lock<std::mutex>;
  using Time = std::chrono::steady_clock::time_point;
  using Deadline = std::optional<Time>;
  using Result = std::expected<std::size_t, int>;
  using Pieces = std::span<const iovec>;

  virtual ~Socket() = default;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  /// Its number, once, before others know of it. A connection that waits in raccept()'s queue has
  /// none.
  void take(Number number) { number_ = std::move(number); }
  virtual int bind(const sockaddr* address, socklen_t length) = 0;
  virtual int listen(int backlog);
  virtual std::expected<std::shared_ptr<Socket>, int> accept();
  virtual int connect(const sockaddr* address, socklen_t length) = 0;
  virtual int shutdown(int how) = 0;
  /// Ends it for everybody. Once.
  virtual int close() = 0;

  /// `arrival`: null where nobody asks.
  virtual Result receive(Pieces into, int flags, Arrival* arrival) = 0;
  /// Whether rsendto() may name somebody.
  virtual bool names_peers() const { return false; }
  /// `to`: null where the program names nobody; without names_peers() not looked at.
  virtual Result send(Pieces from, int flags, const sockaddr* to, socklen_t length) = 0;

  virtual std::expected<std::uint64_t, int> map(void* memory, std::size_t length, int protection,
                                                std::int64_t offset);
  virtual int unmap(const void* memory, std::size_t length);
  virtual Result write_mapped(std::span<const std::byte> from, std::uint64_t offset, int flags);

  virtual int local_address(sockaddr* out, socklen_t* length) = 0;
  virtual int peer_address(sockaddr* out, socklen_t* length) = 0;
  virtual int set_option(int level, int name, const void* value, socklen_t length) = 0;
  virtual int get_option(int level, int name, void* value, socklen_t* length) = 0;
  std::expected<int, int> control(int command, int argument);

  /// What poll(2) would say of it, now.
  short events(short wanted);
  /// To sleep on it: whoever changes it wakes `waiter`, and so does what comes to the descriptor
  /// that is returned, if there is one. Nothing of `wanted` may have happened, else nullopt.
  std::optional<int> begin_waiting(Waiter& waiter, short wanted);
  void end_waiting(Waiter& waiter);

  /// When to be asked again, if at all.
  virtual Deadline keep_alive(Time now);

 protected:
  Socket() = default;

  /// Takes what has come. Under the lock, as all that follow.
  virtual void progress() = 0;
  /// What there is to know without progress().
  virtual short state(short wanted) = 0;
  /// What comes after this makes fd() readable.
  virtual void arm() = 0;
  /// -1: none yet.
  virtual int fd() const = 0;
  /// Takes what made fd() readable; true: no longer armed.
  virtual bool take_events() = 0;

  bool is_nonblocking(int flags) const;
  static Deadline deadline(std::chrono::microseconds limit);
  void wake();
  /// Until `ready`. An errno: EAGAIN when it may not wait, or the deadline has passed.
  template <typename Ready>
  int await(Lock& lock, bool nonblocking, Deadline deadline, Ready ready);
  int sleep(Lock& lock, Waiter& waiter, Deadline deadline);

  std::mutex mutex_;
  Number number_;
  bool closed_ = false;
  Options options_;
  std::vector<Waiter*> waiters_;
};

}  // namespace iwarp::rdma_core::rsockets
