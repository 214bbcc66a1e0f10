// SPDX-License-Identifier: Apache-2.0
// Tests completion channels and the file descriptors behind events. A program may poll these
// descriptors, set O_NONBLOCK, interrupt a wait by a signal, and acknowledge fewer or more events
// than it received.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "endpoint.hpp"

namespace {

using namespace rdma_core_test;

/// Posts a receive and sends one message, which consumes it. The message is solicited if `flags`
/// contains IBV_SEND_SOLICITED. Does not poll the queues.
void send_one(Pair& pair, const Buffer& out, const Buffer& in, unsigned flags = 0) {
  REQUIRE(pair.server.receive(in.sge()) == 0);
  REQUIRE(pair.client.send(out.sge(), IBV_SEND_SIGNALED | flags) == 0);
}

/// Receives the next event of a channel. Fails if none arrives in time.
void take_event(const CompChannel& channel, const Cq& cq) {
  REQUIRE(is_readable(channel->fd, kTimeoutMs));
  ibv_cq* from = nullptr;
  void* context = nullptr;
  REQUIRE(ibv_get_cq_event(channel.get(), &from, &context) == 0);
  CHECK(from == cq.get());
}

TEST_CASE("an armed queue gives one event, and the descriptor is readable until it is read") {
  Pair pair;
  const Buffer out(pair.client.pd.get(), "x");
  const Buffer in(pair.server.pd.get(), 8);
  const int fd = pair.server.receive_channel->fd;
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event interest{.events = EPOLLIN, .data = {.fd = fd}};
  REQUIRE(::epoll_ctl(set, EPOLL_CTL_ADD, fd, &interest) == 0);

  send_one(pair, out, in);
  End::done(pair.server.receive_cq);
  CHECK_FALSE(is_readable(fd));  // The queue is not armed.
  REQUIRE(ibv_req_notify_cq(pair.server.receive_cq.get(), 0) == 0);
  send_one(pair, out, in);
  epoll_event seen{};
  CHECK(::epoll_wait(set, &seen, 1, kTimeoutMs) == 1);
  take_event(pair.server.receive_channel, pair.server.receive_cq);
  CHECK_FALSE(is_readable(fd));
  CHECK(::epoll_wait(set, &seen, 1, 0) == 0);
  End::done(pair.server.receive_cq);
  ibv_ack_cq_events(pair.server.receive_cq.get(), 1);
  ::close(set);
}

TEST_CASE("a non-blocking channel gives EAGAIN") {
  Pair pair;
  REQUIRE(::fcntl(pair.server.receive_channel->fd, F_SETFL, O_NONBLOCK) == 0);
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  errno = 0;
  CHECK(ibv_get_cq_event(pair.server.receive_channel.get(), &cq, &context) == -1);
  CHECK(errno == EAGAIN);
  REQUIRE(::fcntl(pair.channel->fd, F_SETFL, O_NONBLOCK) == 0);
  rdma_cm_event* event = nullptr;
  errno = 0;
  CHECK(rdma_get_cm_event(pair.channel.get(), &event) == -1);
  CHECK(errno == EAGAIN);
}

TEST_CASE("a queue can be destroyed if more of its events were acknowledged than it had") {
  for (const unsigned acknowledged : {1U, 7U}) {
    CAPTURE(acknowledged);
    Pair pair;
    const Buffer out(pair.client.pd.get(), "x");
    const Buffer in(pair.server.pd.get(), 8);
    REQUIRE(ibv_req_notify_cq(pair.server.receive_cq.get(), 0) == 0);
    send_one(pair, out, in);
    take_event(pair.server.receive_channel, pair.server.receive_cq);
    ibv_ack_cq_events(pair.server.receive_cq.get(), acknowledged);
  }
}

TEST_CASE("destroying a queue removes its events") {
  Pair pair;
  const Buffer out(pair.client.pd.get(), "x");
  const Buffer in(pair.server.pd.get(), 8);
  REQUIRE(ibv_req_notify_cq(pair.server.receive_cq.get(), 0) == 0);
  send_one(pair, out, in);
  const int fd = pair.server.receive_channel->fd;
  REQUIRE(is_readable(fd, kTimeoutMs));
  pair.server.id.reset();
  pair.server.receive_cq.reset();
  CHECK_FALSE(is_readable(fd));
}

TEST_CASE("a queue armed for solicited completions notifies about these and about errors") {
  Pair pair;
  const Buffer out(pair.client.pd.get(), "x");
  const Buffer in(pair.server.pd.get(), 8);
  ibv_cq* const cq = pair.server.receive_cq.get();
  const int fd = pair.server.receive_channel->fd;

  REQUIRE(ibv_req_notify_cq(cq, 1) == 0);
  send_one(pair, out, in);
  End::done(pair.server.receive_cq);
  CHECK_FALSE(is_readable(fd));
  send_one(pair, out, in, IBV_SEND_SOLICITED);
  take_event(pair.server.receive_channel, pair.server.receive_cq);
  End::done(pair.server.receive_cq);

  REQUIRE(ibv_req_notify_cq(cq, 1) == 0);
  REQUIRE(pair.server.receive(in.sge()) == 0);
  REQUIRE(rdma_disconnect(pair.client.id.get()) == 0);
  take_event(pair.server.receive_channel, pair.server.receive_cq);
  CHECK(End::next(pair.server.receive_cq).status == IBV_WC_WR_FLUSH_ERR);
  ibv_ack_cq_events(cq, 2);
}

TEST_CASE("destroying an id removes its events") {
  const Channel channel = make_channel();
  {
    const Id id = make_id(channel);
    REQUIRE(rdma_resolve_addr(id.get(), nullptr, Address("127.0.0.1", 1).get(), 1000) == 0);
    REQUIRE(is_readable(channel->fd, kTimeoutMs));
  }
  CHECK_FALSE(is_readable(channel->fd));
}

std::atomic<int> signals_here = 0;
std::atomic<int> signals_elsewhere = 0;
std::atomic<long> program_thread = 0;

void count_signal(int /*number*/) {
  ++(::syscall(SYS_gettid) == program_thread ? signals_here : signals_elsewhere);
}

TEST_CASE("frequent signals interrupt only the program's thread, and no transfer fails") {
  Pair pair;
  const Buffer out(pair.client.pd.get(), "stormy");
  const Buffer in(pair.server.pd.get(), 8);
  program_thread = ::syscall(SYS_gettid);
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = count_signal;  // Without SA_RESTART, the signal interrupts system calls.
  REQUIRE(::sigaction(SIGALRM, &action, &before) == 0);
  const itimerval every{.it_interval = {0, 500}, .it_value = {0, 500}};
  REQUIRE(::setitimer(ITIMER_REAL, &every, nullptr) == 0);

  const Cq& cq = pair.server.receive_cq;
  bool right = true;
  for (int i = 0; i < 200 || signals_here < 100; ++i) {
    right = right && ibv_req_notify_cq(cq.get(), 0) == 0 && pair.server.receive(in.sge()) == 0 &&
            pair.client.send(out.sge()) == 0;
    ibv_cq* from = nullptr;
    void* context = nullptr;
    int error = 0;
    do {
      error = ibv_get_cq_event(pair.server.receive_channel.get(), &from, &context);
    } while (error != 0 && errno == EINTR);
    right = right && error == 0 && in.text(6) == "stormy";
    ibv_ack_cq_events(cq.get(), 1);
    End::done(cq);
    End::done(pair.client.send_cq);
  }
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  CHECK(right);
  CHECK(signals_elsewhere == 0);
}

/// A thread that waits for an event. The constructor returns once the thread is blocked.
class Waiter {
 public:
  explicit Waiter(std::function<void()> wait) : wait_(std::move(wait)) {
    REQUIRE(pthread_create(&thread_, nullptr, run, this) == 0);
    while (!sleeps()) std::this_thread::yield();
  }
  void cancel() {
    pthread_cancel(thread_);
    pthread_join(thread_, nullptr);
  }
  void interrupt() {
    pthread_kill(thread_, SIGUSR1);
    pthread_join(thread_, nullptr);
  }

 private:
  static void* run(void* self) {
    auto& waiter = *static_cast<Waiter*>(self);
    waiter.tid_ = ::syscall(SYS_gettid);
    waiter.wait_();
    return nullptr;
  }
  bool sleeps() const {
    std::ifstream in("/proc/self/task/" + std::to_string(tid_) + "/syscall");
    long number = -1;
    return (in >> number) && (number == SYS_read || number == SYS_poll || number == SYS_ppoll);
  }

  const std::function<void()> wait_;
  std::atomic<long> tid_ = 0;
  pthread_t thread_{};
};

// If a cancelled system call unwinds a thread, ThreadSanitizer misses later atomic operations of
// that thread.
#ifdef __SANITIZE_THREAD__
constexpr std::array kCancelled{false};
#else
constexpr std::array kCancelled{true, false};
#endif

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST_CASE("an object in which a thread waits exists until the thread is cancelled or returns") {
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = [](int) {};
  REQUIRE(::sigaction(SIGUSR1, &action, &before) == 0);
  for (const bool cancelled : kCancelled) {
    const auto end = [cancelled](Waiter& waiter, int fd) {
      CHECK(is_open(fd));
      cancelled ? waiter.cancel() : waiter.interrupt();
      CHECK_FALSE(is_open(fd));
    };
    ibv_context* const device = open_device().release();
    ibv_comp_channel* const channel = ibv_create_comp_channel(device);
    Waiter in_channel([channel] {
      ibv_cq* cq = nullptr;
      void* context = nullptr;
      CHECK(ibv_get_cq_event(channel, &cq, &context) == -1);
    });
    const int channel_fd = channel->fd;
    REQUIRE(ibv_destroy_comp_channel(channel) == 0);
    end(in_channel, channel_fd);

    Waiter in_device([device] {
      ibv_async_event event{};
      CHECK(ibv_get_async_event(device, &event) == -1);
    });
    const int device_fd = device->async_fd;
    REQUIRE(ibv_close_device(device) == 0);
    end(in_device, device_fd);
  }
  ::sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
