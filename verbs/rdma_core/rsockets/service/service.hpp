// SPDX-License-Identifier: Apache-2.0
// Service: finds the rsockets and pollers of the process by their descriptor numbers. Its thread
// passes rdma_cm events to rsockets, answers connect requests to listeners, and sends keepalives on
// idle connections. The Service is never destroyed. The child of a fork can only close the rsockets
// of its parent; all other calls on these rsockets fail.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "rsockets/service/poller.hpp"
#include "rsockets/streams/rsocket.hpp"

namespace iwarp::rdma_core::rsockets {

class Service {
 public:
  static Service& get();

  /// Makes a stream rsocket or a datagram rsocket. Returns its descriptor number. Throws
  /// std::system_error if that fails.
  int make(int family, bool is_stream, int type_flags);
  /// Returns the rsocket with this descriptor number. Returns null if there is none, or if this
  /// process is the child of a fork and its parent made the rsocket.
  std::shared_ptr<Socket> find(int number);
  bool has_any();
  /// Makes a Poller. Returns its descriptor number. Throws std::system_error if that fails.
  int make_poller();
  /// Returns the Poller with this descriptor number, or null if this process has not made one.
  std::shared_ptr<Poller> find_poller(int number);
  /// Accepts the next connection of `listener`. Returns the descriptor number of the rsocket for
  /// the connection, or an errno. Stores the peer's address in `address` if `address` and `length`
  /// are not null. Throws std::system_error if no descriptor can be reserved.
  std::expected<int, int> accept(Socket& listener, sockaddr* address, socklen_t* length);
  /// Closes the rsocket or the Poller with this descriptor number. Returns 0 or an errno.
  int close(int number);
  /// Wakes up the thread, so that it computes the time of the next keepalive again.
  void recheck();

  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

 private:
  Service();
  struct Event;
  static Service* make_service();

  void start();
  void run(rdma_event_channel* channel, net::EventFd& waiter);
  void take(rdma_event_channel* channel);
  void handle(const Event& event);
  void requested(const Event& event);
  std::shared_ptr<RSocket> find_token(const void* context);
  void* add_token(std::weak_ptr<RSocket> of);
  void abandon_in_child();
  int keep_alive();
  std::shared_ptr<Socket> make_stream(int family);
  /// Stores the rsocket, so that find() returns it. Returns its descriptor number.
  int adopt(std::shared_ptr<Socket> socket, ReservedFd number);

  std::mutex mutex_;
  /// The rsockets, by their descriptor numbers. The pointer is null if this process is the child of
  /// a fork, and its parent made the rsocket.
  std::unordered_map<int, std::shared_ptr<Socket>> by_number_;
  std::unordered_map<int, std::shared_ptr<Poller>> pollers_;
  /// The rsockets, by their tokens. The token of an rsocket is the context of its id. Tokens are
  /// never reused.
  std::unordered_map<std::uintptr_t, std::weak_ptr<RSocket>> by_token_;
  /// The connections whose connect requests were answered, but that are not in the queue of their
  /// listener yet.
  std::vector<std::shared_ptr<RSocket>> answered_;
  std::uintptr_t next_token_ = 1;
  rdma_event_channel* channel_ = nullptr;
  net::EventFd* waiter_ = nullptr;
};

}  // namespace iwarp::rdma_core::rsockets
