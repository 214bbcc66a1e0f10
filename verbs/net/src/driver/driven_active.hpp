// SPDX-License-Identifier: Apache-2.0
// DrivenConnection::Active: the state that a connection has only while its socket is open. use()
// accesses that state outside a turn.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <new>

#include "driver/driven_connection.hpp"

namespace iwarp::net {

struct DrivenConnection::Active {
  Active(Worker& worker, Setup setup, verbs::QpDriver& driver)
      : socket(std::move(setup.socket)),
        close_timeout(setup.options.close_timeout),
        acknowledges(setup.options.completions == verbs::Completions::kAcknowledged),
        is_loose(setup.options.latitude != nullptr),
        tap(std::move(setup.tap)),
        client(std::move(setup.client)),
        carrier(std::move(setup.carrier)),
        core(setup.role, setup.qp, driver, setup.options, tap.get()),
        waits(std::make_shared<SocketWaits>(worker)),
        timer(worker.context()) {}

  UniqueFd socket;
  const verbs::Duration close_timeout;
  const bool acknowledges;  ///< whether the peer may ask which of its messages have arrived
  const bool is_loose;      ///< whether the connection has a Latitude
  std::unique_ptr<verbs::WireTap> tap;
  std::unique_ptr<ConnectionClient> client;
  const std::unique_ptr<Carrier> carrier;  ///< null if MPA uses the TCP socket directly
  verbs::Connection core;
  /// The pending waits of the worker's reactor for the socket. The handlers of these waits share
  /// this object. Unlike the connection, it must not outlive the worker.
  const std::shared_ptr<SocketWaits> waits;

  static constexpr verbs::TimePoint kNever = verbs::TimePoint::max();
  asio::steady_timer timer;
  verbs::TimePoint timer_at = kNever;
  /// Deadline for sending the Reply, if the Reply rejects the peer.
  verbs::TimePoint linger_until = kNever;
  /// The receive call of the last poll that found the socket empty. The next poll repeats it,
  /// unless a turn since then may have changed the buffers.
  struct Awaited {
    std::array<iovec, 4> pieces{};
    std::size_t octets = 0;  ///< 0 if the next poll must not repeat the call
    msghdr message{};
    /// Result of the repeated call, until take_answer() has handled it.
    std::optional<ssize_t> answer;
  };
  Awaited awaited;
  FinState fin = FinState::kOpen;
  std::uint32_t sends_since_emss = 0;
  std::uint64_t send_calls = 0;
  std::uint64_t receive_calls = 0;
  std::uint64_t octets_received = 0;
  std::uint64_t wakeups = 0;
  /// number of poll(2) calls in which polling threads asked for room to send
  std::uint64_t wait_calls = 0;
};

// Calls `function` with the lock held, unless the connection has ended. Then drives the connection.
// Returns false if memory ran out; the connection is then lost.
template <typename Function>
bool DrivenConnection::use(Function function) {
  bool whole = true;
  locked([&] {
    try {
      if (active_ != nullptr) function(*active_);
    } catch (const std::bad_alloc&) {
      whole = false;
      give_up();
    }
  });
  return whole;
}

}  // namespace iwarp::net
