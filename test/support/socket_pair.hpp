// SPDX-License-Identifier: Apache-2.0
// Two ends of a connection over loopback, and helpers for the tests that use them. Every wait is
// for an event, with a timeout that expires only if the tested code is broken.
#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <ostream>
#include <string_view>
#include <thread>
#include <vector>

#include "iwarp/net/rnic.hpp"
#include "iwarp/net/statistics.hpp"
#include "iwarp/verbs/region.hpp"

namespace iwarp::net {

using namespace std::chrono_literals;
using verbs::Errc;
using verbs::WrOpcode;
using Type = CmEvent::Type;
inline constexpr auto kLimit = 60s;

inline std::vector<std::byte> octets(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

/// Waits until `condition` returns true. Returns false if that takes too long.
template <typename Condition>
bool comes_true(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kLimit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Returns octets that differ by position and by seed.
inline std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> out(size);
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = static_cast<std::byte>((i * 7 + (i >> 8) * 13 + seed * 31) & 0xFF);
  }
  return out;
}

/// Returns the number of set-ups that failed because of `why`.
inline std::uint64_t failed_by(const SetupStatistics& setups, SetupFailure why) {
  return setups.failed.at(static_cast<std::size_t>(why));
}

inline std::unique_ptr<Rnic> open_rnic(const RnicOptions& options = {}) {
  auto rnic = Rnic::open(options);
  REQUIRE(rnic.has_value());
  return std::move(*rnic);
}

template <typename T>
T must(Expected<T> value) {
  REQUIRE_MESSAGE(value.has_value(), (value ? std::string() : value.error().message()));
  return std::move(*value);
}

inline CmEvent next(CmChannel& channel) {
  auto event = channel.wait(kLimit);
  REQUIRE(event.has_value());
  return std::move(*event);
}

inline CmEvent expect(CmChannel& channel, Type type) {
  auto event = next(channel);
  INFO("why: ", event.why);
  REQUIRE_EQ(static_cast<int>(event.type), static_cast<int>(type));
  return event;
}

/// One end: a protection domain, a completion queue with its channel, a buffer that allows every
/// access, and a queue pair.
struct End {
  explicit End(Rnic& device, std::size_t size = 1 << 16, unsigned seed = 1)
      : rnic(device),
        pd(must(rnic.alloc_pd())),
        cm(must(rnic.create_cm_channel())),
        channel(must(rnic.create_channel())),
        cq(must(rnic.create_cq(1024, channel.get()))),
        buffer(pattern(size, seed)),
        memory(must(rnic.register_memory(
            *pd, std::span(buffer),
            Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead))),
        qp(make_qp()) {}

  QpHandle make_qp() {
    return must(
        rnic.create_qp(*pd, {.send_cq = cq.get(), .recv_cq = cq.get(), .signal_all = true}));
  }

  verbs::Sge sge(std::size_t at, std::size_t length) {
    return {.address = buffer.data() + at,
            .length = static_cast<std::uint32_t>(length),
            .lkey = memory.stag()};
  }
  verbs::RemoteAddress remote(std::size_t at) {
    return {.rkey = memory.stag(), .to = memory.to(buffer.data() + at)};
  }
  void post_recv(std::size_t at, std::size_t length, std::uint64_t id = 0) {
    const auto one = sge(at, length);
    REQUIRE_FALSE(qp->post_recv({.wr_id = id, .sgl = std::span(&one, 1)}));
  }
  std::error_code post(WrOpcode opcode, std::size_t at, std::size_t length,
                       verbs::RemoteAddress to = {}, std::uint64_t id = 0) {
    const auto one = sge(at, length);
    return qp->post_send({.wr_id = id, .opcode = opcode, .sgl = std::span(&one, 1), .remote = to});
  }
  /// Blocks until the next completion arrives and returns it. `block` returns when there is an
  /// event in the channel, and removes it.
  template <typename Block>
  verbs::WorkCompletion completion(Block block) {
    verbs::WorkCompletion wc;
    for (;;) {
      if (cq->poll(std::span(&wc, 1)) == 1) return wc;
      cq->arm(verbs::Notify::kNext);
      if (cq->poll(std::span(&wc, 1)) == 1) return wc;
      block();
    }
  }
  verbs::WorkCompletion completion() {
    return completion([this] { REQUIRE(channel->wait(kLimit).has_value()); });
  }
  /// Busy-polls until the next completion arrives and returns it.
  verbs::WorkCompletion spin() {
    verbs::WorkCompletion wc;
    const auto end = std::chrono::steady_clock::now() + kLimit;
    while (cq->poll(std::span(&wc, 1)) == 0) REQUIRE(std::chrono::steady_clock::now() < end);
    return wc;
  }
  void expect_success() {
    REQUIRE_EQ(to_string(completion().status), to_string(verbs::WcStatus::kSuccess));
  }
  /// Posts a request and waits until it has succeeded.
  void perform(WrOpcode opcode, std::size_t at, std::size_t length, verbs::RemoteAddress to = {}) {
    REQUIRE_FALSE(post(opcode, at, length, to));
    expect_success();
  }

  Rnic& rnic;
  std::unique_ptr<ProtectionDomain> pd;
  CmChannelHandle cm;
  std::unique_ptr<CompletionChannel> channel;
  CqHandle cq;
  std::vector<std::byte> buffer;
  Memory memory;
  QpHandle qp;
};

/// Connects `of_a` to `of_b` through the listener at `at`. The channel of `b` receives the
/// connection requests.
template <typename Qp>
void join(End& a, Qp& of_a, End& b, Qp& of_b, const Address& at,
          const ConnectOptions& options = {}) {
  REQUIRE_FALSE(a.rnic.connect(of_a, at, options, *a.cm));
  auto request = expect(*b.cm, Type::kConnectRequest);
  REQUIRE_FALSE(request.request->accept(of_b));
  expect(*a.cm, Type::kEstablished);
  // Without an RTR the passive side is established at once, otherwise when the RTR arrives.
  expect(*b.cm, Type::kEstablished);
}
inline void join(End& a, End& b) {
  const auto listener = must(b.rnic.listen({"127.0.0.1", 0}, {}, *b.cm));
  join(a, *a.qp, b, *b.qp, listener->local());
}

/// Two ends on the same device. The second end has a listener.
struct Pair {
  explicit Pair(std::size_t size = 1 << 16, const RnicOptions& options = {},
                const Address& at = {"127.0.0.1", 0}, const ListenOptions& listen = {})
      : rnic(open_rnic(options)),
        a(*rnic, size, 1),
        b(*rnic, size, 2),
        listener(must(rnic->listen(at, listen, *b.cm))) {}
  explicit Pair(const ListenOptions& listen) : Pair(1 << 16, {}, {"127.0.0.1", 0}, listen) {}

  /// Connects a to b.
  void connect(const ConnectOptions& options = {}) {
    join(a, *a.qp, b, *b.qp, listener->local(), options);
  }
  /// Starts to connect a to the listener.
  void start(const ConnectOptions& options = {}) { start(options, listener->local()); }
  void start(const ConnectOptions& options, const Address& to) {
    REQUIRE_FALSE(rnic->connect(*a.qp, to, options, *a.cm));
  }
  /// Accepts the next request, which need not be a's, with b.
  void accept() { REQUIRE_FALSE(expect(*b.cm, Type::kConnectRequest).request->accept(*b.qp)); }
  /// Waits until both ends have been notified that the connection has ended.
  void expect_disconnected() {
    expect(*a.cm, Type::kDisconnected);
    expect(*b.cm, Type::kDisconnected);
  }

  std::unique_ptr<Rnic> rnic;
  End a;
  End b;
  std::unique_ptr<Listener> listener;
};

/// A Pair that is connected.
struct Established : Pair {
  explicit Established(std::size_t size = 1 << 16) : Pair(size) { connect(); }
  explicit Established(const ListenOptions& listen) : Pair(listen) { connect(); }
};

/// Exchanges `rounds` Sends in each direction. `wait` returns the next completion of the given end.
template <typename Wait>
void ping_pong(Pair& pair, int rounds, Wait wait) {
  pair.b.post_recv(0, 64, 1);
  std::jthread echo([&] {
    for (int i = 0; i < rounds; ++i) {
      while (wait(pair.b).opcode != verbs::WcOpcode::kRecv) {
      }
      pair.b.post_recv(0, 64, 1);
      REQUIRE_FALSE(pair.b.post(WrOpcode::kSend, 0, 64));
    }
  });
  for (int i = 0; i < rounds; ++i) {
    pair.a.buffer[0] = static_cast<std::byte>(i);
    pair.a.post_recv(64, 64, 2);
    REQUIRE_FALSE(pair.a.post(WrOpcode::kSend, 0, 64));
    while (wait(pair.a).opcode != verbs::WcOpcode::kRecv) {
    }
    REQUIRE_EQ(pair.a.buffer[64], static_cast<std::byte>(i));
  }
}

}  // namespace iwarp::net
