// SPDX-License-Identifier: Apache-2.0
// LingeringClose: closes a socket whose queue pair is gone while TCP still has octets of that queue
// pair to send. It half-closes at once, then reads and drops what the peer still sends until the
// peer closes as well. Octets that stay unread, or that arrive at a closed socket, would make TCP
// reset the connection and discard what it has not sent.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <memory>
#include <vector>

#include "driver/worker.hpp"
#include "iwarp/mpa/startup.hpp"
#include "iwarp/net/unique_fd.hpp"

namespace iwarp::net {

class LingeringClose final : public std::enable_shared_from_this<LingeringClose> {
  struct Private {};

 public:
  /// Starts to send `rest`, then the FIN, and returns without waiting. The worker continues, and
  /// closes the socket when the peer has closed, `limit` has passed or the worker itself ends.
  static void start(Worker& worker, UniqueFd socket, mpa::Duration limit,
                    std::vector<std::byte> rest);
  /// Returns whether many closes are in progress. Then a rejected peer's socket is closed at
  /// once: peers that never close could otherwise exhaust the descriptors of this process.
  static bool are_many();
  /// Sends the FIN and drops what has arrived, without waiting.
  static void finish(UniqueFd socket);
  LingeringClose(Private, Worker& worker, UniqueFd socket, std::vector<std::byte> rest);
  ~LingeringClose();

 private:
  void begin(mpa::Duration limit);
  void send_rest();
  void wait();

  UniqueFd socket_;
  std::vector<std::byte> rest_;
  asio::posix::stream_descriptor readiness_;
  asio::steady_timer timer_;
};

}  // namespace iwarp::net
