// SPDX-License-Identifier: Apache-2.0
// Helpers that both ends of a ping-pong use.
#pragma once

#include <atomic>

#include "measure/roles/endpoint.hpp"

namespace iwarp::apps::measure {

inline bool is_receive(const verbs::WorkCompletion& wc) {
  return wc.opcode == verbs::WcOpcode::kRecv || wc.opcode == verbs::WcOpcode::kRecvImmediate;
}

/// Waits for an RDMA Write by polling the last byte of its target buffer. This byte becomes visible
/// last.
class MemoryWatch {
 public:
  MemoryWatch(Endpoint& endpoint, bytes::Span octets)
      : endpoint_(endpoint),
        last_(reinterpret_cast<std::uint8_t&>(octets.back())),
        deadline_(Clock::now() + kTimeout) {}

  /// Returns whether message `number` has arrived. Throws Interrupted, or Error after kTimeout.
  bool shows(std::uint64_t number) {
    if (last_.load(std::memory_order_acquire) == static_cast<std::uint8_t>(number)) return true;
    if (++looks_ % kSpinsBetweenLooks == 0) endpoint_.check_time(deadline_);
    return false;
  }

 private:
  Endpoint& endpoint_;
  std::atomic_ref<std::uint8_t> last_;
  const Clock::time_point deadline_;
  unsigned looks_ = 0;
};

}  // namespace iwarp::apps::measure
