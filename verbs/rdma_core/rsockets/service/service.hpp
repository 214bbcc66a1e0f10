// SPDX-License-Identifier: Apache-2.0
// Service: all rsockets of the process by number, and the thread that carries events of rdma_cm to
// them, answers requests to listeners, and keeps idle connections alive. Never destroyed. In the
// child of a fork the parent's rsockets are dead: their numbers can be closed, and nothing else.
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

  /// The number of a new rsocket, else an errno.
  std::expected<int, int> make_stream(int family, int type_flags);
  std::expected<int, int> make_datagrams(int family, int type_flags);
  /// Null: none of that number, or one of the parent's.
  std::shared_ptr<Socket> find(int number);
  bool has_any();
  /// The number of the next connection of `listener`, else an errno. Who it is goes to `address`,
  /// if it and `length` are not null.
  std::expected<int, int> accept(Socket& listener, sockaddr* address, socklen_t* length);
  /// An errno.
  int close(int number);
  /// The thread asks everybody again when to keep alive.
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
  int adopt_new(std::shared_ptr<Socket> socket, Number number, int type_flags);
  /// From now on it is found; its number.
  int adopt(std::shared_ptr<Socket> socket, Number number);

  std::mutex mutex_;
  std::unordered_map<int, std::shared_ptr<Socket>> by_number_;  ///< null: the parent's
  /// What ids have as their context: a number that is not used twice.
  std::unordered_map<std::uintptr_t, std::weak_ptr<RSocket>> by_token_;
  /// Between their request and their listener's queue.
  std::vector<std::shared_ptr<RSocket>> answered_;
  std::uintptr_t next_token_ = 1;
  rdma_event_channel* channel_ = nullptr;
  Waiter* waiter_ = nullptr;
};

}  // namespace iwarp::rdma_core::rsockets
