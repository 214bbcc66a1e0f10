// SPDX-License-Identifier: Apache-2.0
// LingeringClose: closes the socket of a destroyed queue pair while TCP still has octets of that
// queue pair to send. It half-closes the socket, then reads and drops input until the peer closes
// as well. Input that stays unread, or that arrives at a closed socket, would make TCP reset the
// connection and discard unsent octets.
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
  /// Starts to send `rest` and then the FIN, and returns without waiting. The worker continues, and
  /// closes the socket when the peer has closed, when `limit` has passed, or when the worker ends.
  static void start(Worker& worker, UniqueFd socket, mpa::Duration limit,
                    std::vector<std::byte> rest);
  /// Returns whether many LingeringCloses are in progress. The caller then closes the socket of a
  /// rejected peer at once, because peers that never close could otherwise exhaust the descriptors
  /// of this process.
  static bool are_many();
  /// Sends the FIN, drops the octets that have arrived, and closes, without waiting.
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
