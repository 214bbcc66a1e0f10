// SPDX-License-Identifier: Apache-2.0
// LingeringClose: closes a socket whose queue pair is gone while TCP still has octets of it to
// send. Half-closes at once, then reads and drops what the peer still sends until the peer closes
// as well: octets that are not read, or that arrive at a closed socket, would make TCP reset the
// connection and discard what it has not sent.
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
  /// Sends the FIN, after `rest`, and returns. The worker does what remains, and closes the socket
  /// when the peer has closed, `limit` has passed or the worker itself ends.
  static void start(Worker& worker, UniqueFd socket, mpa::Duration limit,
                    std::vector<std::byte> rest);
  /// Returns whether closes in progress are numerous enough for unknown peers to exhaust the
  /// descriptors of this process by them.
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
