// SPDX-License-Identifier: Apache-2.0
// Tests channels: the order of events, the readiness of the descriptor, removal of events, and
// waking up a sleeping thread.
#include "iwarp/net/channel.hpp"

#include <doctest/doctest.h>
#include <poll.h>

#include <ostream>
#include <thread>
#include <type_traits>

#include "iwarp/net/channel_port.hpp"
#include "iwarp/net/completion_channel.hpp"

using namespace std::chrono_literals;
using namespace iwarp::net;

// A CompletionChannel must not convert to Channel&. When the socket of a connection becomes
// readable, the descriptor of a CompletionChannel also becomes readable, but the descriptor of a
// Channel does not.
static_assert(
    !std::is_base_of_v<Channel<iwarp::verbs::CompletionQueue*>, iwarp::net::CompletionChannel>);

namespace {

bool readable(int fd) {
  pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&one, 1, 0) == 1;
}

}  // namespace

TEST_CASE("a channel gives its events in order and is readable while it has some") {
  Channel<int> channel;
  CHECK_FALSE(readable(channel.fd()));
  CHECK_FALSE(channel.poll().has_value());
  ChannelPort::push(channel, 1);
  ChannelPort::push(channel, 2);
  CHECK(readable(channel.fd()));
  CHECK_EQ(channel.poll(), 1);
  CHECK(readable(channel.fd()));
  CHECK_EQ(channel.wait(0ms), 2);
  CHECK_FALSE(readable(channel.fd()));
  CHECK_FALSE(channel.wait(1ms).has_value());
}

TEST_CASE("removing events leaves the descriptor readable exactly if events remain") {
  Channel<int> channel;
  for (int i = 0; i < 6; ++i) ChannelPort::push(channel, i);
  ChannelPort::remove(channel, [](int i) { return i % 2 == 0; });
  CHECK_EQ(channel.poll(), 1);
  ChannelPort::remove(channel, [](int) { return true; });
  CHECK_FALSE(readable(channel.fd()));
  CHECK_FALSE(channel.poll().has_value());
}

TEST_CASE("a sleeper is woken by an event of another thread") {
  Channel<int> channel;
  std::jthread other([&] { ChannelPort::push(channel, 42); });
  CHECK_EQ(channel.wait(-1ms), 42);
}

namespace {

struct Counted {
  Counted() { ++alive; }
  Counted(const Counted&) { ++alive; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --alive; }
  inline static int alive = 0;
};

}  // namespace

TEST_CASE("reserved space is released with its owner, whether used or not") {
  Channel<Counted> channel;
  ChannelPort::reserve(channel);
  ChannelPort::reserve(channel);
  CHECK_EQ(Counted::alive, 2);
  ChannelPort::push(channel, {});
  ChannelPort::push(channel, {});
  CHECK(channel.poll().has_value());
  ChannelPort::remove(channel, [](const Counted&) { return true; });
  ChannelPort::unreserve(channel);
  ChannelPort::unreserve(channel);
  CHECK_EQ(Counted::alive, 0);
}
