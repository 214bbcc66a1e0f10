// SPDX-License-Identifier: Apache-2.0
// Acceptor: takes TCP connections in and starts MPA on them as responder. Survives running out of
// descriptors, and has no more requests pending than the device allows. [SCTP-4]
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "cm.hpp"
#include "iwarp/net/unique_fd.hpp"
#include "worker.hpp"

namespace iwarp::net {

/// Makes responders; shared by listeners and adopted sockets.
class Responders {
 public:
  /// Starts MPA. nullptr: too many requests are pending; the socket was reset.
  virtual std::shared_ptr<DrivenConnection> respond(UniqueFd socket, const ListenOptions& options,
                                                    CmChannel& channel) = 0;

 protected:
  ~Responders() = default;
};

class Acceptor final : public std::enable_shared_from_this<Acceptor> {
 public:
  Acceptor(Responders& responders, Worker& worker, UniqueFd socket, ListenOptions options,
           CmChannel& channel);
  void start();
  /// When this returns, no request comes from here any more. Requests delivered stay.
  void close();

 private:
  void wait();
  void accept_all();
  void pause();
  void take(UniqueFd socket);

  Responders& responders_;
  const ListenOptions options_;
  CmChannel& channel_;
  std::mutex mutex_;  ///< before a connection's lock
  bool closed_ = false;
  UniqueFd socket_;
  asio::posix::stream_descriptor readiness_;
  asio::steady_timer timer_;
  std::size_t tidy_at_ = 0;
  std::vector<std::weak_ptr<DrivenConnection>> made_;  ///< may not have asked yet
};

class TcpListener final : public Listener {
 public:
  TcpListener(std::shared_ptr<Acceptor> acceptor, Address local)
      : acceptor_(std::move(acceptor)), local_(std::move(local)) {}
  // NOLINTNEXTLINE(bugprone-exception-escape): only for want of memory, and then nothing helps.
  ~TcpListener() override { acceptor_->close(); }
  const Address& local() const override { return local_; }

 private:
  std::shared_ptr<Acceptor> acceptor_;
  Address local_;
};

}  // namespace iwarp::net
