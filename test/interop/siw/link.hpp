// SPDX-License-Identifier: Apache-2.0
// One end of a connection of the sequence: a queue pair of rdma_cm with three buffers of kBuffer
// octets and kSlots receives. Each receive is posted again after it was consumed. Every function
// throws std::runtime_error if the stream has ended, or on a timeout. An end sleeps while it waits,
// so that a guest with one processor can run its kernel threads.
#pragma once

#include <rdma/rdma_cma.h>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "../../rdma_core/support/verbs_end.hpp"

namespace iwarp::interop {

using rdma_core_test::check;
using rdma_core_test::is_readable;
using rdma_core_test::kTimeoutMs;
using rdma_core_test::must;

/// Throws if `status`, the result of a call that sets errno, is not 0.
inline void check_status(int status, const char* what) {
  if (status != 0) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

/// Maximum number of octets of one message.
inline constexpr std::size_t kMaxSize = std::size_t{1} << 20;
/// Number of guard octets after the memory of a message. They must not change.
inline constexpr std::size_t kGuard = 16;
inline constexpr std::size_t kBuffer = kMaxSize + kGuard;
inline constexpr std::uint32_t kMaxInline = 64;
/// Number of posted receives, and therefore the maximum number of messages that either end may have
/// outstanding.
inline constexpr std::size_t kSlots = 4;

/// A place in the peer's memory, as the peer advertises it.
struct Place {
  std::uint32_t stag = 0;
  std::uint64_t to = 0;
};

struct SendKind {
  bool solicited = false;
  bool fenced = false;  ///< whether the request starts only after earlier Reads have completed
  std::optional<std::uint32_t> invalidate;
};

struct Received {
  std::span<const std::byte> octets;         ///< valid until the next receive()
  std::optional<std::uint32_t> invalidated;  ///< the STag that a Send with Invalidate named
};

/// Calls the function that destroys an object of libibverbs.
template <auto Destroy>
struct Deleter {
  void operator()(auto* object) const { Destroy(object); }
};

class Link {
 public:
  /// Takes ownership of `id`, creates the queue pair and posts receives.
  explicit Link(rdma_cm_id* id) : id_(id), memory_((kSlots + 3) * kBuffer) {
    pd_.reset(must(ibv_alloc_pd(id->verbs)));
    channel_.reset(must(ibv_create_comp_channel(id->verbs)));
    cq_.reset(must(ibv_create_cq(id->verbs, 64, nullptr, channel_.get(), 0)));
    local_.reset(must(ibv_reg_mr(pd_.get(), memory_.data(), memory_.size(), kRights)));
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_.get();
    init.cap = {.max_send_wr = 32,
                .max_recv_wr = kSlots,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = kMaxInline};
    init.qp_type = IBV_QPT_RC;
    check_status(rdma_create_qp(id, pd_.get(), &init), "rdma_create_qp");
    for (std::size_t i = 0; i < kSlots; ++i) post_receive(i);
  }
  ~Link() {
    rdma_disconnect(id_);
    rdma_destroy_qp(id_);
    if (window_ != nullptr) ibv_dealloc_mw(window_);
    rdma_destroy_id(id_);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  std::span<std::byte> source() { return buffer(kSlots); }    ///< what send() and write() send
  std::span<std::byte> sink() { return buffer(kSlots + 1); }  ///< where read() places data
  /// The memory that the peer may read and write.
  std::span<std::byte> target() { return buffer(kSlots + 2); }
  /// Returns the place of the target, with another STag if the last one was invalidated. siw has no
  /// memory windows, and instead allows a Send with Invalidate to name a region.
  Place advertise() {
    if (target_stag_ == 0) target_stag_ = is_siw() ? registered_stag() : bound_stag();
    return {.stag = target_stag_, .to = reinterpret_cast<std::uintptr_t>(target().data())};
  }
  void target_invalidated() { target_stag_ = 0; }
  /// siw does not report which STag was invalidated, and solicited messages raise no event.
  bool is_siw() const {
    return std::string_view(ibv_get_device_name(id_->verbs->device)).starts_with("siw");
  }

  /// Sends at most kMaxInline octets.
  void send_control(std::span<const std::byte> octets) {
    ibv_sge sge{reinterpret_cast<std::uintptr_t>(octets.data()),
                static_cast<std::uint32_t>(octets.size()), 0};
    auto wr = request(IBV_WR_SEND, kOtherId, sge);
    wr.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
    post(wr);
  }
  void send(std::size_t size, const SendKind& kind) {
    auto sge = piece(source(), size);
    auto wr = request(IBV_WR_SEND, kOtherId, sge);
    if (kind.solicited) wr.send_flags |= IBV_SEND_SOLICITED;
    if (kind.fenced) wr.send_flags |= IBV_SEND_FENCE;
    if (kind.invalidate) {
      wr.opcode = IBV_WR_SEND_WITH_INV;
      wr.invalidate_rkey = *kind.invalidate;
      wr.wr.rdma.rkey = *kind.invalidate;  // libsiw reads the STag from this field
    }
    post(wr);
  }
  void write(std::size_t size, const Place& to) {
    auto sge = piece(source(), size);
    transfer(IBV_WR_RDMA_WRITE, kOtherId, sge, to);
  }
  void read(std::size_t size, const Place& from) {
    auto sge = piece(sink(), size);
    is_done_ = false;
    transfer(IBV_WR_RDMA_READ, kReadId, sge, from);
  }
  void wait_read() {
    while (!is_done_) progress();
  }
  /// Waits for the next message. If the message must be solicited, no other message ends a sleep.
  Received receive(bool solicited = false) {
    if (taken_) post_receive(*taken_);
    taken_.reset();
    while (arrived_.empty()) progress(solicited);
    const ibv_wc wc = arrived_.front();
    arrived_.pop_front();
    taken_ = wc.wr_id;
    Received out{.octets = buffer(wc.wr_id).first(wc.byte_len)};
    if ((wc.wc_flags & IBV_WC_WITH_INV) != 0) out.invalidated = wc.invalidated_rkey;
    return out;
  }
  /// Waits until the peer ends the stream.
  void wait_end() {
    try {
      for (;;) progress();
    } catch (const std::runtime_error&) {
    }
  }

 private:
  // wr_id of a Read or Bind, and of other requests. The wr_id of a receive is the number of its
  // slot.
  static constexpr std::uint64_t kReadId = 100;
  static constexpr std::uint64_t kOtherId = 101;
  static constexpr int kRemote = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  static constexpr int kRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;

  std::span<std::byte> buffer(std::size_t index) {
    return std::span(memory_).subspan(index * kBuffer, kBuffer);
  }
  ibv_sge piece(std::span<std::byte> of, std::size_t size) const {
    return {reinterpret_cast<std::uintptr_t>(of.data()), static_cast<std::uint32_t>(size),
            local_->lkey};
  }
  std::uint32_t registered_stag() {
    target_.reset();
    target_.reset(
        must(ibv_reg_mr(pd_.get(), target().data(), kBuffer, IBV_ACCESS_LOCAL_WRITE | kRemote)));
    return target_->rkey;
  }
  std::uint32_t bound_stag() {
    if (window_ == nullptr) window_ = must(ibv_alloc_mw(pd_.get(), IBV_MW_TYPE_2));
    ibv_send_wr wr{.wr_id = kReadId, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};
    wr.bind_mw = {.mw = window_,
                  .rkey = ibv_inc_rkey(window_->rkey),
                  .bind_info = {.mr = local_.get(),
                                .addr = reinterpret_cast<std::uintptr_t>(target().data()),
                                .length = kBuffer,
                                .mw_access_flags = kRemote}};
    is_done_ = false;
    post(wr);
    wait_read();
    return window_->rkey;
  }
  static ibv_send_wr request(ibv_wr_opcode opcode, std::uint64_t id, ibv_sge& sge) {
    return {.wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = opcode};
  }
  void transfer(ibv_wr_opcode opcode, std::uint64_t id, ibv_sge& sge, const Place& place) {
    auto wr = request(opcode, id, sge);
    if (opcode == IBV_WR_RDMA_READ) wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {.remote_addr = place.to, .rkey = place.stag};
    post(wr);
  }
  void post(const ibv_send_wr& wr) {
    check(rdma_core_test::post_send(id_->qp, wr) == 0, "ibv_post_send");
  }
  void post_receive(std::size_t slot) {
    auto sge = piece(buffer(slot), kMaxSize);
    const ibv_recv_wr wr{.wr_id = slot, .next = nullptr, .sg_list = &sge, .num_sge = 1};
    check(rdma_core_test::post_recv(id_->qp, wr) == 0, "ibv_post_recv");
  }

  /// Processes pending completions. If there are none, waits for one event.
  void progress(bool solicited = false) {
    if (take()) return;
    check_status(ibv_req_notify_cq(cq_.get(), solicited && !is_siw() ? 1 : 0), "ibv_req_notify_cq");
    if (take()) return;
    // An event of the connection also ends the wait, because siw need not flush receives when the
    // connection ends.
    std::array<pollfd, 2> on{pollfd{.fd = channel_->fd, .events = POLLIN, .revents = 0},
                             pollfd{.fd = id_->channel->fd, .events = POLLIN, .revents = 0}};
    check(poll(on.data(), on.size(), kTimeoutMs) > 0, "no completion event");
    check((on[0].revents & POLLIN) != 0, "the connection is over");
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    check_status(ibv_get_cq_event(channel_.get(), &cq, &context), "ibv_get_cq_event");
    ibv_ack_cq_events(cq, 1);
  }
  bool take() {
    ibv_wc wc{};
    if (ibv_poll_cq(cq_.get(), 1, &wc) <= 0) return false;
    check(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
    if (wc.wr_id == kReadId) is_done_ = true;
    if (wc.wr_id < kSlots) arrived_.push_back(wc);
    return true;
  }

  rdma_cm_id* id_;
  std::vector<std::byte> memory_;
  std::unique_ptr<ibv_pd, Deleter<ibv_dealloc_pd>> pd_;
  std::unique_ptr<ibv_comp_channel, Deleter<ibv_destroy_comp_channel>> channel_;
  std::unique_ptr<ibv_cq, Deleter<ibv_destroy_cq>> cq_;
  std::unique_ptr<ibv_mr, Deleter<ibv_dereg_mr>> local_;
  std::unique_ptr<ibv_mr, Deleter<ibv_dereg_mr>> target_;
  ibv_mw* window_ = nullptr;
  std::uint32_t target_stag_ = 0;  ///< 0 before the first advertise() and after an invalidation
  std::deque<ibv_wc> arrived_;     ///< completions of received messages
  std::optional<std::size_t> taken_;
  bool is_done_ = false;  ///< whether the last Read or Bind has completed
};

}  // namespace iwarp::interop
