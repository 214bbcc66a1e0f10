// SPDX-License-Identifier: Apache-2.0
// From ibv_send_wr to the core's requests. A batch of them is put together on the stack, so that a
// list costs one wake-up and nothing is allocated.
#pragma once

#include <infiniband/verbs.h>

#include <boost/container/static_vector.hpp>

#include "iwarp/verbs/types.hpp"

namespace iwarp::rdma_core {

inline constexpr std::size_t kBatch = 16;
inline constexpr std::size_t kBatchSges = 64;

class SendBatch {
 public:
  /// 0; an errno when there is no such request, and it was not added. Only while has_room().
  int add(const ibv_send_wr& wr);
  bool has_room() const;
  bool empty() const { return requests_.empty(); }
  void clear();
  std::span<const verbs::SendWr> requests() const { return requests_; }

 private:
  boost::container::static_vector<verbs::SendWr, kBatch> requests_;
  boost::container::static_vector<verbs::Sge, kBatchSges> sges_;
};

verbs::Sge to_sge(const ibv_sge& sge);

// What each kind of request needs beyond its opcode and buffers, for ibv_send_wr and ibv_wr_*().
// They return 0 or an errno, and say once what iWARP does not have.

/// Fenced it waits for all earlier requests: these may use the memory.
void make_invalidate(verbs::SendWr& out, std::uint32_t rkey);
/// `sgl` has to be set.
int make_send_immediate(verbs::SendWr& out, std::uint32_t imm_data);
int make_write_immediate(verbs::SendWr& out, std::uint32_t imm_data);
/// Longer than kMaxMessage.
bool is_too_long(const verbs::SendWr& wr);
/// `sgl` has one element, which becomes the word. `word` takes it.
int make_atomic(verbs::SendWr& out, verbs::Sge& word);
int make_bind(verbs::SendWr& out, const ibv_mw& mw, std::uint32_t rkey,
              const ibv_mw_bind_info& info);
/// The window's R_Key is the one that it will have.
void bind_posted(ibv_mw& mw, std::uint32_t rkey);
verbs::SendFlags to_flags(unsigned send_flags);

}  // namespace iwarp::rdma_core
