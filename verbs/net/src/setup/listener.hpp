// SPDX-License-Identifier: Apache-2.0
// Acceptor: accepts TCP connections and starts MPA on them as responder. When descriptors run out,
// it pauses and continues later. It starts no more set-ups than the device allows. [SCTP-4]
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver/worker.hpp"
#include "iwarp/net/unique_fd.hpp"
#include "setup/cm.hpp"

namespace iwarp::net {

/// Makes the responder's ends of connections, for listeners and for adopted sockets.
class Responders {
 public:
  /// Starts MPA. If there is no room for one more set-up, resets the socket and returns null.
  /// `peer` is the address from accept(2): a socket that the peer has reset no longer has it.
  virtual std::shared_ptr<DrivenConnection> respond(UniqueFd socket, const Address& peer,
                                                    const ListenOptions& options,
                                                    CmChannel& channel) = 0;
  /// Evicts set-ups because descriptors or memory have run out. Returns false if none can be
  /// evicted.
  virtual bool make_room() = 0;

 protected:
  ~Responders() = default;
};

class Acceptor final : public std::enable_shared_from_this<Acceptor> {
 public:
  Acceptor(Responders& responders, Worker& worker, ListenOptions options, CmChannel& channel);
  /// Starts to accept connections on `socket`. Call once. If memory runs out, retries until it
  /// succeeds.
  void start(UniqueFd socket);
  /// Stops accepting. After close() has returned, no further request is delivered. Requests that
  /// have been delivered stay valid.
  void close();

 private:
  void wait();
  void accept_all();
  void pause();
  void take(UniqueFd socket, const Address& peer);

  Responders& responders_;
  const ListenOptions options_;
  CmChannel& channel_;
  std::mutex mutex_;  ///< locked before a connection's lock
  bool closed_ = false;
  UniqueFd socket_;
  std::string former_congestion_;  ///< result of avoid_pacing() for `socket_`
  asio::posix::stream_descriptor readiness_;
  asio::steady_timer timer_;
  std::size_t tidy_at_ = 0;
  /// Connections whose Requests may not have arrived yet.
  std::vector<std::weak_ptr<DrivenConnection>> made_;
};

class TcpListener final : public Listener {
 public:
  TcpListener(Address local, std::shared_ptr<Acceptor> acceptor)
      : local_(std::move(local)), acceptor_(std::move(acceptor)) {}
  ~TcpListener() override { acceptor_->close(); }
  const Address& local() const override { return local_; }

 private:
  const Address local_;
  const std::shared_ptr<Acceptor> acceptor_;
};

}  // namespace iwarp::net
