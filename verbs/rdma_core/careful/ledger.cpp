// SPDX-License-Identifier: Apache-2.0
// Ledger: what each call of the program changes in its tables, and the checks: buffers that change,
// overlap or are freed too early, keys of regions that are gone, and objects destroyed while in
// use.
#include "careful/ledger.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "iwarp/bytes/touch.hpp"
#include "iwarp/crc32c/crc32c.hpp"

namespace iwarp::rdma_core::careful {
namespace {

// The number of bytes that are compared as one block in a small buffer.
constexpr std::size_t kBlock = 64;
constexpr std::size_t kBlocks = 256;  // approximate number of blocks in a large buffer
// Maximum number of keys of deregistered regions that are stored.
constexpr std::size_t kMaxDead = 4096;

// Texts for reports that say how a region was freed. The index is a value of Freed.
constexpr std::array kFreedBy{"was passed to free()", "was moved by realloc()",
                              "was shortened by realloc()"};

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

template <typename Buffers>
bool any_overlap(const Buffers& buffers, std::span<const std::byte> memory) {
  return std::ranges::any_of(buffers, [&](const auto& b) { return overlap(b.memory, memory); });
}

/// Returns how many bytes of a buffer with `size` bytes are compared as one block.
std::size_t block_of(std::size_t size) {
  return std::max(kBlock, (size / kBlocks + kBlock - 1) / kBlock * kBlock);
}

/// Computes the checksum of the memory. Returns false if the memory is not mapped.
bool read(std::span<const std::byte> memory, std::uint32_t& sum) {
  return bytes::guarded([&] {
    bytes::begin_touch();
    sum = crc32c::compute(memory);
    bytes::end_touch();
  });
}

bool is_source(BufferUse kind) { return kind == BufferUse::kSource; }
bool is_written(BufferUse kind) { return kind == BufferUse::kSink || kind == BufferUse::kAtomic; }

}  // namespace

Ledger::Ledger(Report report, IsReady is_ready, Waiting waiting, bool is_rnic)
    : report_(std::move(report)),
      is_ready_(std::move(is_ready)),
      waiting_(std::move(waiting)),
      is_rnic_(is_rnic) {}

// Memory

// The kernel refuses a region whose addresses for requests have other page offsets than its memory,
// because adapters translate addresses page by page. It accepts IBV_ACCESS_ZERO_BASED.
void Ledger::check_iova(const RegionFacts& facts, Site site) {
  static const auto kPage = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<std::uintptr_t>(facts.memory.data()) % kPage;
  if (facts.is_zero_based || facts.iova % kPage == at) return;
  report(check::kIovaMisaligned, site, nullptr,
         "iova {:#x} has offset {} in its page, but the memory has offset {}: an adapter refuses "
         "the region with EINVAL (use an iova with offset {})",
         facts.iova, facts.iova % kPage, at, at);
}

void Ledger::registered(std::uint32_t key, const RegionFacts& facts, Site site) {
  check_iova(facts, site);
  regions_[key] = {facts, site};
  std::erase_if(dead_, [key](const auto& dead) { return dead.first == key; });
}

void Ledger::deregistered(std::uint32_t key, Site site) {
  if (Site by = nullptr; is_in_use(key, by)) {
    report(check::kDeregisteredInUse, site, by,
           "a region is deregistered while a request that uses it is outstanding (poll the "
           "completion of the request first)");
  }
  dead_.emplace_back(key, site);
  regions_.erase(key);
  if (dead_.size() > kMaxDead) dead_.pop_front();
}

void Ledger::freed(std::uint32_t key, Freed how, Site site) {
  const auto it = regions_.find(key);
  if (it == regions_.end()) return;
  Region& region = it->second;
  const bool is_reached = std::ranges::any_of(qps_, [&](const auto& entry) {
    const auto& [num, qp] = entry;
    return qp.facts.pd == region.pd && is_ready(num, qp);
  });
  if (!is_reached) return;
  region.is_freed = true;
  const auto forget = [key](auto& requests) {
    for (auto& request : requests) {
      for (Buffer& buffer : request.buffers) {
        if (buffer.key == key) buffer.sums.clear();
      }
    }
  };
  for (auto& [num, qp] : qps_) forget(qp.sends);
  for (auto& [queue, posted] : receives_) forget(posted);
  report(
      check::kFreedWhileRegistered, site, region.site,
      "the memory of a {}-byte region {} before the region was deregistered (deregister it first)",
      region.memory.size(), kFreedBy[static_cast<std::size_t>(how)]);
}

bool Ledger::is_in_use(std::uint32_t key, Site& by) const {
  const auto uses = [&](const auto& request) {
    by = request.site;
    return std::ranges::any_of(request.buffers, [&](const Buffer& b) { return b.key == key; });
  };
  return std::ranges::any_of(qps_, [&](const auto& entry) {
    const auto& [num, qp] = entry;
    if (!is_ready(num, qp)) return false;
    if (std::ranges::any_of(qp.sends, uses)) return true;
    const auto own = receives_.find(queue_of(num, qp));
    return own != receives_.end() && std::ranges::any_of(own->second, uses);
  });
}

Ledger::View Ledger::Buffer::block(std::size_t index) const {
  const auto size = block_of(memory.size());
  const auto at = index * size;
  return at < memory.size() ? memory.subspan(at, std::min(size, memory.size() - at)) : View();
}

/// Returns the index of the first block, from index `from` on, that has changed. If none of these
/// blocks has changed, returns the number of blocks.
std::size_t Ledger::first_changed(const Buffer& buffer, std::size_t from) const {
  for (; from < buffer.sums.size(); ++from) {
    std::uint32_t now = 0;
    if (!read(buffer.block(from), now) || now != buffer.sums[from]) break;
  }
  return from;
}

void Ledger::sum(Buffer& buffer, Site site) {
  const Region& region = regions_[buffer.key];
  if (region.is_freed) return;
  for (std::size_t i = 0; !buffer.block(i).empty(); ++i) {
    std::uint32_t sum = 0;
    if (!read(buffer.block(i), sum)) {
      buffer.sums.clear();
      report(check::kUnmapped, site, region.site,
             "the memory of a registered region was unmapped (deregister the region first)");
      return;
    }
    buffer.sums.push_back(sum);
  }
}

// Returns the buffers for the pieces of a request. Omits a piece that is outside of its region,
// because the core rejects a request with such a piece.
std::vector<Ledger::Buffer> Ledger::buffers_of(std::span<const Piece> pieces, Site site) {
  std::vector<Buffer> out;
  for (const Piece& piece : pieces) {
    const auto region = regions_.find(piece.key);
    if (region == regions_.end()) {
      const auto dead = std::ranges::find(dead_, piece.key, &std::pair<std::uint32_t, Site>::first);
      if (dead == dead_.end()) continue;
      report(check::kUsedAfterDeregistration, site, dead->second,
             "a request uses a region that was deregistered (deregister a region only after all "
             "requests that use it have completed)");
      continue;
    }
    const View memory = region->second.memory;
    const auto at = piece.address - region->second.iova;
    if (at > memory.size() || piece.length > memory.size() - at) continue;
    out.push_back({.key = piece.key, .memory = memory.subspan(at, piece.length)});
  }
  return out;
}

// Queue pairs

Ledger::QueuePair* Ledger::find(std::uint32_t num) {
  const auto it = qps_.find(num);
  return it != qps_.end() ? &it->second : nullptr;
}

void Ledger::made_qp(std::uint32_t qp, const QpFacts& facts) {
  qps_[qp] = {.facts = facts, .sends = {}};
}

void Ledger::stopped_qp(std::uint32_t num) {
  QueuePair* const found = find(num);
  if (found == nullptr) return;
  QueuePair& qp = *found;
  const auto owed = std::ranges::count_if(qp.sends, is_signaled);
  settle(qp.facts.send_cq, static_cast<std::size_t>(owed));
  if (const auto own = receives_.find(queue_of(num)); own != receives_.end()) {
    settle(qp.facts.recv_cq, own->second.size());
    receives_.erase(own);
  }
  qp.sends.clear();
  qp.has_failed = qp.is_ending = false;
}

void Ledger::ending_qp(std::uint32_t num) {
  if (QueuePair* const qp = find(num)) qp->is_ending = true;
}

void Ledger::recovered_qp(std::uint32_t num) {
  QueuePair* const qp = find(num);
  if (qp == nullptr) return;
  qp->has_failed = false;
  for (Under& under : qp->sends) under.was_recovered = true;
}

void Ledger::destroyed_qp(std::uint32_t num, Site site) {
  const QueuePair* const qp = find(num);
  if (qp == nullptr) return;
  const auto left = std::ranges::find_if(qp->sends, is_signaled);
  if (left != qp->sends.end() && is_ready(num, *qp)) {
    report(check::kDestroyedInUse, site, left->site,
           "a queue pair is destroyed before the completion of a signaled request is polled: the "
           "request may never be sent (poll the completion first)");
  }
  stopped_qp(num);
  qps_.erase(num);
}

void Ledger::destroyed_queue(const void* queue) { receives_.erase(queue); }

std::vector<std::uint32_t> Ledger::queue_pairs_of(const void* srq) const {
  std::vector<std::uint32_t> out;
  for (const auto& [num, qp] : qps_) {
    if (qp.facts.srq == srq) out.push_back(num);
  }
  return out;
}

// Requests

std::size_t Ledger::receives_at(View memory, const Receive** first) const {
  std::size_t out = 0;
  for (const auto& [queue, posted] : receives_) {
    for (const Receive& receive : posted) {
      if (!any_overlap(receive.buffers, memory)) continue;
      if (out++ == 0 && first != nullptr) *first = &receive;
    }
  }
  return out;
}

// Reports a request that sends from the buffer of an outstanding receive or Read. Does not report
// three uses of the buffer of a receive: a send from a buffer that several receives share, because
// the program ignores the received data; a send from the buffer in which the same queue pair will
// receive the answer; and a send of data that the program has written into the buffer after it
// posted the receive.
void Ledger::check_source(std::uint32_t num, const SendRequest& request,
                          std::span<const Buffer> buffers, Site site) {
  for (const Buffer& buffer : buffers) {
    const Receive* receive = nullptr;
    const auto as_posted = [&](const Buffer& posted) {
      return !posted.sums.empty() && first_changed(posted, 0) == posted.sums.size();
    };
    const auto own = receives_.find(queue_of(num, qps_[num]));
    const auto is_own = [&] {
      return own != receives_.end() && std::ranges::any_of(own->second, [&](const Receive& of) {
               return any_overlap(of.buffers, buffer.memory);
             });
    };
    if (receives_at(buffer.memory, &receive) == 1 && !is_own() &&
        std::ranges::all_of(receive->buffers, as_posted)) {
      report(check::kReceiveUsed, site, receive->site,
             "a Send or Write reads from the buffer of a pending receive (poll the completion of "
             "the receive first)");
    }
    for (const auto& [other, qp] : qps_) {
      for (const Under& under : qp.sends) {
        const bool waits = other == num && request.is_fenced;
        if (waits || !is_written(under.request.kind)) continue;
        if (!any_overlap(under.buffers, buffer.memory)) continue;
        report(
            check::kReadUnfenced, site, under.site,
            "a Send or Write reads from the buffer of a pending Read or atomic operation (poll its "
            "completion first, or set IBV_SEND_FENCE if both requests use the same queue pair)");
      }
    }
  }
}

void Ledger::check_sink(std::span<const Buffer> buffers, Site site, const void* queue) {
  for (const Buffer& buffer : buffers) {
    if (queue != nullptr && receives_at(buffer.memory) > 0) continue;
    for (const auto& [num, qp] : qps_) {
      for (const Under& under : qp.sends) {
        if (!is_source(under.request.kind) || !any_overlap(under.buffers, buffer.memory)) continue;
        report(check::kSendReused, site, under.site,
               "data from the peer may overwrite a buffer that is still being sent (poll the "
               "completion of the Send or Write first)");
      }
    }
  }
}

// Reports a Read whose sink does not permit remote writes. The data of a Read arrives in tagged
// segments that are addressed to the STag of the sink, like the data of a Write. [RDMAP-13]
void Ledger::check_sink_rights(std::span<const Buffer> buffers, Site site) {
  for (const Buffer& buffer : buffers) {
    const Region& region = regions_[buffer.key];
    if (buffer.memory.empty() || region.remote_write) continue;
    report(check::kReadSinkRights, site, region.site,
           "the buffer of an RDMA Read is in a region that lacks IBV_ACCESS_REMOTE_WRITE: an iWARP "
           "adapter refuses the Read Response (register the region with this flag)");
    return;
  }
}

void Ledger::sends(std::uint32_t num, std::span<const SendRequest> requests, Site site) {
  QueuePair& qp = qps_[num];
  if (qp.has_failed) {
    report(check::kStatusIgnored, site, nullptr,
           "a request is posted after an error completion of the queue pair was polled: a queue "
           "pair in the error state executes no requests (check the status of each completion)");
    qp.has_failed = false;
  }
  // Returns whether the contents of `memory` can be compared, because no outstanding Read or
  // receive may still change it.
  const auto is_settled = [&](View memory) {
    const auto awaited = [&](const Under& under) {
      return is_written(under.request.kind) && any_overlap(under.buffers, memory);
    };
    return receives_at(memory) == 0 && std::ranges::none_of(qps_, [&](const auto& entry) {
             return std::ranges::any_of(entry.second.sends, awaited);
           });
  };
  const auto before = qp.sends.size();
  try {
    for (const SendRequest& request : requests) {
      auto buffers = request.is_inline ? std::vector<Buffer>() : buffers_of(request.pieces, site);
      if (request.kind == BufferUse::kAtomic && request.remote % 8 != 0) {
        report(check::kAtomicMisaligned, site, nullptr,
               "the remote address of an atomic operation is not a multiple of 8 (align the 64-bit "
               "word in the peer's memory)");
      }
      if (is_source(request.kind)) {
        check_source(num, request, buffers, site);
        for (Buffer& buffer : buffers) {
          if (is_settled(buffer.memory)) sum(buffer, site);
        }
      } else if (is_written(request.kind)) {
        check_sink(buffers, site, nullptr);
        if (is_rnic_ && request.kind == BufferUse::kSink) check_sink_rights(buffers, site);
      }
      qp.sends.push_back({request, std::move(buffers), site});
      if (request.is_signaled) owe(qp.facts.send_cq, site);
    }
  } catch (...) {
    not_sent(num, qp.sends.size() - before);
    throw;
  }
  const bool is_full = qp.sends.size() > qp.facts.max_send;
  const auto in_front = qp.sends | std::views::take(qp.facts.max_send);
  if (!requests.empty() && is_full && std::ranges::none_of(in_front, is_signaled)) {
    report(check::kNeverSignalled, site, nullptr,
           "the send queue is full (cap.max_send_wr is {}) and contains only unsignaled requests: "
           "an adapter frees their slots only when the completion of a later signaled request is "
           "polled (set IBV_SEND_SIGNALED on some requests)",
           qp.facts.max_send);
  }
}

void Ledger::not_sent(std::uint32_t num, std::size_t count) {
  QueuePair& qp = qps_[num];
  for (; count != 0 && !qp.sends.empty(); --count) {
    if (qp.sends.back().request.is_signaled) settle(qp.facts.send_cq, 1);
    qp.sends.pop_back();
  }
}

void Ledger::receives(const void* queue, std::uint32_t num, std::uint64_t wr_id,
                      std::span<const Piece> pieces, Site site) {
  auto buffers = buffers_of(pieces, site);
  check_sink(buffers, site, queue);
  for (Buffer& buffer : buffers) {
    if (receives_at(buffer.memory) == 0) sum(buffer, site);
  }
  receives_[queue].push_back({wr_id, std::move(buffers), site});
  if (queue == queue_of(num)) owe(qps_[num].facts.recv_cq, site);
}

void Ledger::not_received(const void* queue, std::uint32_t num, std::size_t count) {
  auto& posted = receives_[queue];
  for (; count != 0 && !posted.empty(); --count) {
    posted.pop_back();
    if (queue == queue_of(num)) settle(qps_[num].facts.recv_cq, 1);
  }
}

// Completions

void Ledger::finish(const Under& under, Site site) {
  for (const Buffer& buffer : under.buffers) {
    if (buffer.sums.empty() || receives_at(buffer.memory) != 0) continue;
    const auto changed = first_changed(buffer, 0);
    if (changed >= buffer.sums.size()) continue;
    const auto block = buffer.block(changed);
    const auto at = block.data() - buffer.memory.data();
    report(check::kSendChanged, site, under.site,
           "the buffer of a request was changed before the completion was polled: bytes {} to {} "
           "of {} changed (poll the completion first)",
           at, at + static_cast<std::ptrdiff_t>(block.size()) - 1, buffer.memory.size());
    return;
  }
}

void Ledger::compare_rest(const Receive& receive, std::uint32_t length, Site site) {
  std::size_t before = 0;
  for (const Buffer& buffer : receive.buffers) {
    // Compares only the blocks after the first `taken` bytes, because the message may have changed
    // the blocks before them.
    const auto taken = length > before ? length - before : 0;
    const auto size = block_of(buffer.memory.size());
    const auto changed = first_changed(buffer, (taken + size - 1) / size);
    if (changed < buffer.sums.size()) {
      report(check::kReceiveWritten, site, receive.site,
             "a receive buffer was changed beyond the end of the received message before the "
             "completion was polled: byte_len is {}, and a byte at offset {} or higher changed "
             "(poll the completion before you write to the buffer)",
             length, before + changed * size);
      return;
    }
    before += buffer.memory.size();
  }
}

void Ledger::completed(const Completed& of, Site site) {
  QueuePair* const found = find(of.qp);
  if (found == nullptr) return;
  QueuePair& qp = *found;
  if (of.is_receive) {
    qp.has_failed = qp.has_failed || !of.is_success;
    const auto posted = receives_.find(queue_of(of.qp, qp));
    if (posted == receives_.end()) return;
    const auto receive = std::ranges::find(posted->second, of.wr_id, &Receive::wr_id);
    if (receive == posted->second.end()) return;
    if (qp.facts.srq == nullptr) settle(qp.facts.recv_cq, 1);
    if (of.is_success) compare_rest(*receive, of.length, site);
    posted->second.erase(receive);
    return;
  }
  // Finds the request of the completion. The completion also completes all requests that were
  // posted to the send queue before that request.
  const auto is_it = [&](const Under& under) {
    return under.request.wr_id == of.wr_id && (under.request.is_signaled || !of.is_success);
  };
  const auto last = std::ranges::find_if(qp.sends, is_it);
  const bool was_recovered = last != qp.sends.end() && last->was_recovered;
  qp.has_failed = qp.has_failed || (!of.is_success && !was_recovered);
  if (last == qp.sends.end()) return;
  for (auto under = qp.sends.begin(); under != last + 1; ++under) {
    if (under->request.is_signaled) settle(qp.facts.send_cq, 1);
    if (of.is_success) finish(*under, site);
  }
  qp.sends.erase(qp.sends.begin(), last + 1);
}

}  // namespace iwarp::rdma_core::careful
