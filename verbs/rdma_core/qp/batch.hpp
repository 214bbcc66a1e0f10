// SPDX-License-Identifier: Apache-2.0
// Batch: consecutive requests of an ibv_send_wr list that are posted to the core in one call. The
// call wakes up the connection's driver once for the whole batch. A Batch is a local variable, so
// posting allocates no memory. The core's type of request, `Wr`, is verbs::SendWr for RC and UC,
// and verbs::DatagramWr for UD.
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

  /// Adds a request to the batch. Call only while has_room() returns true. `make(out, wr, sges)`
  /// must fill the fields of the new request `out` that depend on the opcode, and return 0 or an
  /// errno. Returns 0, or an errno if the request was not added.
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

/// Posts the list `wr` in batches. For each batch it calls `post(requests, posted)`, which must set
/// `posted` to the number of requests that it has posted, and return an errno if it has not posted
/// all of them. For `make`, see Batch::add(). Returns 0 or an errno. If it fails, it sets `wr` to
/// the first request of the list that was not posted; all requests before that one were posted.
/// [IBV-501, IBV-502]
template <typename Wr, typename Make, typename Post>
int post_in_batches(ibv_send_wr*& wr, Make make, Post post) {
  Batch<Wr> batch;
  ibv_send_wr* unposted = wr;  // the first request of the list that is not posted yet
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

/// Posts the receives in order. Returns 0 or an errno. If it fails, `wr` becomes the first receive
/// that was not posted. [IBV-536, IBV-537]
template <typename Queue>
int post_receives(Queue& queue, ibv_recv_wr*& wr) {
  for (; wr != nullptr; wr = wr->next) {
    if (wr->num_sge < 0 || wr->num_sge > kMaxSge) return EINVAL;
    boost::container::static_vector<verbs::Sge, bytes::kMaxSge> sges;
    for (int i = 0; i < wr->num_sge; ++i) sges.push_back(to_sge(wr->sg_list[i]));
    if (const auto error = queue.post_recv({.wr_id = wr->wr_id, .sgl = sges})) {
      return to_errno(error);
    }
  }
  return 0;
}

}  // namespace iwarp::rdma_core
