// SPDX-License-Identifier: Apache-2.0
// Functions of class DatagramRSocket that open and close it, and functions for addresses and
// options.
#include "rsockets/datagrams/rsocket.hpp"

#include <sys/epoll.h>

#include <cerrno>

#include "process/errno_table.hpp"
#include "process/refusal.hpp"

namespace iwarp::rdma_core::rsockets {
namespace {

// How long close() waits for the completion of sends. This wait is rarely needed, because the
// kernel accepts a UDP datagram almost immediately.
constexpr auto kEndTimeout = std::chrono::seconds(2);

net::UniqueFd opened(int fd) {
  if (fd < 0) fail(errno);
  return net::UniqueFd(fd);
}

}  // namespace

DatagramRSocket::DatagramRSocket(int family)
    : udp_(opened(::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0))),
      either_(opened(::epoll_create1(EPOLL_CLOEXEC))),
      own_version_(family == AF_INET ? Version::kIpv4 : Version::kIpv6) {
  options_.family = family;
}

DatagramRSocket::~DatagramRSocket() { close(); }

// Opens the endpoint on first use. If the application has not bound the rsocket, binds the UDP
// socket to a port, because the headers of messages contain the port.
int DatagramRSocket::open() {
  if (endpoint_ != nullptr) return 0;
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  auto* const address = reinterpret_cast<sockaddr*>(&own);
  if (::getsockname(udp_.get(), address, &size) != 0) return errno;
  if (udp_address_of(*address).port == 0 && ::bind(udp_.get(), address, size) != 0) return errno;
  auto endpoint = std::make_unique<DatagramEndpoint>(options_.sizes);
  epoll_event event{.events = EPOLLIN, .data = {}};
  if (::epoll_ctl(either_.get(), EPOLL_CTL_ADD, endpoint->cq().fd(), &event) != 0) return errno;
  endpoint_ = std::move(endpoint);
  watch_udp(true);
  wake();
  return 0;
}

int DatagramRSocket::bind(const sockaddr* address, socklen_t length) {
  const Lock lock(mutex_);
  if (closed_) return EBADF;
  if (::bind(udp_.get(), address, length) != 0) return errno;
  return guarded([&] { return open(); });
}

int DatagramRSocket::connect(const sockaddr* address, socklen_t length) {
  const Lock lock(mutex_);
  if (closed_) return EBADF;
  const bool dissolves = address != nullptr && address->sa_family == AF_UNSPEC;
  const auto target = target_of(address, length);
  if (!dissolves && !target) return target.error();
  if (::connect(udp_.get(), address, length) != 0) return errno;
  connected_.reset();
  if (dissolves) return 0;
  connected_ = *target;
  return guarded([&] { return open(); });
}

int DatagramRSocket::close() {
  Lock lock(mutex_);
  if (closed_) return EBADF;
  if (endpoint_ != nullptr) {
    (void)guarded([&] {
      return await(lock, false, std::chrono::steady_clock::now() + kEndTimeout,
                   [&] { return endpoint_->all_sent(); });
    });
    if (closed_) return EBADF;
  }
  closed_ = true;
  wake();
  log_dropped();
  // The address handles must be destroyed before the endpoint destroys their protection domain.
  peers_ = {};
  messages_.clear();
  endpoint_.reset();
  either_.reset();
  udp_.reset();
  number_.reset();
  return 0;
}

void DatagramRSocket::log_dropped() const {
  const std::uint64_t all =
      dropped_.malformed + dropped_.unasked + dropped_.forged + dropped_.strangers;
  if (all == 0) return;
  log_connection("rsocket_dropped",
                 "an rsocket dropped messages (malformed: " + std::to_string(dropped_.malformed) +
                     ", unexpected answers: " + std::to_string(dropped_.unasked) +
                     ", wrong sender address in the header: " + std::to_string(dropped_.forged) +
                     ", from senders other than its peer: " + std::to_string(dropped_.strangers) +
                     ")");
}

int DatagramRSocket::local_address(sockaddr* out, socklen_t* length) {
  const Lock lock(mutex_);
  if (closed_) return EBADF;
  return ::getsockname(udp_.get(), out, length) == 0 ? 0 : errno;
}

int DatagramRSocket::peer_address(sockaddr* out, socklen_t* length) {
  const Lock lock(mutex_);
  if (closed_) return EBADF;
  return ::getpeername(udp_.get(), out, length) == 0 ? 0 : errno;
}

int DatagramRSocket::set_own_option(int level, int name, const void* value, socklen_t length,
                                    std::optional<int> /*number*/) {
  return ::setsockopt(udp_.get(), level, name, value, length) == 0 ? 0 : errno;
}

int DatagramRSocket::get_own_option(int level, int name, void* value, socklen_t* length) {
  return ::getsockopt(udp_.get(), level, name, value, length) == 0 ? 0 : errno;
}

}  // namespace iwarp::rdma_core::rsockets
