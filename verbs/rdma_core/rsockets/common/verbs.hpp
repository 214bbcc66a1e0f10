// SPDX-License-Identifier: Apache-2.0
// What Endpoint and DatagramEndpoint share: owners of verbs objects, registered memory, a
// completion queue with its channel, and the encoding of the wr_id of work requests.
#pragma once

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "process/refusal.hpp"

namespace iwarp::rdma_core::rsockets {

// The upper half of a wr_id is the kind of request. The lower half depends on the kind: for a
// receive, or for a datagram that is sent, it is the number of the buffer's slot. For a send of a
// stream, it is the number of bytes of the send ring that the request uses.
inline constexpr std::uint64_t kReceive = std::uint64_t{1} << 32;
inline constexpr std::uint64_t kControlRequest = std::uint64_t{2} << 32;
inline constexpr std::uint64_t kRingRequest = std::uint64_t{3} << 32;
inline constexpr std::uint64_t kWhose = ~std::uint64_t{UINT32_MAX};

constexpr std::uint64_t request_of_ring(std::uint32_t length) { return kRingRequest | length; }
constexpr std::uint32_t octets_of(std::uint64_t wr_id) { return static_cast<std::uint32_t>(wr_id); }

inline std::uint64_t address_of(const void* at) { return reinterpret_cast<std::uint64_t>(at); }

/// Posts a receive with this scatter list. Returns 0 or an errno.
inline int post_receive(ibv_qp* qp, std::uint64_t wr_id, std::span<ibv_sge> to) {
  ibv_recv_wr wr{.wr_id = wr_id,
                 .next = nullptr,
                 .sg_list = to.data(),
                 .num_sge = static_cast<int>(to.size())};
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(qp, &wr, &bad);
}

template <auto kDestroy>
struct Destroy {
  void operator()(auto* object) const { (void)kDestroy(object); }
};
template <typename T, auto kDestroy>
using Owned = std::unique_ptr<T, Destroy<kDestroy>>;

/// Returns `object`. If it is null, throws std::system_error with errno.
template <typename T>
T* made(T* object) {
  if (object == nullptr) fail(errno);
  return object;
}

/// Memory that is mapped with mmap(2), initially filled with zeros, and registered.
class Buffer {
 public:
  /// Throws std::bad_alloc or std::system_error.
  Buffer(ibv_pd* pd, std::size_t size, int access)
      : memory_(map(size), {size}), mr_(made(ibv_reg_mr(pd, data(), size, access))) {}
  std::byte* data() const { return memory_.get(); }
  std::size_t size() const { return mr_->length; }
  std::span<std::byte> octets() const { return {data(), size()}; }
  std::uint32_t rkey() const { return mr_->rkey; }
  /// Returns the scatter/gather element of the `length` bytes at the offset `at`.
  ibv_sge sge(std::size_t at, std::uint32_t length) const {
    return {address_of(data() + at), length, mr_->lkey};
  }

 private:
  struct Unmap {
    std::size_t size;
    void operator()(std::byte* memory) const { ::munmap(memory, size); }
  };
  static std::byte* map(std::size_t size) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return static_cast<std::byte*>(memory);
  }

  std::unique_ptr<std::byte, Unmap> memory_;
  Owned<ibv_mr, ibv_dereg_mr> mr_;
};

/// The completion queue of an rsocket, with a non-blocking completion channel.
class SocketCq {
 public:
  /// Throws std::system_error if the queue or its channel cannot be created.
  SocketCq(ibv_context* verbs, int entries)
      : channel_(made(ibv_create_comp_channel(verbs))),
        cq_(made(ibv_create_cq(verbs, entries, nullptr, channel_.get(), 0))) {
    if (::fcntl(fd(), F_SETFL, O_NONBLOCK) != 0) fail(errno);
  }
  ibv_cq* get() const { return cq_.get(); }
  int fd() const { return channel_->fd; }
  /// Makes fd() readable when the next completion arrives.
  void arm() {
    if (!armed_) armed_ = ibv_req_notify_cq(get(), 0) == 0;
  }
  /// Consumes the events that made fd() readable. Returns whether there were any events. If there
  /// were, the caller must call arm() again.
  bool take_events() {
    bool taken = false;
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    while (ibv_get_cq_event(channel_.get(), &cq, &context) == 0) {
      ibv_ack_cq_events(cq, 1);
      taken = true;
    }
    if (taken) armed_ = false;
    return taken;
  }
  /// Calls `handle` with each completion that has arrived. Returns their number, or a negative
  /// number if polling fails. Handles at most kMost completions, because a peer that never stops
  /// sending could otherwise keep the call from returning.
  template <typename Handle>
  int poll(Handle handle) {
    constexpr int kMost = 1024;
    std::array<ibv_wc, 16> completions;
    int taken = 0;
    while (taken < kMost) {
      const int n = ibv_poll_cq(get(), static_cast<int>(completions.size()), completions.data());
      if (n < 0) return n;
      if (n == 0) break;
      taken += n;
      for (const ibv_wc& wc : std::span(completions).first(static_cast<std::size_t>(n))) handle(wc);
    }
    return taken;
  }

 private:
  Owned<ibv_comp_channel, ibv_destroy_comp_channel> channel_;
  Owned<ibv_cq, ibv_destroy_cq> cq_;
  bool armed_ = false;
};

}  // namespace iwarp::rdma_core::rsockets
