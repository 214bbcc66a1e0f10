// SPDX-License-Identifier: Apache-2.0
// The thread of a Worker. Also checks that the kernel has accepted the descriptors that wake Asio's
// reactor, because Asio itself does not check it and would never wake up.
#include "driver/worker.hpp"

#include <sys/epoll.h>

#include <boost/asio/detail/reactor.hpp>
#include <cerrno>
#include <system_error>

#include "driver/gathered_posts.hpp"
#include "iwarp/net/quiet_thread.hpp"

namespace iwarp::net {
namespace {

#if defined(BOOST_ASIO_HAS_EPOLL)
using Reactor = asio::detail::epoll_reactor;

// Asio does not check whether the kernel has accepted the descriptors that wake a reactor, and has
// no accessor for these descriptors. This code checks them by reading Asio's private members, which
// an explicit template instantiation may name.
struct ReactorParts {
  int set;
  int waker;
  void* waker_reported;
  int timer;
  void* timer_reported;
};
ReactorParts parts_of(Reactor& reactor);
template <auto Set, auto Waker, auto Timer>
struct Parts {
  friend ReactorParts parts_of(Reactor& reactor) {
    return {.set = reactor.*Set,
            .waker = (reactor.*Waker).read_descriptor(),
            .waker_reported = &(reactor.*Waker),
            .timer = reactor.*Timer,
            .timer_reported = &(reactor.*Timer)};
  }
};
template struct Parts<&Reactor::epoll_fd_, &Reactor::interrupter_, &Reactor::timer_fd_>;

// Adds a descriptor in the same way as Asio does, unless the descriptor is in the set already.
void ensure(int set, int fd, std::uint32_t events, void* reported) {
  epoll_event event{.events = events, .data = {.ptr = reported}};
  if (::epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0 || errno == EEXIST) return;
  throw std::system_error(errno, std::generic_category(), "epoll_ctl");
}

void ensure_wakers(asio::io_context& context) {
  const auto parts = parts_of(asio::use_service<Reactor>(context));
  ensure(parts.set, parts.waker, EPOLLIN | EPOLLERR | EPOLLET, parts.waker_reported);
  if (parts.timer < 0) return;  // This reactor has no timer descriptor.
  ensure(parts.set, parts.timer, EPOLLIN | EPOLLERR, parts.timer_reported);
}
#else
void ensure_wakers(asio::io_context&) {}
#endif

}  // namespace

Worker::Worker(std::chrono::microseconds busy_poll)
    : busy_poll_(busy_poll), gather_timer_(std::make_unique<GatherTimer>(*this)) {
  ensure_wakers(context_);
  thread_ = quiet_thread([this] { run(); });
}

Worker::~Worker() { join(); }

// Handlers catch std::bad_alloc themselves. If a handler throws std::bad_alloc nevertheless, only
// the work of that handler is lost, because insist() calls work() again.
void Worker::run() {
  insist([this] { work(); });
}

void Worker::work() {
  using Clock = std::chrono::steady_clock;
  if (busy_poll_.count() == 0) {
    context_.run();
    return;
  }
  while (context_.run_one() != 0) {
    for (auto last = Clock::now(); Clock::now() - last < busy_poll_;) {
      if (context_.poll() != 0) last = Clock::now();
    }
  }
}

void Worker::join() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace iwarp::net
