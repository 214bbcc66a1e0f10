// SPDX-License-Identifier: Apache-2.0
// Tests non-blocking sockets, and rpoll() and rselect() with rsockets and other descriptors
// together.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "sockets.hpp"

// The headers of rdma-core before 65 do not declare these.
extern "C" {
int repoll_create(int flags);
int repoll_ctl(int number, int operation, int fd, epoll_event* event);
int repoll_wait(int number, epoll_event* events, int most, int timeout);
}

namespace {

using namespace rsockets_test;
using Clock = std::chrono::steady_clock;

void make_nonblocking(const Socket& socket) {
  REQUIRE(rfcntl(socket.get(), F_SETFL, O_NONBLOCK) == 0);
  CHECK(rfcntl(socket.get(), F_GETFL) == O_NONBLOCK);
}

struct Event {
  int fd = ::eventfd(0, EFD_CLOEXEC);
  ~Event() { ::close(fd); }
  void happen() const {
    const std::uint64_t one = 1;
    REQUIRE(::write(fd, &one, sizeof one) == sizeof one);
  }
};

// [RCM-370]
TEST_CASE("a connection is established without a blocking call") {
  const Socket listener = listening();
  make_nonblocking(listener);
  CHECK(error_of(raccept(listener.get(), nullptr, nullptr)) == EAGAIN);
  CHECK(await(listener, POLLIN, 0) == 0);
  const Socket client = make_socket();
  make_nonblocking(client);
  if (try_connect(client, loopback(port_of(listener))) != 0) CHECK(errno == EINPROGRESS);
  CHECK(await(client, POLLOUT) == POLLOUT);
  CHECK(get_number(client, SOL_SOCKET, SO_ERROR) == 0);
  CHECK(await(listener, POLLIN) == POLLIN);
  const Socket server(raccept(listener.get(), nullptr, nullptr));
  CHECK(rsend(server.get(), "x", 1, 0) == 1);
  CHECK(await(client, POLLIN | POLLOUT) != 0);
  CHECK(await(client, POLLIN) == POLLIN);
}

TEST_CASE("raccept() allocates the descriptor of a connection, above those already in use") {
  const Socket listener = listening();
  const Socket client = connect_to(port_of(listener));
  REQUIRE(await(listener, POLLIN) == POLLIN);
  // librspreload opens /dev/null to reserve the number that the program sees, and then calls
  // raccept(). If the number of the rsocket were lower, select() in librspreload before rdma-core
  // 63 would report the wrong descriptor.
  std::array<int, 32> in_use{};
  for (int& fd : in_use) fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const Socket server(raccept(listener.get(), nullptr, nullptr));
  CHECK(server.get() > in_use.back());
  for (const int fd : in_use) ::close(fd);
}

TEST_CASE("the name of a socket can be queried while it connects") {
  const Socket listener = listening();
  const Socket client = make_socket();
  REQUIRE(rfcntl(client.get(), F_SETFL, O_NONBLOCK) == 0);
  CHECK(try_connect(client, loopback(port_of(listener))) == -1);
  while (await(client, POLLOUT, 0) == 0) place_of(client);
  const auto name = place_of(client);
  CHECK(name.sin_addr.s_addr == htonl(INADDR_LOOPBACK));
  CHECK(name.sin_port != 0);
}

// [RCM-371]
TEST_CASE("a refused connection is reported by rpoll() and SO_ERROR") {
  const Socket client = make_socket();
  make_nonblocking(client);
  CHECK(try_connect(client, loopback(1)) == -1);
  CHECK((errno == EINPROGRESS || errno == ECONNREFUSED));
  CHECK((await(client, POLLOUT) & (POLLERR | POLLOUT)) == (POLLERR | POLLOUT));
  CHECK(error_of(rsend(client.get(), "x", 1, 0)) == ENOTCONN);
}

// [RCM-369]
TEST_CASE("a non-blocking sender sends until the buffer is full, and again when there is room") {
  const Pair pair([](const Socket& socket) { set_number(socket, SOL_SOCKET, SO_RCVBUF, 10'000); });
  make_nonblocking(pair.client);
  std::array<char, 1> in{};
  CHECK(error_of(rrecv(pair.client.get(), in.data(), 1, 0)) == EAGAIN);
  CHECK(error_of(rrecv(pair.server.get(), in.data(), 1, MSG_DONTWAIT)) == EAGAIN);
  const auto sent = pattern(1'000'000);
  std::span left(sent);
  std::vector<std::uint8_t> got;
  int rounds = 0;
  while (!left.empty()) {
    const ssize_t count = rsend(pair.client.get(), left.data(), left.size(), 0);
    if (count > 0) {
      left = left.subspan(static_cast<std::size_t>(count));
      continue;
    }
    REQUIRE(errno == EAGAIN);
    ++rounds;
    const auto end = Clock::now() + std::chrono::milliseconds(kTimeoutMs);
    do {  // The server sends a credit update only after it has received enough bytes.
      REQUIRE(Clock::now() < end);
      // The client may see the update late.
      if (await(pair.server, POLLIN, 10) != POLLIN) continue;
      std::vector<std::uint8_t> part(15'000);
      const ssize_t came = rrecv(pair.server.get(), part.data(), part.size(), 0);
      REQUIRE(came > 0);
      got.insert(got.end(), part.begin(), part.begin() + came);
    } while (await(pair.client, POLLOUT, 10) != POLLOUT);
  }
  CHECK(rounds > 10);
  const auto rest = receive_all(pair.server, sent.size() - got.size());
  got.insert(got.end(), rest.begin(), rest.end());
  CHECK(got == sent);
}

// [RCM-372]
TEST_CASE("rpoll() waits for rsockets and other descriptors at once") {
  const Pair pair;
  const Event event;
  std::array waiting{pollfd{.fd = pair.server.get(), .events = POLLIN, .revents = 0},
                     pollfd{.fd = event.fd, .events = POLLIN, .revents = 0},
                     pollfd{.fd = -1, .events = POLLIN, .revents = 7}};
  CHECK(rpoll(waiting.data(), waiting.size(), 0) == 0);
  CHECK(rpoll(waiting.data(), waiting.size(), 5) == 0);
  CHECK(rpoll(&waiting[1], 1, 0) == 0);  // no rsocket
  SUBCASE("only the rsocket is ready") {
    std::jthread other([&] { CHECK(rsend(pair.client.get(), "x", 1, 0) == 1); });
    CHECK(rpoll(waiting.data(), waiting.size(), kTimeoutMs) == 1);
    CHECK(waiting[0].revents == POLLIN);
    CHECK(waiting[1].revents == 0);
  }
  SUBCASE("only the other descriptor is ready") {
    std::jthread other([&] { event.happen(); });
    CHECK(rpoll(waiting.data(), waiting.size(), -1) == 1);
    CHECK(waiting[0].revents == 0);
    CHECK(waiting[1].revents == POLLIN);
    CHECK(rpoll(&waiting[1], 1, -1) == 1);
  }
  SUBCASE("both are ready") {
    event.happen();
    REQUIRE(rsend(pair.client.get(), "x", 1, 0) == 1);
    REQUIRE(await(pair.server, POLLIN) == POLLIN);
    CHECK(rpoll(waiting.data(), waiting.size(), -1) == 2);
  }
  CHECK(waiting[2].revents == 0);
}

// [RCM-372]
TEST_CASE("rselect() reports the same events") {
  const Pair pair;
  const Event event;
  const int limit = std::max({pair.server.get(), pair.client.get(), event.fd}) + 1;
  fd_set read;
  fd_set write;
  const auto set = [&] {
    FD_ZERO(&read);
    FD_ZERO(&write);
    FD_SET(pair.server.get(), &read);
    FD_SET(event.fd, &read);
    FD_SET(pair.server.get(), &write);
  };
  set();
  CHECK(rselect(limit, &read, &write, nullptr, nullptr) == 1);
  CHECK(FD_ISSET(pair.server.get(), &write));
  CHECK_FALSE(FD_ISSET(pair.server.get(), &read));
  CHECK_FALSE(FD_ISSET(event.fd, &read));
  timeval soon{.tv_sec = 0, .tv_usec = 2000};
  set();
  CHECK(rselect(limit, &read, nullptr, nullptr, &soon) == 0);
  std::jthread other([&] { CHECK(rsend(pair.client.get(), "x", 1, 0) == 1); });
  set();
  CHECK(rselect(limit, &read, nullptr, nullptr, nullptr) == 1);
  CHECK(FD_ISSET(pair.server.get(), &read));
  event.happen();
  FD_ZERO(&read);
  FD_SET(event.fd, &read);
  CHECK(rselect(event.fd + 1, &read, nullptr, nullptr, nullptr) == 1);
  CHECK(FD_ISSET(event.fd, &read));
}

TEST_CASE("several threads wait for one rsocket, and each gets its part of the data") {
  const Pair pair;
  std::vector<std::jthread> readers;
  readers.reserve(4);
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&, i] {
      if (i % 2 == 0) CHECK(await(pair.server, POLLIN) == POLLIN);
      CHECK(receive_text(pair.server, 1) == "x");
    });
  }
  for (int i = 0; i < 4; ++i) CHECK(rsend(pair.client.get(), "x", 1, 0) == 1);
}

TEST_CASE("rpoll() reports the peer's shutdown") {
  Pair pair;
  SUBCASE("shutdown of one direction") {
    CHECK(rshutdown(pair.client.get(), SHUT_WR) == 0);
    CHECK((await(pair.server, POLLIN) & (POLLIN | POLLHUP)) == POLLIN);
  }
  SUBCASE("shutdown of both directions") {
    REQUIRE(rclose(pair.client.release()) == 0);
    CHECK(await(pair.server, POLLIN) == (POLLIN | POLLHUP));
  }
}

TEST_CASE("blocking calls time out if the program sets a limit") {
  const Pair pair;
  const timeval limit{.tv_sec = 0, .tv_usec = 5000};
  REQUIRE(rsetsockopt(pair.server.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
  std::array<char, 1> in{};
  CHECK(error_of(rrecv(pair.server.get(), in.data(), 1, 0)) == EAGAIN);
}

int watch(const Socket& poller, int operation, int fd, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = fd}};
  return repoll_ctl(poller.get(), operation, fd, &event);
}

/// Returns the descriptors that have events, in ascending order.
std::vector<int> ready(const Socket& poller, int timeout, int most = 8) {
  std::array<epoll_event, 8> events{};
  const int count = repoll_wait(poller.get(), events.data(), most, timeout);
  REQUIRE(count >= 0);
  std::vector<int> out(static_cast<std::size_t>(count));
  std::ranges::transform(std::span(events).first(out.size()), out.begin(),
                         [](const epoll_event& event) { return event.data.fd; });
  std::ranges::sort(out);
  return out;
}

// [RCM-393]
TEST_CASE("repoll_wait() reports rsockets and other descriptors") {
  const Pair pair;
  const Event event;
  const Socket poller(repoll_create(EPOLL_CLOEXEC));
  const int server = pair.server.get();
  REQUIRE(watch(poller, EPOLL_CTL_ADD, server, EPOLLIN) == 0);
  REQUIRE(watch(poller, EPOLL_CTL_ADD, event.fd, EPOLLIN) == 0);
  CHECK(ready(poller, 0).empty());
  send_all(pair.client, pattern(1));
  CHECK(ready(poller, kTimeoutMs) == std::vector{server});
  event.happen();
  std::vector both{server, event.fd};
  std::ranges::sort(both);
  CHECK(ready(poller, kTimeoutMs) == both);
  auto in_turn = ready(poller, kTimeoutMs, 1);
  in_turn.push_back(ready(poller, kTimeoutMs, 1).at(0));
  std::ranges::sort(in_turn);
  CHECK(in_turn == both);
  CHECK(watch(poller, EPOLL_CTL_DEL, event.fd, 0) == 0);
  CHECK(watch(poller, EPOLL_CTL_MOD, server, EPOLLIN | EPOLLONESHOT) == 0);
  CHECK(ready(poller, kTimeoutMs) == std::vector{server});
  CHECK(ready(poller, 0).empty());
  CHECK(watch(poller, EPOLL_CTL_MOD, server, EPOLLOUT) == 0);
  CHECK(ready(poller, kTimeoutMs) == std::vector{server});
}

// [RCM-393]
TEST_CASE("a descriptor that is closed leaves its poller") {
  const Socket poller(repoll_create(0));
  int before = -1;
  {
    const Socket socket = make_socket();
    const Event event;
    before = socket.get();
    REQUIRE(watch(poller, EPOLL_CTL_ADD, socket.get(), EPOLLIN) == 0);
    REQUIRE(watch(poller, EPOLL_CTL_ADD, event.fd, EPOLLIN) == 0);
  }
  CHECK(ready(poller, 0).empty());
  // The first rsocket gets this number, unless other threads have closed descriptors meanwhile.
  std::vector<Socket> later;
  do {
    later.push_back(make_socket());
  } while (later.back().get() < before);
  CHECK(watch(poller, EPOLL_CTL_ADD, later.back().get(), EPOLLIN) == 0);
}

// [RCM-393]
TEST_CASE("another thread may change and close a poller in which a thread waits") {
  Socket poller(repoll_create(0));
  const Event event;
  event.happen();
  std::atomic<int> rounds = 0;
  std::jthread waiter([&, number = poller.get()] {
    epoll_event got{};
    CHECK(repoll_wait(number, &got, 1, kTimeoutMs) == 1);
    CHECK(int{got.data.fd} == event.fd);
    CHECK(repoll_ctl(number, EPOLL_CTL_DEL, event.fd, nullptr) == 0);
    ++rounds;
    rounds.notify_one();
    CHECK(error_of(repoll_wait(number, &got, 1, kTimeoutMs)) == EBADF);
  });
  CHECK(watch(poller, EPOLL_CTL_ADD, event.fd, EPOLLIN) == 0);
  rounds.wait(0);
  CHECK(rclose(poller.release()) == 0);
}

// [RCM-393]
TEST_CASE("of two threads that wait for a poller, one gets an event with EPOLLONESHOT") {
  Socket poller(repoll_create(0));
  const std::array<Event, 2> events;
  for (const Event& event : events) {
    REQUIRE(watch(poller, EPOLL_CTL_ADD, event.fd, EPOLLIN | EPOLLONESHOT) == 0);
  }
  std::atomic<int> got = 0;
  std::atomic<int> wrong = 0;
  const auto take = [&, number = poller.get()] {
    epoll_event event{};
    while (repoll_wait(number, &event, 1, -1) == 1) {
      std::uint64_t value = 0;
      pollfd now{.fd = event.data.fd, .events = POLLIN, .revents = 0};
      if (::poll(&now, 1, 0) != 1 || ::read(now.fd, &value, sizeof value) != sizeof value) ++wrong;
      ++got;
      got.notify_one();
    }
  };
  {
    const std::jthread one(take);
    const std::jthread other(take);
    for (int round = 0; round < 300 && wrong == 0; ++round) {
      const Event& event = events[static_cast<std::size_t>(round % 2)];
      event.happen();
      got.wait(round);
      CHECK(watch(poller, EPOLL_CTL_MOD, event.fd, EPOLLIN | EPOLLONESHOT) == 0);
    }
    CHECK(rclose(poller.release()) == 0);
  }
  CHECK(wrong == 0);
  CHECK(got == 300);
}

// [RCM-393]
TEST_CASE("the calls for pollers fail with the errors of epoll(7)") {
  const Socket poller(repoll_create(0));
  const Event event;
  CHECK(error_of(repoll_create(1)) == EINVAL);
  CHECK(error_of(watch(poller, EPOLL_CTL_MOD, event.fd, EPOLLIN)) == ENOENT);
  CHECK(error_of(watch(poller, EPOLL_CTL_DEL, event.fd, 0)) == ENOENT);
  CHECK(watch(poller, EPOLL_CTL_ADD, event.fd, EPOLLIN) == 0);
  CHECK(error_of(watch(poller, EPOLL_CTL_ADD, event.fd, EPOLLIN)) == EEXIST);
  CHECK(error_of(watch(poller, EPOLL_CTL_ADD, poller.get(), EPOLLIN)) == EINVAL);
  CHECK(error_of(watch(poller, EPOLL_CTL_ADD, 123456, EPOLLIN)) == EBADF);
  CHECK(error_of(watch(poller, 99, event.fd, EPOLLIN)) == EINVAL);
  CHECK(error_of(repoll_ctl(poller.get(), EPOLL_CTL_MOD, event.fd, nullptr)) == EFAULT);
  epoll_event got{};
  CHECK(error_of(repoll_wait(poller.get(), &got, 0, 0)) == EINVAL);
  CHECK(error_of(repoll_wait(event.fd, &got, 1, 0)) == EBADF);
}

}  // namespace
