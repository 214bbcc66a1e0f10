// SPDX-License-Identifier: Apache-2.0
// Service: the rsockets of the process by number, and the thread that forwards rdma_cm events to
// them, answers requests to listeners and keeps idle connections alive. Never destroyed. In the
// child of a fork the parent's rsockets are dead: they can only be closed.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "rsockets/common/waiter.hpp"
#include "rsockets/streams/rsocket.hpp"

namespace iwarp::rdma_core::rsockets {

class Service {
 public:
  static Service& get();

  /// Makes an rsocket. Returns its number, or an errno.
  std::expected<int, int> make_stream(int family, int type_flags);
  std::expected<int, int> make_datagrams(int family, int type_flags);
  /// Returns null if no rsocket has that number, or if the parent of a fork made it.
  std::shared_ptr<Socket> find(int number);
  bool has_any();
  /// Accepts the next connection of `listener`. Returns its number, or an errno. Stores the peer's
  /// address in `address` if it and `length` are not null.
  std::expected<int, int> accept(Socket& listener, sockaddr* address, socklen_t* length);
  /// Returns 0 or an errno.
  int close(int number);
  /// Makes the thread compute again when the next keepalive is due.
  void look_again();

  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

 private:
  Service();
  struct Event;
  static Service* make_service();

  void start();
  void run(rdma_event_channel* channel, Waiter* waiter);
  void take(rdma_event_channel* channel);
  void handle(const Event& event);
  void requested(const Event& event);
  std::shared_ptr<RSocket> find_token(const void* context);
  void* add_token(std::weak_ptr<RSocket> of);
  void abandon_in_child();
  int keep_alive();
  int adopt_new(std::shared_ptr<Socket> socket, ReservedFd number, int type_flags);
  /// Makes the rsocket known to find(). Returns its number.
  int adopt(std::shared_ptr<Socket> socket, ReservedFd number);

  std::mutex mutex_;
  /// Null: made by the parent of a fork.
  std::unordered_map<int, std::shared_ptr<Socket>> by_number_;
  /// Tokens that ids have as their context; never reused.
  std::unordered_map<std::uintptr_t, std::weak_ptr<RSocket>> by_token_;
  /// Connections that were answered and are not in their listener's queue yet.
  std::vector<std::shared_ptr<RSocket>> answered_;
  std::uintptr_t next_token_ = 1;
  rdma_event_channel* channel_ = nullptr;
  Waiter* waiter_ = nullptr;
};

}  // namespace iwarp::rdma_core::rsockets
