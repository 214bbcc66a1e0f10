// SPDX-License-Identifier: Apache-2.0
// One end of a datagram test: a UD queue pair in RTS, with memory for messages in both directions.
#pragma once

#include "../support/verbs_end.hpp"

using rdma_core_test::check;
using rdma_core_test::gid_of;
using rdma_core_test::kGrh;

inline constexpr std::uint32_t kSlot = 1088;
inline constexpr std::uint32_t kBatch = 128;
inline constexpr std::uint32_t kReceives = 512;

struct End : rdma_core_test::VerbsEnd {
  /// Creates an end with the GID of `address`, or with the port's first GID if `address` is null.
  explicit End(const char* address)
      : VerbsEnd({.type = IBV_QPT_UD,
                  .cap = {.max_send_wr = kBatch,
                          .max_recv_wr = kReceives,
                          .max_send_sge = 1,
                          .max_recv_sge = 1},
                  .cqe = 1024,
                  .signal_all = 0,
                  .memory = std::size_t{kReceives} * kSlot}) {
    bring_up();
    if (address != nullptr) index = index_of(gid_of(address));
  }
  ~End() { destroy(); }
  End(const End&) = delete;
  End& operator=(const End&) = delete;
  void post(std::uint64_t number, std::uint32_t length) const {
    check(receive(slot(number, kGrh + length), number) == 0, "ibv_post_recv");
  }
  ibv_sge slot(std::uint64_t n, std::size_t length) const { return sge(n * kSlot, length); }
  ibv_wc next() const {
    const ibv_wc wc = rdma_core_test::next(cq);
    check(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
    return wc;
  }

  int index = 0;
};
