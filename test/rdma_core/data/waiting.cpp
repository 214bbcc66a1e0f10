// SPDX-License-Identifier: Apache-2.0
// Tests threads that wait for events while signals interrupt them, or while the object in which
// they wait is destroyed, and threads that destroy an object whose event is not acknowledged.
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <array>
#include <atomic>
#include <csignal>
#include <fstream>
#include <functional>

#include "captured_stderr.hpp"
#include "support.hpp"

namespace {

using namespace data;

std::atomic<int> signals_here = 0;
std::atomic<int> signals_elsewhere = 0;
std::atomic<long> program_thread = 0;

void count_signal(int /*number*/) {
  ++(::syscall(SYS_gettid) == program_thread ? signals_here : signals_elsewhere);
}

// [IBV-215]
TEST_CASE("frequent signals interrupt only the program's thread, and no transfer fails") {
  Pair pair;
  pair.a.write(0, "stormy");
  program_thread = ::syscall(SYS_gettid);
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = count_signal;  // Without SA_RESTART, the signal interrupts system calls.
  REQUIRE_EQ(::sigaction(SIGALRM, &action, &before), 0);
  const itimerval every{.it_interval = {0, 500}, .it_value = {0, 500}};
  REQUIRE_EQ(::setitimer(ITIMER_REAL, &every, nullptr), 0);
  for (int i = 0; i < 200 || signals_here < 100; ++i) {
    pair.b.write(0, "......");
    REQUIRE_EQ(ibv_req_notify_cq(pair.b.cq, 0), 0);
    REQUIRE_EQ(pair.b.post_recv(0, 0, 8), 0);
    REQUIRE_EQ(pair.a.post({.opcode = IBV_WR_SEND}, 0, 6), 0);
    ibv_cq* from = nullptr;
    void* context = nullptr;
    int error = 0;
    do {
      error = ibv_get_cq_event(pair.b.channel, &from, &context);
    } while (error != 0 && errno == EINTR);
    REQUIRE_EQ(error, 0);
    REQUIRE_EQ(pair.b.text(0, 6), "stormy");
    ibv_ack_cq_events(from, 1);
    success(pair.b.cq);
    success(pair.a.cq);
  }
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  CHECK_EQ(signals_elsewhere, 0);
}

/// A thread that waits for an event. The constructor returns once the thread is blocked.
class Waiter {
 public:
  explicit Waiter(std::function<void()> wait) : wait_(std::move(wait)) {
    REQUIRE(pthread_create(&thread_, nullptr, run, this) == 0);
    while (!sleeps()) std::this_thread::yield();
  }
  void join() { pthread_join(thread_, nullptr); }
  void cancel() {
    pthread_cancel(thread_);
    join();
  }
  void interrupt() {
    pthread_kill(thread_, SIGUSR1);
    join();
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
    ibv_context* const device = open_device();
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

// [IBV-214]
TEST_CASE("ibv_get_cq_event() follows O_NONBLOCK whenever a program changes it") {
  Pair pair;
  const auto take = [&] {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    const int error = ibv_get_cq_event(pair.b.channel, &cq, &context);
    if (error == 0) ibv_ack_cq_events(cq, 1);
    return error;
  };
  const int fd = pair.b.channel->fd;
  const int flags = ::fcntl(fd, F_GETFL);
  for (int i = 0; i < 3; ++i) {
    CAPTURE(i);
    REQUIRE(::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0);
    CHECK_EQ(take(), -1);
    CHECK_EQ(errno, EAGAIN);
    REQUIRE(::fcntl(fd, F_SETFL, flags) == 0);
    REQUIRE_EQ(ibv_req_notify_cq(pair.b.cq, 0), 0);
    Waiter waiter([&] { CHECK_EQ(take(), 0); });
    REQUIRE_EQ(pair.b.post_recv(0, 0, 8), 0);
    REQUIRE_EQ(pair.a.post({.opcode = IBV_WR_SEND}, 0, 6), 0);
    waiter.join();
    success(pair.b.cq);
    success(pair.a.cq);
  }
}

// [IBV-213, IBV-217]
TEST_CASE("destroying a queue waits for acknowledgements, says so, and tolerates too many") {
  const iwarp::test::CapturedStderr said;
  Pair pair;
  End& a = pair.a;
  REQUIRE_EQ(ibv_req_notify_cq(a.cq, 0), 0);
  REQUIRE_EQ(a.post_rdma(IBV_WR_RDMA_READ, pair.b, 0, 8, 0), 0);
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  REQUIRE(is_readable(a.channel->fd, kTimeoutMs));
  REQUIRE_EQ(ibv_get_cq_event(a.channel, &cq, &context), 0);
  REQUIRE_EQ(ibv_destroy_qp(std::exchange(a.qp, nullptr)), 0);
  std::atomic<bool> is_destroyed{false};
  std::jthread other([&, destroyed = std::exchange(a.cq, nullptr)] {
    CHECK_EQ(ibv_destroy_cq(destroyed), 0);
    is_destroyed = true;
  });
  CHECK(said.comes_to_have("ibv_destroy_cq waits until the program acknowledges 1 event "));
  CHECK_FALSE(is_destroyed);
  // The thread that has read the event may use the queue until it acknowledges the event.
  CHECK_EQ(success(cq).opcode, IBV_WC_RDMA_READ);
  ibv_ack_cq_events(cq, 100);
}

}  // namespace
