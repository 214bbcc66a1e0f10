// SPDX-License-Identifier: Apache-2.0
// LingeringClose: sends the octets that are left, half-closes the socket, and reads until the peer
// closes or the time limit has passed.
#include "driver/lingering_close.hpp"

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace iwarp::net {
namespace {

constexpr int kReadsPerTurn = 64;
constexpr int kMany = 64;
constinit std::atomic<int> under_way{0};

// Reads and drops the octets that have arrived. Returns false if no more can arrive.
bool discard_input(int fd) {
  std::array<std::byte, 16 * 1024> buffer;
  for (int i = 0; i < kReadsPerTurn; ++i) {
    const auto n = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n == 0) return false;
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  }
  return true;
}

}  // namespace

void LingeringClose::start(Worker& worker, UniqueFd socket, mpa::Duration limit,
                           std::vector<std::byte> rest) {
  if (rest.empty()) ::shutdown(socket.get(), SHUT_WR);
  if (!discard_input(socket.get()) && rest.empty()) return;
  auto self =
      std::make_shared<LingeringClose>(Private{}, worker, std::move(socket), std::move(rest));
  worker.post([self, limit] { self->begin(limit); });
}

bool LingeringClose::are_many() { return under_way.load(std::memory_order_relaxed) >= kMany; }

void LingeringClose::finish(UniqueFd socket) {
  ::shutdown(socket.get(), SHUT_WR);
  discard_input(socket.get());
}

LingeringClose::LingeringClose(Private, Worker& worker, UniqueFd socket,
                               std::vector<std::byte> rest)
    : socket_(std::move(socket)),
      rest_(std::move(rest)),
      readiness_(worker.context()),
      timer_(worker.context()) {
  under_way.fetch_add(1, std::memory_order_relaxed);
}

// Runs when no pending wait holds this object any more, or when the device is being closed.
LingeringClose::~LingeringClose() {
  under_way.fetch_sub(1, std::memory_order_relaxed);
  if (readiness_.is_open()) readiness_.release();
  discard_input(socket_.get());
}

void LingeringClose::begin(mpa::Duration limit) {
  boost::system::error_code failed;
  readiness_.assign(socket_.get(), failed);
  if (failed) return;
  timer_.expires_after(limit);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
    if (!cancelled) self->readiness_.cancel();
  });
  rest_.empty() ? wait() : send_rest();
}

void LingeringClose::send_rest() {
  const auto n = ::send(socket_.get(), rest_.data(), rest_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  const bool lost = n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
  if (n > 0) rest_.erase(rest_.begin(), rest_.begin() + n);
  if (lost || rest_.empty()) {
    ::shutdown(socket_.get(), SHUT_WR);
    wait();
    return;
  }
  readiness_.async_wait(asio::posix::stream_descriptor::wait_write,
                        [self = shared_from_this()](const boost::system::error_code& cancelled) {
                          if (!cancelled) self->send_rest();
                        });
}

void LingeringClose::wait() {
  readiness_.async_wait(asio::posix::stream_descriptor::wait_read,
                        [self = shared_from_this()](const boost::system::error_code& cancelled) {
                          if (!cancelled && discard_input(self->socket_.get())) {
                            self->wait();
                          } else {
                            self->timer_.cancel();
                          }
                        });
}

}  // namespace iwarp::net
