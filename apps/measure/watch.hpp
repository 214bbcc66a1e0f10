// SPDX-License-Identifier: Apache-2.0
// Small things that both ends of a ping-pong need.
#pragma once

#include <atomic>

#include "common/error.hpp"
#include "common/stop.hpp"
#include "measure/endpoint.hpp"

namespace iwarp::apps::measure {

inline bool is_receive(const verbs::WorkCompletion& wc) {
  return wc.opcode == verbs::WcOpcode::kRecv || wc.opcode == verbs::WcOpcode::kRecvImmediate;
}

/// Waits for a Write as programs do that poll memory: the last octet becomes visible last.
class MemoryWatch {
 public:
  explicit MemoryWatch(bytes::Span octets)
      : last_(reinterpret_cast<std::uint8_t&>(octets.back())), begin_(Clock::now()) {}

  /// Message `number` has arrived. Interrupted; Error: not for kPatience.
  bool shows(std::uint64_t number) {
    if (last_.load(std::memory_order_acquire) == static_cast<std::uint8_t>(number)) return true;
    if (++looks_ % kLooks != 0) return false;
    if (stop_requested()) throw Interrupted();
    if (Clock::now() - begin_ > kPatience) throw Error("the peer has not answered in time");
    return false;
  }

 private:
  static constexpr unsigned kLooks = 4096;  // between two looks at the clock
  std::atomic_ref<std::uint8_t> last_;
  const Clock::time_point begin_;
  unsigned looks_ = 0;
};

}  // namespace iwarp::apps::measure
