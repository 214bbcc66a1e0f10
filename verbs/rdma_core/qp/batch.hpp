// SPDX-License-Identifier: Apache-2.0
// Batch: requests of an ibv_send_wr list that are posted to the core together. The batch is on the
// stack, so that posting it costs one wake-up and no allocation. `Wr` is the core's request for the
// type of queue pair: verbs::SendWr or verbs::DatagramWr.
#pragma once

#include <infiniband/verbs.h>

#include <boost/container/static_vector.hpp>
#include <cstddef>
#include <span>

#include "device/limits.hpp"
#include "process/errno_table.hpp"
#include "qp/send_request.hpp"

namespace iwarp::rdma_core {

template <typename Wr>
class Batch {
 public:
  bool has_room() const { return requests_.size() < kRequests && sges_.size() + kMaxSge <= kSges; }
  bool empty() const { return requests_.empty(); }
  void clear() {
    requests_.clear();
    sges_.clear();
  }
  std::span<const Wr> requests() const { return requests_; }

  /// Adds a request. Call only if has_room(). `make(out, wr, sges)` fills the fields that depend on
  /// the opcode. Returns 0, or an errno if the request was not added.
  template <typename Make>
  int add(const ibv_send_wr& wr, Make make) {
    if (wr.num_sge < 0 || wr.num_sge > kMaxSge) return EINVAL;
    const auto before = sges_.size();
    const auto count = static_cast<std::size_t>(wr.num_sge);
    for (std::size_t i = 0; i < count; ++i) sges_.push_back(to_sge(wr.sg_list[i]));
    const std::span sges(sges_.data() + before, count);
    Wr& out = begin_request(requests_.emplace_back(), wr, sges);
    const int code = guarded([&] { return make(out, wr, sges); });
    if (code != 0) {
      requests_.pop_back();
      sges_.resize(before);
    }
    return code;
  }

 private:
  static constexpr std::size_t kRequests = 16;
  static constexpr std::size_t kSges = 64;

  boost::container::static_vector<Wr, kRequests> requests_;
  boost::container::static_vector<verbs::Sge, kSges> sges_;
};

/// Posts a list in batches. `post(requests, posted)` posts one batch, sets `posted` to the number
/// of requests that it has posted, and returns an errno if it has not posted all of them. Returns 0
/// or an errno. If it fails, `wr` is the first request that was not posted; all requests before it
/// were posted.
template <typename Wr, typename Make, typename Post>
int post_in_batches(ibv_send_wr*& wr, Make make, Post post) {
  Batch<Wr> batch;
  ibv_send_wr* unposted = wr;  // the first request of the batch, which is not posted yet
  int code = 0;
  while (wr != nullptr && code == 0) {
    code = batch.add(*wr, make);
    if (code == 0) wr = wr->next;
    if (code == 0 && batch.has_room() && wr != nullptr) continue;
    if (batch.empty()) break;
    std::size_t posted = 0;
    const int refused_code = post(batch.requests(), posted);
    for (; posted != 0; --posted, unposted = unposted->next) was_posted(*unposted);
    if (refused_code != 0) {
      wr = unposted;
      return refused_code;
    }
    batch.clear();
  }
  return code;
}

}  // namespace iwarp::rdma_core
