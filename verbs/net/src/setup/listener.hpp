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

#include "driver/worker.hpp"
#include "iwarp/net/unique_fd.hpp"
#include "setup/cm.hpp"

namespace iwarp::net {

/// Makes responders; shared by listeners and adopted sockets.
class Responders {
 public:
  /// Starts MPA. nullptr: there is no room for one more set-up; the socket was reset.
  virtual std::shared_ptr<DrivenConnection> respond(UniqueFd socket, const ListenOptions& options,
                                                    CmChannel& channel) = 0;
  /// Out of descriptors, so accepting pauses: a set-up may give way.
  virtual void make_room() = 0;

 protected:
  ~Responders() = default;
};

class Acceptor final : public std::enable_shared_from_this<Acceptor> {
 public:
  Acceptor(Responders& responders, Worker& worker, ListenOptions options, CmChannel& channel);
  /// Once. Waits for memory.
  void start(UniqueFd socket);
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
  explicit TcpListener(Address local) : local_(std::move(local)) {}
  ~TcpListener() override {
    if (acceptor_ != nullptr) acceptor_->close();
  }
  void owns(std::shared_ptr<Acceptor> acceptor) { acceptor_ = std::move(acceptor); }
  const Address& local() const override { return local_; }

 private:
  std::shared_ptr<Acceptor> acceptor_;
  Address local_;
};

}  // namespace iwarp::net
