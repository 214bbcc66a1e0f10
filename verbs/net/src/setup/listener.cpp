// SPDX-License-Identifier: Apache-2.0
// Acceptor: accepts up to kAcceptsPerTurn connections in a turn. Without a free descriptor it tries
// again after kRetryPause.
#include "setup/listener.hpp"

#include <algorithm>
#include <cerrno>

#include "iwarp/net/socket_ops.hpp"
#include "sockets/sockets.hpp"

namespace iwarp::net {
namespace {

// How long accepting pauses when descriptors have run out. The Acceptor has to retry after a pause,
// because no event reports that a descriptor has been closed.
constexpr auto kRetryPause = std::chrono::milliseconds(20);
constexpr std::size_t kTidyFrom = 64;
constexpr int kAcceptsPerTurn = 64;

bool out_of_resources(int code) {
  return code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM;
}

}  // namespace

Acceptor::Acceptor(Responders& responders, Worker& worker, ListenOptions options,
                   CmChannel& channel)
    : responders_(responders),
      options_(std::move(options)),
      channel_(channel),
      readiness_(worker.context()),
      timer_(worker.context()) {}

void Acceptor::start(UniqueFd socket) {
  const std::lock_guard lock(mutex_);
  socket_ = std::move(socket);
  if (options_.congestion.empty()) former_congestion_ = avoid_pacing(socket_.get());
  wait();
}

void Acceptor::close() {
  std::vector<std::weak_ptr<DrivenConnection>> made;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    if (readiness_.is_open()) readiness_.release();
    timer_.cancel();
    socket_.reset();
    made.swap(made_);
  }
  for (const auto& weak : made) {
    if (const auto connection = weak.lock()) connection->end_if_unasked();
  }
}

void Acceptor::wait() {
  if (!readiness_.is_open()) {
    boost::system::error_code failed;
    insist([&] { readiness_.assign(socket_.get(), failed); });
    if (failed) return pause();
  }
  insist([this] {
    readiness_.async_wait(asio::posix::stream_descriptor::wait_read,
                          [self = shared_from_this()](const boost::system::error_code& cancelled) {
                            const std::lock_guard lock(self->mutex_);
                            if (!cancelled && !self->closed_) self->accept_all();
                          });
  });
}

void Acceptor::accept_all() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    SocketAddress peer;
    UniqueFd socket(
        socket_ops().accept(socket_.get(), peer.get(), &peer.length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      try {
        take(std::move(socket), to_address(peer));
      } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
        // Stack unwinding has closed the socket, so the peer sees that the connection has ended.
      }
      continue;
    }
    if (out_of_resources(errno)) {
      const bool of_descriptors = errno == EMFILE || errno == ENFILE;
      bool evicted = false;
      insist([&] { evicted = responders_.make_room(); });
      if (evicted && of_descriptors) continue;
      return pause();
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) break;
    // Any other error concerns one peer that has already closed its connection: accept the next
    // one.
  }
  wait();
}

void Acceptor::pause() {
  timer_.expires_after(kRetryPause);
  insist([this] {
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
      const std::lock_guard lock(self->mutex_);
      if (!cancelled && !self->closed_) self->wait();
    });
  });
}

void Acceptor::take(UniqueFd socket, const Address& peer) {
  if (prepare_connected(socket.get(), options_.congestion, former_congestion_)) return;
  if (made_.size() >= tidy_at_) {
    std::erase_if(made_, [](const auto& weak) {
      const auto connection = weak.lock();
      return connection == nullptr || connection->ended();
    });
    tidy_at_ = std::max(kTidyFrom, 2 * made_.size());
  }
  made_.emplace_back();
  auto& made = made_.back();
  made = responders_.respond(std::move(socket), peer, options_, channel_);
}

}  // namespace iwarp::net
