// SPDX-License-Identifier: Apache-2.0
// Datagrams: loses some of the datagrams that UD queue pairs send, and sends others late, after
// later ones.
#pragma once

#include <condition_variable>
#include <mutex>

#include "adversary/dice.hpp"
#include "faults/datagrams.hpp"
#include "iwarp/net/socket_ops.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core::adversary {

/// Never destroyed, because its thread never ends. Thread-safe.
class Datagrams {
 public:
  /// Replaces the system call that sends datagrams, for the whole process. Call once.
  static void attach(const options::Adversary& choice);
  Datagrams(const Datagrams&) = delete;
  Datagrams& operator=(const Datagrams&) = delete;
  ~Datagrams() = delete;

 private:
  explicit Datagrams(const options::Adversary& choice);
  static int send(int fd, mmsghdr* messages, unsigned count, int flags);
  bool takes_over(int fd, const msghdr& message);
  void run();

  net::SocketOps ops_;    ///< the table with send()
  net::SocketOps below_;  ///< the table that was in use before
  fault::HeldDatagrams held_;
  std::mutex mutex_;  ///< guards the next members
  std::condition_variable changed_;
  Dice dice_;
  bool is_due_ = false;
};

}  // namespace iwarp::rdma_core::adversary
