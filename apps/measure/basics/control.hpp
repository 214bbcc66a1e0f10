// SPDX-License-Identifier: Apache-2.0
// Control: the TCP connection on which client and server of a measurement agree and report, one
// JSON object per line. Idle while data is measured.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "measure/basics/socket.hpp"

namespace iwarp::apps::measure {

/// How long to wait for the other end's next message, in addition to the duration of the
/// measurement.
inline constexpr std::chrono::seconds kTimeout{20};
/// How long to wait for the server after a stop signal asked the client to finish early.
inline constexpr std::chrono::seconds kFinishTimeout{2};
/// Throws Interrupted if a stop signal has arrived, or if one asked to finish and kFinishTimeout
/// has passed.
void check_stop(Clock::time_point now);
/// How many times a thread spins between two checks of the clock and of stop signals.
inline constexpr unsigned kSpinsBetweenLooks = 4096;
/// Called with the current time while a wait lasts.
using Idle = std::function<void(Clock::time_point)>;
/// The longest sleep of either end before it checks the clock and stop signals: without and with an
/// Idle to call.
inline constexpr std::chrono::milliseconds kSleep{200};
inline constexpr std::chrono::milliseconds kIdleSleep{20};

class Control {
 public:
  explicit Control(Socket socket) : socket_(std::move(socket)) {}

  /// Sends an object. Throws PeerGone if the other end has closed the connection.
  void send(const nlohmann::json& object);
  /// Returns the next object. Throws Error if it is {"error": why}, not a JSON object, larger than
  /// 256 KiB, or late; PeerGone if the connection has ended.
  nlohmann::json receive(Clock::duration time_limit = kTimeout);
  /// Returns the error that the other end reports within a second; otherwise `otherwise`.
  std::string complaint(const std::string& otherwise);

 private:
  std::string receive_line(Clock::time_point deadline);

  Socket socket_;
  std::string received_;
};

}  // namespace iwarp::apps::measure
