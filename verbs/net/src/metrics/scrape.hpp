// SPDX-License-Identifier: Apache-2.0
// Scrape: the connection of one client of the metrics server, with one HTTP request and its
// response. The size of the request and the duration of the connection are limited. Runs on one
// thread.
#pragma once

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "driver/worker.hpp"
#include "iwarp/net/unique_fd.hpp"

namespace iwarp::net {

/// Returns the response to a request, or an empty string if the request is incomplete. `text`
/// returns the metrics. If `names_host`, refuses a request whose Host field does not name this
/// machine. Without this check, a web page could read the metrics through a DNS name that resolves
/// to this address.
std::string http_answer(std::string_view request, bool names_host,
                        const std::function<std::string()>& text);

class Scrape final : public std::enable_shared_from_this<Scrape> {
 public:
  static constexpr std::size_t kMaxRequest = 8 * 1024;
  /// Time limit from accepting the connection to the end of the response.
  static constexpr std::chrono::seconds kTimeout{5};

  Scrape(Worker& worker, UniqueFd socket, bool names_host, std::function<std::string()> text);
  void start();
  void end();
  bool is_over() const { return !socket_; }

 private:
  using Readiness = asio::posix::stream_descriptor;
  void wait(Readiness::wait_type what);
  void read();
  void write();

  UniqueFd socket_;
  const bool names_host_;
  const std::function<std::string()> text_;
  Readiness readiness_;
  asio::steady_timer timer_;
  std::array<char, kMaxRequest> request_{};
  std::size_t received_ = 0;
  std::string answer_;
  std::size_t sent_ = 0;
};

}  // namespace iwarp::net
