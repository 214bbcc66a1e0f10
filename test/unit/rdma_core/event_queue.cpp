// SPDX-License-Identifier: Apache-2.0
// Tests that the queue's file descriptor is readable exactly while events are queued, whatever the
// program does with the descriptor.
#include "process/event_queue.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <thread>

using iwarp::rdma_core::EventQueue;

namespace {

bool readable(int fd) {
  pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, 0) == 1;
}

}  // namespace

TEST_CASE("events come in order, and the descriptor is readable while any are queued") {
  EventQueue<int> queue;
  CHECK_FALSE(readable(queue.fd()));
  queue.push(1);
  queue.push(2);
  CHECK(readable(queue.fd()));
  CHECK(queue.get() == 1);
  CHECK(readable(queue.fd()));
  CHECK(queue.get() == 2);
  CHECK_FALSE(readable(queue.fd()));
}

TEST_CASE("a program that made the descriptor non-blocking gets EAGAIN") {
  EventQueue<int> queue;
  fcntl(queue.fd(), F_SETFL, fcntl(queue.fd(), F_GETFL) | O_NONBLOCK);
  CHECK(queue.get().error() == EAGAIN);
  queue.push(7);
  CHECK(queue.get() == 7);
}

TEST_CASE("removing events also removes their counts from the descriptor") {
  EventQueue<int> queue;
  for (int i = 0; i < 10; ++i) queue.push(i);
  CHECK(queue.remove([](int i) { return i % 2 == 0; }) == 5);
  for (int i = 1; i < 10; i += 2) CHECK(queue.get() == i);
  CHECK_FALSE(readable(queue.fd()));
  CHECK(queue.remove([](int) { return true; }) == 0);
}

TEST_CASE("moved events arrive at the other queue, and the others stay") {
  EventQueue<int> from;
  EventQueue<int> to;
  for (int i = 0; i < 4; ++i) from.push(i);
  from.move_to(to, [](int i) { return i >= 2; });
  CHECK(to.get() == 2);
  CHECK(to.get() == 3);
  CHECK_FALSE(readable(to.fd()));
  CHECK(from.get() == 0);
  CHECK(from.get() == 1);
  CHECK_FALSE(readable(from.fd()));
}

TEST_CASE("an event withdrawn from a thread that is about to read it leaves no count behind") {
  bool is_moved = false;
  SUBCASE("removed") {}
  SUBCASE("moved to another queue") { is_moved = true; }
  // The reader has to wake up before it can take the lock, so push() below almost always takes the
  // lock first.
  for (int round = 0; round < 100; ++round) {
    EventQueue<int> queue;
    EventQueue<int> other;
    std::expected<int, int> taken;
    std::jthread reader;
    const auto with_reader_behind = [&](int) {
      reader = std::jthread([&] { taken = queue.get(); });
      while (readable(queue.fd())) std::this_thread::yield();
      return true;
    };
    queue.push(1);
    if (is_moved) {
      CHECK(queue.move_to(other, with_reader_behind) == 1);
    } else {
      CHECK(queue.remove(with_reader_behind) == 1);
    }
    queue.push(2);
    reader.join();
    CHECK(taken == 2);
    REQUIRE_FALSE(readable(queue.fd()));
    CHECK(readable(other.fd()) == is_moved);
  }
}

// [IBV-596]
TEST_CASE("concurrent readers, writers and removers lose no event and never block for ever") {
  constexpr int kEach = 20000;
  EventQueue<int> queue;
  std::atomic<int> taken{0};
  std::atomic<int> removed{0};
  std::thread writer([&] {
    for (int i = 0; i < kEach; ++i) queue.push(i);
  });
  std::thread remover([&] {
    while (taken + removed < kEach) {
      removed += static_cast<int>(queue.remove([](int i) { return i % 3 == 0; }));
    }
  });
  std::thread reader([&] {
    for (;;) {
      const auto event = queue.get();
      if (!event || *event < 0) return;
      ++taken;
    }
  });
  writer.join();
  remover.join();
  queue.push(-1);
  reader.join();
  CHECK(taken + removed == kEach);
  CHECK_FALSE(readable(queue.fd()));
}
