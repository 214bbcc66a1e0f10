// SPDX-License-Identifier: Apache-2.0
// Loses some of the datagrams that UD queue pairs send, and sends others late, after later ones.
#include "faults/datagrams.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <span>

#include "adversary/dice.hpp"
#include "adversary/hooks.hpp"
#include "iwarp/net/insist.hpp"
#include "iwarp/net/quiet_thread.hpp"
#include "iwarp/net/socket_ops.hpp"

namespace iwarp::rdma_core::adversary {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kOneLostIn = 64;
constexpr std::uint64_t kOneLateIn = 8;
constexpr std::chrono::microseconds kLatestDatagram{3000};

fault::HeldDatagrams::Time now() { return Clock::now().time_since_epoch(); }

/// Never destroyed, because its thread never ends. Thread-safe.
class Datagrams {
 public:
  explicit Datagrams(const options::Adversary& choice);
  Datagrams(const Datagrams&) = delete;
  Datagrams& operator=(const Datagrams&) = delete;
  ~Datagrams() = delete;
  const net::SocketOps& ops() const { return ops_; }

 private:
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

Datagrams* all_datagrams = nullptr;

Datagrams::Datagrams(const options::Adversary& choice)
    : ops_(net::socket_ops()), below_(ops_), dice_(choice.first, Dice::Kind::kDatagrams) {
  ops_.send_datagrams = send;
  ops_.cuts_messages = false;
  net::quiet_thread([this] { run(); }).detach();
}

// Sends the datagrams one by one. The result includes the datagrams that are lost or late.
int Datagrams::send(int fd, mmsghdr* messages, unsigned count, int flags) {
  int done = 0;
  for (mmsghdr& message : std::span(messages, count)) {
    const bool is_gone = all_datagrams->takes_over(fd, message.msg_hdr);
    if (!is_gone && all_datagrams->below_.send_datagrams(fd, &message, 1, flags) != 1) break;
    ++done;
  }
  return done != 0 ? done : -1;
}

bool Datagrams::takes_over(int fd, const msghdr& message) {
  const std::lock_guard lock(mutex_);
  if (dice_.one_in(kOneLostIn)) {
    note("a datagram is lost");
    return true;
  }
  if (!dice_.one_in(kOneLateIn)) return false;
  const auto due = now() + dice_.up_to(kLatestDatagram);
  if (!net::insist([&] { return held_.keep(fd, message, due); })) return false;
  note("a datagram is delayed");
  is_due_ = true;
  changed_.notify_one();
  return true;
}

void Datagrams::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    is_due_ = false;
    const auto next = held_.release(now(), {}).value_or(now() + std::chrono::hours(1));
    changed_.wait_until(lock, Clock::time_point(next), [this] { return is_due_; });
  }
}

}  // namespace

void attach_datagrams(const options::Adversary& choice) {
  all_datagrams = new Datagrams(choice);
  net::replace_socket_ops(&all_datagrams->ops());
}

}  // namespace iwarp::rdma_core::adversary
