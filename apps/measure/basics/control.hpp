// SPDX-License-Identifier: Apache-2.0
// Control: the TCP connection on which client and server of a measurement agree and report, one
// JSON object a line. Idle while octets are measured.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "measure/basics/socket.hpp"

namespace iwarp::apps::measure {

/// For the other end's next move, beyond the duration of what is measured.
inline constexpr std::chrono::seconds kTimeout{20};
/// For the server, once the client was asked to finish early.
inline constexpr std::chrono::seconds kFinishTimeout{2};
/// Interrupted: a stop signal came, or one that asked to finish, and kFinishTimeout has passed.
void check_stop(Clock::time_point now);
/// Of a thread that spins, between two looks at the clock and at stop signals.
inline constexpr unsigned kSpinsBetweenLooks = 4096;
/// Called while a wait lasts, with the time.
using Idle = std::function<void(Clock::time_point)>;
/// The longest sleep of either end before it looks at the clock and at stop signals, and of one
/// that has an Idle to call.
inline constexpr std::chrono::milliseconds kSleep{200};
inline constexpr std::chrono::milliseconds kIdleSleep{20};

class Control {
 public:
  explicit Control(Socket socket) : socket_(std::move(socket)) {}

  /// PeerGone: nobody listens any more.
  void send(const nlohmann::json& object);
  /// The next object. Error: it is {"error": why}, no JSON object, above 256 KiB, or late.
  /// PeerGone.
  nlohmann::json receive(Clock::duration time_limit = kTimeout);
  /// What the other end complains of, if that comes soon; else `otherwise`.
  std::string complaint(const std::string& otherwise);

 private:
  std::string receive_line(Clock::time_point deadline);

  Socket socket_;
  std::string received_;
};

}  // namespace iwarp::apps::measure
