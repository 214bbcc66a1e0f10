// SPDX-License-Identifier: Apache-2.0
// Two queue pairs that a case connects. On RoCE and InfiniBand, ibv_modify_qp() connects them; on
// iWARP, rdma_cm does, because an RNIC's queue pair needs a TCP connection.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <chrono>
#include <optional>
#include <vector>

#include "judge/tools/await.hpp"

namespace iwarp::judge {

inline constexpr int kAllRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
inline constexpr std::uint32_t kQKey = 0x1A2B3C;
inline constexpr int kToInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
inline constexpr int kUdToInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
inline constexpr int kToRtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                              IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
inline constexpr int kUcToRtr =
    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
inline constexpr int kToRts = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                              IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

struct EndOptions {
  ibv_qp_type type = IBV_QPT_RC;
  ibv_qp_cap cap{.max_send_wr = 16,
                 .max_recv_wr = 16,
                 .max_send_sge = 2,
                 .max_recv_sge = 2,
                 .max_inline_data = 0};
  int cqe = 64;
  bool signal_all = false;
  bool has_srq = false;
  bool shares_cq = false;         ///< receives complete to send_cq, too; recv_cq is null
  std::uint64_t send_ops = 0;     ///< not 0: ibv_create_qp_ex() with these IBV_QP_EX_WITH_ flags
  bool has_channel = false;       ///< both queues report to `channel`
  std::uint64_t wc_flags = 0;     ///< not 0: ibv_create_cq_ex() with these IBV_WC_EX_WITH_ flags
  ibv_pd* pd = nullptr;           ///< of another end, instead of an own protection domain
  ibv_srq* shared_srq = nullptr;  ///< of another end, instead of an own SRQ
  std::size_t memory = 1 << 16;
  int rights = kAllRights;  ///< of the region, and of the queue pair unless qp_rights is set
  std::optional<int> qp_rights;
  std::uint8_t reads = 4;      ///< max_dest_rd_atomic, and max_rd_atomic of the peer
  std::uint8_t rnr_retry = 7;  ///< 7: without limit
  std::uint8_t timeout = 14;   ///< 4.096 us * 2^timeout
  std::uint8_t retry_cnt = 7;
};

/// Options of an end that holds `depth` requests and `depth` receives.
constexpr EndOptions with_depth(std::uint32_t depth) {
  EndOptions out{.cqe = 2 * static_cast<int>(depth)};
  out.cap.max_send_wr = out.cap.max_recv_wr = depth;
  return out;
}
constexpr EndOptions with_inline(std::uint32_t length) {
  EndOptions out;
  out.cap.max_inline_data = length;
  return out;
}

inline bool is_atomic(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}
/// A signaled request for the memory at `address`; of an atomic, the operands are 0.
inline ibv_send_wr remote(std::uint64_t id, ibv_wr_opcode opcode, std::uint64_t address,
                          std::uint32_t rkey) {
  ibv_send_wr wr{.wr_id = id, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED};
  if (is_atomic(opcode)) {
    wr.wr.atomic = {.remote_addr = address, .compare_add = 0, .swap = 0, .rkey = rkey};
  } else {
    wr.wr.rdma = {.remote_addr = address, .rkey = rkey};
  }
  return wr;
}

/// A queue pair and the objects it needs, in RESET. If an object cannot be created, the case ends
/// as failed, or as refused if the errno says so.
class End {
  std::vector<char> memory_;  // the first member, so that the queue pair is destroyed before it

 public:
  explicit End(Judge& judge, const EndOptions& options = {});
  ~End();
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  std::uint64_t address(std::size_t at = 0) const;
  char* memory(std::size_t at = 0) { return memory_.data() + at; }
  ibv_sge sge(std::size_t at, std::uint32_t length) const;
  ibv_qp_state state() const;

  /// Posts one receive of `length` bytes at `at`, to the SRQ if there is one. The default is not 0,
  /// because some devices refuse a receive without a buffer. Returns an errno value.
  int post_recv(std::uint64_t id, std::size_t at = 0, std::uint32_t length = 1);
  /// Posts one request whose list has one entry, or none if `length` is 0. Returns an errno value.
  int post_send(ibv_send_wr wr, std::size_t at = 0, std::uint32_t length = 0);
  /// A signaled request on the memory of `peer`; atomics use `compare_add` and `swap`.
  ibv_send_wr request(std::uint64_t id, ibv_wr_opcode opcode, const End& peer,
                      std::size_t remote_at = 0) const;

  /// Moves the queue pair to the next state with the attributes of the options. `without` has bits
  /// of the mask to leave out, `with` bits to add; `change` may change attributes. Returns errno.
  int to_init(int without = 0, int with = 0);
  int to_rtr(std::uint32_t dest_qpn, int without = 0, int with = 0);
  int to_rts(int without = 0, int with = 0);
  int modify(ibv_qp_state state, int mask = IBV_QP_STATE);
  /// Destroys the queue pair and creates another one.
  void replace();
  ibv_qp_attr attr{};  ///< the attributes that the calls above use; a case may change them first

  Judge& judge;
  EndOptions options;
  Pd pd;
  Channel channel;
  Cq send_cq;
  Cq recv_cq;
  Mr mr;
  Srq srq;
  Qp qp;
  rdma_cm_id* id = nullptr;  ///< owns the queue pair if rdma_cm connected it
};

/// Waits up to `limit` for a completion.
std::optional<ibv_wc> next(ibv_cq* cq, std::chrono::milliseconds limit = kLimit);
inline std::optional<ibv_wc> next(const Cq& cq) { return next(cq.get()); }
/// Waits for a completion and compares its status. Returns the completion, or an empty one if none
/// came (then the comparison has failed).
ibv_wc expect_completion(Judge& judge, std::string_view step, ibv_cq* cq,
                         std::initializer_list<ibv_wc_status> allowed = {IBV_WC_SUCCESS});
inline ibv_wc expect_completion(Judge& judge, std::string_view step, const Cq& cq,
                                std::initializer_list<ibv_wc_status> allowed = {IBV_WC_SUCCESS}) {
  return expect_completion(judge, step, cq.get(), allowed);
}
/// Compares that no completion is there, after everything that was posted has had an effect that
/// the case has observed.
bool expect_empty(Judge& judge, std::string_view step, const Cq& cq);
/// Waits until the queue pair is in `state`; compares.
bool expect_state(Judge& judge, std::string_view step, const End& end, ibv_qp_state state);

/// Two ends of one context that are connected (RTS) when the constructor returns. UD ends are in
/// RTS, too.
struct Pair {
  explicit Pair(Judge& judge, const EndOptions& options = {}) : Pair(judge, options, options) {}
  Pair(Judge& judge, const EndOptions& of_a, const EndOptions& of_b);
  ~Pair();
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  /// Of rdma_cm, if it connected the ends: not destroyed, because ids that remain use it. The
  /// process of the case ends soon.
  rdma_event_channel* events = nullptr;
  End a;
  End b;

 private:
  void connect_by_hand();
  void connect_by_cm();
};

/// Destroys the queue pairs of a pair, so that a case can destroy their queues.
void close(Pair& pair);

/// An address handle to the device itself, and a datagram's request.
Ah way_to_self(Judge& judge, const End& from);

}  // namespace iwarp::judge
