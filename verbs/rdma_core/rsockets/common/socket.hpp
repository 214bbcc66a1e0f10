// SPDX-License-Identifier: Apache-2.0
// Socket: the base class of stream rsockets and datagram rsockets. It has the descriptor number,
// the options, and the list of waiting threads. Its functions return an errno, or the same value as
// the C functions with the same names.
//
// Lock order: first the mutex of a Socket, then the mutex of Service. A thread never holds the
// mutexes of two Sockets. A thread holds no lock while it sleeps.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "iwarp/net/event_fd.hpp"
#include "process/refusal.hpp"
#include "rsockets/common/options.hpp"
#include "rsockets/common/verbs.hpp"

namespace iwarp::rdma_core::rsockets {

/// An eventfd that reserves the descriptor number of an rsocket. As with a socket, the child of a
/// fork inherits the descriptor and must close it itself. A net::UniqueFd would be closed in the
/// child immediately, and its number could then be reused.
class ReservedFd {
 public:
  /// Reserves the lowest free descriptor number. Throws std::system_error if there is none.
  static ReservedFd reserve() {
    const int fd = ::eventfd(0, EFD_CLOEXEC);
    if (fd < 0) fail(errno);
    return ReservedFd(fd);
  }
  ReservedFd() = default;
  ReservedFd(ReservedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ReservedFd& operator=(ReservedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~ReservedFd() { reset(); }
  int get() const { return fd_; }
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  explicit ReservedFd(int fd) : fd_(fd) {}
  int fd_ = -1;
};

/// Returns how long a thread busy-polls before it sleeps. An answer often arrives in less time than
/// a thread needs to fall asleep and wake up. The default is 10 us, unless the file
/// /etc/rdma/rsocket/polling_time sets another. Reads the file once. Thread-safe.
std::chrono::microseconds looking_time();

/// Details of a received message.
struct Arrival {
  sockaddr_storage sender{};  ///< the sender's address; its family is 0 if the sender is unknown
  bool cut = false;           ///< whether the message was longer than the buffers and was truncated
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

  /// Sets the descriptor number of the socket. Call once, before other threads can find the socket.
  /// A connection from a peer has no descriptor number until raccept() returns one.
  void take(ReservedFd number) { number_ = std::move(number); }
  virtual int bind(const sockaddr* address, socklen_t length) = 0;
  virtual int listen(int /*backlog*/) { return EOPNOTSUPP; }
  virtual std::expected<std::shared_ptr<Socket>, int> accept() {
    return std::unexpected(EOPNOTSUPP);
  }
  virtual int connect(const sockaddr* address, socklen_t length) = 0;
  virtual int shutdown(int /*how*/) { return EOPNOTSUPP; }
  /// Closes the socket for all threads that use it. A second call of this function fails with
  /// EBADF.
  virtual int close() = 0;

  /// Receives a message, or bytes of the stream. Sets the fields of `arrival` unless `arrival` is
  /// null.
  virtual Result receive(Pieces into, int flags, Arrival* arrival) = 0;
  /// Returns whether the application may pass a destination to rsendto().
  virtual bool names_peers() const { return false; }
  /// Sends a message, or bytes of the stream. `to` is the destination, or null if the application
  /// passes none. If names_peers() is false, the socket ignores `to`.
  virtual Result send(Pieces from, int flags, const sockaddr* to, socklen_t length) = 0;

  virtual std::expected<std::uint64_t, int> map(void*, std::size_t, int, std::int64_t) {
    return std::unexpected(EOPNOTSUPP);
  }
  virtual int unmap(const void*, std::size_t) { return EOPNOTSUPP; }
  virtual Result write_mapped(std::span<const std::byte>, std::uint64_t, int) {
    return std::unexpected(EOPNOTSUPP);
  }

  virtual int local_address(sockaddr* out, socklen_t* length) = 0;
  virtual int peer_address(sockaddr* out, socklen_t* length) = 0;
  int set_option(int level, int name, const void* value, socklen_t length);
  int get_option(int level, int name, void* value, socklen_t* length);
  std::expected<int, int> control(int command, int argument);

  /// Returns the events in `wanted` that poll(2) would report now.
  short events(short wanted);
  /// Registers `waiter`, which is woken up when another thread changes the socket. Returns a
  /// descriptor on which the caller must sleep in addition to the waiter's own, or -1 if there is
  /// none. If the socket is closed, or an event in `wanted` has already happened, returns nullopt
  /// and does not register the waiter.
  std::optional<int> begin_waiting(net::EventFd& waiter, short wanted);
  void end_waiting(net::EventFd& waiter);

  /// Sends a keepalive if one is due. Returns the time at which the caller must call this function
  /// again, or nullopt if the socket needs no more keepalives.
  virtual Deadline keep_alive(Time /*now*/) { return std::nullopt; }

 protected:
  Socket() = default;

  /// Processes completions and messages that have arrived. Call this function and the functions
  /// below with the mutex locked.
  virtual void progress() = 0;
  /// Returns the events in `wanted` that have happened, without calling progress() to look for new
  /// ones.
  virtual short state(short wanted) = 0;
  /// Returns the completion queue of the socket, or null as long as it can have no completions.
  virtual SocketCq* queue() = 0;
  /// Returns the descriptor on which a thread must wait for events, or -1 if there is none yet.
  virtual int fd() { return queue() != nullptr ? queue()->fd() : -1; }
  /// Makes fd() readable when the next event arrives.
  void arm() {
    if (SocketCq* const cq = queue()) cq->arm();
  }

  /// Sets an option that set_option() does not set itself. `number` is the value if it is a number.
  virtual int set_own_option(int level, int name, const void* value, socklen_t length,
                             std::optional<int> number) = 0;
  virtual int get_own_option(int level, int name, void* value, socklen_t* length) = 0;
  /// Returns whether the options of the level SOL_RDMA can no longer be set.
  virtual bool has_fixed_sizes() const = 0;
  /// Returns whether the buffers were created, so that their sizes can no longer be set.
  virtual bool has_buffers() const = 0;

  bool is_nonblocking(int flags) const;
  static Deadline deadline(std::chrono::microseconds limit);
  void wake();
  /// Waits until `ready` returns true: busy-polls for a short time and then sleeps. Returns 0 or an
  /// errno: EAGAIN if `nonblocking` is set or the deadline has passed, EBADF if the socket was
  /// closed, and EINTR if a signal arrived and the program has a signal handler without SA_RESTART.
  template <typename Ready>
  int await(Lock& lock, bool nonblocking, Deadline deadline, Ready ready);
  int sleep(Lock& lock, net::EventFd& waiter, Deadline deadline);

  std::mutex mutex_;
  ReservedFd number_;
  bool closed_ = false;
  Options options_;
  std::vector<net::EventFd*> waiters_;
};

template <typename Ready>
int Socket::await(Lock& lock, bool nonblocking, Deadline deadline, Ready ready) {
  using Clock = std::chrono::steady_clock;
  progress();
  if (ready()) return 0;
  if (nonblocking) return EAGAIN;
  for (const auto until = Clock::now() + looking_time(); fd() >= 0 && Clock::now() < until;) {
    lock.unlock();
    lock.lock();
    if (closed_) return EBADF;
    progress();
    if (ready()) return 0;
  }
  net::EventFd waiter;
  while (true) {
    arm();
    progress();
    if (ready()) return 0;
    if (deadline && Clock::now() >= *deadline) return EAGAIN;
    const int code = sleep(lock, waiter, deadline);
    if (closed_) return EBADF;
    if (code != 0) return code;
    progress();
    if (ready()) return 0;
  }
}

}  // namespace iwarp::rdma_core::rsockets
