// SPDX-License-Identifier: Apache-2.0
// Control: the TCP connection on which the client and the server of a measurement exchange
// parameters and results, one JSON object per line. It is idle while the data is measured.
// Lobby: holds the clients of a server that serves one client at a time, until they have sent their
// plan. A silent client therefore delays no other client.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "measure/basics/epoll.hpp"
#include "measure/basics/socket.hpp"

namespace iwarp::apps::measure {

/// How long an end waits for a message of the other end, in addition to the duration of the
/// measurement.
inline constexpr std::chrono::seconds kTimeout{20};
/// How long an end waits for a TCP connection.
inline constexpr std::chrono::seconds kConnectPatience{10};
/// How long the client waits for the server after the first stop signal, which ends the measurement
/// early.
inline constexpr std::chrono::seconds kFinishTimeout{2};
/// Throws Interrupted if stop_requested(). If the first stop signal has ended the measurement early
/// (finish_requested()), throws Interrupted once kFinishTimeout has passed since that signal.
void check_stop(Clock::time_point now);
/// Number of polls between two checks of the clock and of stop signals in a thread that spins.
inline constexpr unsigned kSpinsBetweenLooks = 4096;
/// A function that is called with the current time while an end waits.
using Idle = std::function<void(Clock::time_point)>;
/// Maximum time for which an end sleeps before it checks the clock and stop signals. kIdleSleep
/// applies if an Idle function is set.
inline constexpr std::chrono::milliseconds kSleep{200};
inline constexpr std::chrono::milliseconds kIdleSleep{20};

class Control {
 public:
  explicit Control(Socket socket) : socket_(std::move(socket)) {}

  /// Sends an object. Throws PeerGone if the other end has closed the connection.
  void send(const nlohmann::json& object);
  /// Returns the next object. Throws Error if the object is {"error": why}, if the line is not a
  /// JSON object or exceeds 256 KiB, or if nothing arrives within `time_limit`. Throws PeerGone if
  /// the connection has ended.
  nlohmann::json receive(Clock::duration time_limit = kTimeout);
  /// Returns the member "port" of the next object. Throws as receive() does.
  std::uint16_t receive_port();
  /// What a client that must send the first line has done.
  enum class State : std::uint8_t { kWaits, kHasLine, kGone };
  /// Reads what has arrived, without waiting. After kHasLine, receive() does not wait.
  State look();
  /// Waits up to a second for an error message from the other end. Returns its text, or `otherwise`
  /// if no error arrives.
  std::string complaint(const std::string& otherwise);

 private:
  bool has_line();

  Socket socket_;
  std::string received_;
};

class Lobby {
 public:
  /// Maximum number of clients that wait. A further client evicts the oldest.
  static constexpr std::size_t kMost = 64;

  explicit Lobby(const net::Address& at) : listener_(at) { set_.watch(listener_.fd(), EPOLLIN); }
  std::uint16_t port() const { return listener_.port(); }
  /// Waits for a client whose first line has arrived, and returns its connection. Close it before
  /// the next call. Throws Error if the server cannot accept, or Interrupted on a stop signal.
  Control next();

 private:
  Listener listener_;
  Epoll set_;
  std::deque<Control> waiting_;  ///< the oldest client first
};

}  // namespace iwarp::apps::measure
