// SPDX-License-Identifier: Apache-2.0
// LingeringClose: the end of a socket whose queue pair is gone while TCP still has octets of it.
// Our half is closed at once, and what the peer still sends is read and dropped until it closes as
// well: octets left unread, or coming to a closed socket, would make TCP reset and forget what it
// holds.
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
  /// Sends the FIN and returns; the worker does the rest, and closes when `limit` is over or it
  /// ends itself.
  /// `rest` goes before the FIN.
  static void start(Worker& worker, UniqueFd socket, mpa::Duration limit,
                    std::vector<std::byte> rest);
  /// So many are under way that strangers could take the descriptors of this process by them.
  static bool are_many();
  /// Without waiting: the FIN, and what has come is dropped.
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
