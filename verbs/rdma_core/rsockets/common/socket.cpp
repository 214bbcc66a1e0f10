// SPDX-License-Identifier: Apache-2.0
// Functions of class Socket: those in which threads wait, and the options that stream rsockets and
// datagram rsockets have in common.
#include "rsockets/common/socket.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/rsocket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <string>

#include "process/errno_table.hpp"

namespace iwarp::rdma_core::rsockets {
namespace {

template <typename T>
T limited(std::int64_t value) {
  return static_cast<T>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<T>::max()));
}

/// Returns the number in a file with which the administrator sets a default. Returns `otherwise` if
/// there is no such file, or if it does not begin with a number.
std::int64_t configured(const char* name, std::int64_t otherwise) {
  std::ifstream file(std::string("/etc/rdma/rsocket/") + name);
  std::int64_t out = 0;
  return file >> out ? out : otherwise;
}

/// Returns the size that an option of the level SOL_RDMA sets, or null if there is none.
std::uint16_t Sizes::* size_named(int name) {
  return name == RDMA_SQSIZE   ? &Sizes::send_requests
         : name == RDMA_RQSIZE ? &Sizes::receives
         : name == RDMA_INLINE ? &Sizes::inline_octets
                               : nullptr;
}

/// Sets `limit` from the value of the option SO_RCVTIMEO or SO_SNDTIMEO. Returns 0 or an errno.
int set_limit(std::chrono::microseconds& limit, const void* value, socklen_t length) {
  timeval time{};
  if (!read_value(time, value, length)) return EINVAL;
  if (time.tv_usec < 0 || time.tv_usec >= 1'000'000) return EDOM;
  limit = std::chrono::seconds(std::max<time_t>(time.tv_sec, 0)) +
          std::chrono::microseconds(time.tv_usec);
  return 0;
}

timeval timeval_of(std::chrono::microseconds limit) {
  return {.tv_sec = limit.count() / 1'000'000, .tv_usec = limit.count() % 1'000'000};
}

std::uint32_t ring_of(std::int64_t size) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(size, 1 << 12, 1 << 29));
}

/// Sets the size of a ring from the value of the option SO_RCVBUF or SO_SNDBUF. Makes the ring
/// twice as large as the value, as the kernel does for socket buffers. One half of the ring is
/// filled while the other half is read.
void set_buffer(std::uint32_t& ring, std::int64_t value) { ring = ring_of(value * 2); }

/// Unlike the options, mem_default and wmem_default are the sizes of whole rings.
Sizes configured_sizes() {
  Sizes out;
  out.receive_ring = ring_of(configured("mem_default", out.receive_ring));
  out.send_ring = ring_of(configured("wmem_default", out.send_ring));
  out.send_requests = limited<std::uint16_t>(configured("sqsize_default", out.send_requests));
  out.receives = limited<std::uint16_t>(configured("rqsize_default", out.receives));
  out.inline_octets = limited<std::uint16_t>(configured("inline_default", out.inline_octets));
  out.mappings = rounded_mappings(limited<std::uint32_t>(configured("iomap_size", out.mappings)));
  return out;
}

/// Sets an option of the level SOL_RDMA. Returns 0 or an errno.
/// [RCM-379, RCM-380]
int set_of_rdma(Sizes& sizes, int name, int value) {
  if (name == RDMA_IOMAPSIZE) {
    sizes.mappings = rounded_mappings(limited<std::uint32_t>(value));
    return 0;
  }
  const auto size = size_named(name);
  if (size == nullptr) return ENOTSUP;
  sizes.*size = limited<std::uint16_t>(value);
  return 0;
}

std::expected<int, int> size_of_rdma(const Sizes& sizes, int name) {
  if (name == RDMA_IOMAPSIZE) return static_cast<int>(sizes.mappings);
  const auto size = size_named(name);
  if (size == nullptr) return std::unexpected(ENOTSUP);
  return sizes.*size;
}

}  // namespace

// [RCM-392]
const Sizes& default_sizes() {
  static const Sizes kSizes = configured_sizes();
  return kSizes;
}

std::chrono::microseconds looking_time() {
  static const std::chrono::microseconds kTime(
      limited<std::uint32_t>(configured("polling_time", 10)));
  return kTime;
}

void Socket::wake() {
  for (net::EventFd* const waiter : waiters_) waiter->signal();
}

Socket::Deadline Socket::deadline(std::chrono::microseconds limit) {
  if (limit.count() == 0) return std::nullopt;
  return std::chrono::steady_clock::now() + limit;
}

bool Socket::is_nonblocking(int flags) const {
  return (options_.status_flags & O_NONBLOCK) != 0 || (flags & MSG_DONTWAIT) != 0;
}

int Socket::sleep(Lock& lock, net::EventFd& waiter, Deadline deadline) {
  waiters_.push_back(&waiter);
  std::array<pollfd, 2> waiting{pollfd{.fd = waiter.fd(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = fd(), .events = POLLIN, .revents = 0}};
  lock.unlock();
  const int timeout = net::milliseconds_until(deadline);
  const int code = ::poll(waiting.data(), waiting.size(), timeout) < 0 ? errno : 0;
  end_waiting(waiter);
  lock.lock();
  while (waiter.take()) {
  }
  return code == EINTR && !has_interrupting_handler() ? 0 : code;
}

short Socket::events(short wanted) {
  const Lock lock(mutex_);
  if (closed_) return POLLNVAL;
  progress();
  return state(wanted);
}

std::optional<int> Socket::begin_waiting(net::EventFd& waiter, short wanted) {
  const Lock lock(mutex_);
  if (closed_) return std::nullopt;
  arm();
  progress();
  if (state(wanted) != 0) return std::nullopt;
  waiters_.push_back(&waiter);
  return fd();
}

void Socket::end_waiting(net::EventFd& waiter) {
  const Lock lock(mutex_);
  std::erase(waiters_, &waiter);
  // If this thread has consumed an event, the completion queue is no longer armed. In that case,
  // wakes up the other waiting threads, which must arm the queue again.
  SocketCq* const cq = closed_ ? nullptr : queue();
  if (cq != nullptr && cq->take_events()) wake();
}

// [RCM-369]
std::expected<int, int> Socket::control(int command, int argument) {
  const Lock lock(mutex_);
  if (closed_) return std::unexpected(EBADF);
  switch (command) {
    case F_GETFL:
      return options_.status_flags;
    case F_SETFL:
      options_.status_flags = argument;
      return 0;
    case F_GETFD:
      return options_.descriptor_flags;
    case F_SETFD:
      options_.descriptor_flags = argument;
      return 0;
    default:
      return std::unexpected(ENOTSUP);
  }
}

// Options -----------------------------------------------------------------------------------------

void copy_address(const sockaddr& from, sockaddr* out, socklen_t* length) {
  const socklen_t size = from.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (*length != 0) std::memcpy(out, &from, std::min(*length, size));
  *length = size;
}

// [RCM-376]
int Socket::set_option(int level, int name, const void* value, socklen_t length) {
  const Lock lock(mutex_);
  if (closed_) return EBADF;
  std::optional<int> number = 0;
  if (!read_value(*number, value, length)) number.reset();
  if (level == SOL_RDMA) {
    return number && !has_fixed_sizes() ? set_of_rdma(options_.sizes, name, *number) : EINVAL;
  }
  if (level == SOL_SOCKET) {
    if (name == SO_RCVTIMEO) return set_limit(options_.receive_limit, value, length);
    if (name == SO_SNDTIMEO) return set_limit(options_.send_limit, value, length);
    const bool is_free = number && !has_buffers();
    if (name == SO_RCVBUF && is_free) set_buffer(options_.sizes.receive_ring, *number);
    if (name == SO_SNDBUF && is_free) set_buffer(options_.sizes.send_ring, *number);
  }
  return set_own_option(level, name, value, length, number);
}

int Socket::get_option(int level, int name, void* value, socklen_t* length) {
  const Lock lock(mutex_);
  if (closed_) return EBADF;
  if (value == nullptr || length == nullptr) return EFAULT;
  const Sizes& sizes = options_.sizes;
  if (level == SOL_RDMA) {
    const auto size = size_of_rdma(sizes, name);
    return size ? write_value(*size, value, length) : size.error();
  }
  if (level == SOL_SOCKET) {
    switch (name) {
      case SO_RCVBUF:
        return write_value(sizes.receive_ring, value, length);
      case SO_SNDBUF:
        return write_value(sizes.send_ring, value, length);
      case SO_RCVTIMEO:
        return write_value(timeval_of(options_.receive_limit), value, length);
      case SO_SNDTIMEO:
        return write_value(timeval_of(options_.send_limit), value, length);
      default:
        break;
    }
  }
  return get_own_option(level, name, value, length);
}

}  // namespace iwarp::rdma_core::rsockets
