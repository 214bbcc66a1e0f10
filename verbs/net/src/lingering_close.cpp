// SPDX-License-Identifier: Apache-2.0
// Half close, read, drop, close.
#include "lingering_close.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace iwarp::net {
namespace {

constexpr int kReadsPerTurn = 64;

// False: nothing more will come.
bool drop_what_came(int fd) {
  std::array<std::byte, 16 * 1024> buffer;
  for (int i = 0; i < kReadsPerTurn; ++i) {
    const auto n = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n == 0) return false;
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  }
  return true;
}

}  // namespace

void LingeringClose::start(Worker& worker, UniqueFd socket, mpa::Duration limit) {
  ::shutdown(socket.get(), SHUT_WR);
  if (!drop_what_came(socket.get())) return;
  auto self = std::make_shared<LingeringClose>(Private{}, worker, std::move(socket));
  worker.post([self, limit] { self->begin(limit); });
}

LingeringClose::LingeringClose(Private, Worker& worker, UniqueFd socket)
    : socket_(std::move(socket)), readiness_(worker.context()), timer_(worker.context()) {}

// Nobody waits for it any more, or the device ends.
LingeringClose::~LingeringClose() {
  if (readiness_.is_open()) readiness_.release();
  drop_what_came(socket_.get());
}

void LingeringClose::begin(mpa::Duration limit) {
  boost::system::error_code failed;
  readiness_.assign(socket_.get(), failed);
  if (failed) return;
  timer_.expires_after(limit);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
    if (!cancelled) self->readiness_.cancel();
  });
  wait();
}

void LingeringClose::wait() {
  readiness_.async_wait(asio::posix::stream_descriptor::wait_read,
                        [self = shared_from_this()](const boost::system::error_code& cancelled) {
                          if (!cancelled && drop_what_came(self->socket_.get())) {
                            self->wait();
                          } else {
                            self->timer_.cancel();
                          }
                        });
}

}  // namespace iwarp::net
