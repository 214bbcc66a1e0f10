// SPDX-License-Identifier: Apache-2.0
// Helper functions of the Checker that read lists of requests.
#pragma once

#include <infiniband/verbs.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "careful/ledger.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::rdma_core::careful {

inline std::vector<Piece> pieces_of(const ibv_sge* list, int count) {
  std::vector<Piece> out;
  out.reserve(static_cast<std::size_t>(std::max(count, 0)));
  for (int i = 0; i < count; ++i) out.push_back({list[i].addr, list[i].length, list[i].lkey});
  return out;
}

inline std::vector<Piece> pieces_of(std::span<const verbs::Sge> list) {
  std::vector<Piece> out;
  out.reserve(list.size());
  for (const verbs::Sge& sge : list) {
    out.push_back({reinterpret_cast<std::uintptr_t>(sge.address), sge.length, sge.lkey.value});
  }
  return out;
}

template <typename Wr>
std::size_t length_of(const Wr* wr) {
  std::size_t out = 0;
  for (; wr != nullptr; wr = wr->next) ++out;
  return out;
}

}  // namespace iwarp::rdma_core::careful
