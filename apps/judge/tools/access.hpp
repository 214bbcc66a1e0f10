// SPDX-License-Identifier: Apache-2.0
// What cases about regions and windows share: requests that the peer must perform, and requests
// that it must refuse.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "judge/tools/ends.hpp"

namespace iwarp::judge {

inline constexpr std::size_t kPage = 4096;

struct Free {
  void operator()(char* memory) const { std::free(memory); }
};
using Pages = std::unique_ptr<char, Free>;
/// Returns zeroed memory that begins at a page boundary.
inline Pages pages(std::size_t count = 1) {
  Pages out(static_cast<char*>(std::aligned_alloc(kPage, count * kPage)));
  std::memset(out.get(), 0, count * kPage);
  return out;
}

/// A request of `a` for memory that `b` does not describe itself, for example a window.
inline ibv_send_wr remote(ibv_wr_opcode opcode, std::uint64_t address, std::uint32_t rkey) {
  ibv_send_wr wr = remote(77, opcode, address, rkey);
  if (is_atomic(opcode)) wr.wr.atomic.compare_add = 1;
  return wr;
}
inline ibv_send_wr remote(ibv_wr_opcode opcode, const void* address, std::uint32_t rkey) {
  return remote(opcode, reinterpret_cast<std::uint64_t>(address), rkey);
}

/// Posts to the send queue of `from`, and compares the status of the completion.
inline void expect_local(Judge& j, const std::string& step, End& from, const ibv_send_wr& wr,
                         std::uint32_t length,
                         std::initializer_list<ibv_wc_status> allowed = {IBV_WC_SUCCESS}) {
  j.require(step + ": ibv_post_send", from.post_send(wr, 0, length));
  expect_completion(j, step, from.send_cq, allowed);
}

/// Performs a request that the peer must execute. Returns when it has taken effect: an empty Send
/// follows, which the peer receives after it has placed the payload of the request.
inline void expect_done(Judge& j, const std::string& step, Pair& pair, const ibv_send_wr& wr,
                        std::uint32_t length) {
  j.require(step + ": ibv_post_recv", pair.b.post_recv(88));
  expect_local(j, step, pair.a, wr, length);
  expect_local(j, step + ": Send after it", pair.a, pair.a.request(78, IBV_WR_SEND, pair.b), 0);
  expect_completion(j, step + ": receive after it", pair.b.recv_cq);
}

/// Performs a request that the peer must refuse. Returns when the peer has refused it. On iWARP,
/// the sender of a Write has no acknowledgement of the peer: the Terminate that refuses the Write
/// ends the connection, maybe after the Write has completed.
inline void expect_denied(Judge& j, const std::string& step, Pair& pair, const ibv_send_wr& wr,
                          std::uint32_t length) {
  if (!j.is_iwarp()) {
    expect_local(j, step, pair.a, wr, length, {IBV_WC_REM_ACCESS_ERR});
  } else if (wr.opcode == IBV_WR_RDMA_WRITE) {
    expect_local(j, step, pair.a, wr, length,
                 {IBV_WC_SUCCESS, IBV_WC_REM_ACCESS_ERR, IBV_WC_WR_FLUSH_ERR});
  } else {
    expect_local(j, step, pair.a, wr, length, {IBV_WC_REM_ACCESS_ERR, IBV_WC_WR_FLUSH_ERR});
  }
  expect_state(j, step + ": state of the peer", pair.b, IBV_QPS_ERR);
}

}  // namespace iwarp::judge
