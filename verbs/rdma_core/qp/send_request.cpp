// SPDX-License-Identifier: Apache-2.0
// Checks and converts a request, by opcode and by type of queue pair. A refused request is logged
// with the field that is wrong.
#include "qp/send_request.hpp"

#include <cerrno>

#include "device/limits.hpp"
#include "iwarp/rdmap/atomic_header.hpp"
#include "objects/immediate.hpp"
#include "objects/memory_access.hpp"
#include "process/errno_table.hpp"
#include "process/refusal.hpp"
#include "qp/queue_pair.hpp"

namespace iwarp::rdma_core {
namespace {

using verbs::SendFlags;
using verbs::SendWr;
using verbs::WrOpcode;

constexpr std::uint32_t kAtomicWord = 8;

// [IBV-506]
int refuse_opcode(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_TSO:
      return refused("IBV_WR_TSO", "iWARP sends no raw packets that need segmentation");
    case IBV_WR_ATOMIC_WRITE:
      return refused("IBV_WR_ATOMIC_WRITE", "RFC 7306 does not define this operation");
    default:
      return refused(EINVAL, "opcode {}: unknown operation", static_cast<int>(opcode));
  }
}

int refuse_length(std::uint64_t length, std::uint32_t most) {
  return refused(EINVAL, "a message of {} bytes: must be at most {}, the max_msg_sz of the port",
                 length, most);
}

std::uint64_t total_length(const SendWr& wr) {
  std::uint64_t total = 0;
  for (const verbs::Sge& sge : wr.sgl) total += sge.length;
  return total;
}

void take_away(SendFlags& flags, SendFlags flag) {
  flags = static_cast<SendFlags>(static_cast<unsigned>(flags) & ~static_cast<unsigned>(flag));
}

// [IBV-521]
void make_invalidate(SendWr& out, std::uint32_t rkey) {
  out.opcode = WrOpcode::kLocalInvalidate;
  out.invalidate = verbs::Stag{rkey};
  out.sgl = {};
  if (has(out.flags, SendFlags::kFence)) out.flags = out.flags | SendFlags::kLocalFence;
}

int make_send_immediate(SendWr& out, std::uint32_t imm_data) {
  if (total_length(out) != 0) {
    out.opcode = WrOpcode::kSendImmediate;
    out.immediate = encode_of_send(imm_data);
    return 0;
  }
  out.opcode = WrOpcode::kImmediate;  // any peer that supports RFC 7306 accepts this message
  out.sgl = {};
  out.immediate = encode({.imm_data = imm_data, .with_send = true});
  // A message without payload has nothing to copy inline.
  take_away(out.flags, SendFlags::kInline);
  return 0;
}

int make_write_immediate(SendWr& out, std::uint32_t imm_data) {
  const auto length = total_length(out);
  if (length > kMaxMessage) return refuse_length(length, kMaxMessage);
  out.opcode = WrOpcode::kWriteImmediate;
  out.immediate = encode({.imm_data = imm_data, .length = static_cast<std::uint32_t>(length)});
  return 0;
}

// [IBV-518]
int make_atomic(SendWr& out, verbs::Sge& word) {
  if (word.length < kAtomicWord) {
    return refused(EINVAL,
                   "an atomic operation with an SGE of length {}: the length must be at least 8",
                   word.length);
  }
  // If the buffer is longer, the result fills only its first 8 bytes.
  word.length = kAtomicWord;
  out.sgl = std::span(&word, 1);
  return 0;
}

// [IBV-534]
int make_tagged(SendWr& out, const ibv_send_wr& wr, WrOpcode opcode) {
  out.opcode = opcode;
  out.remote = {.rkey = verbs::Stag{wr.wr.rdma.rkey}, .to = wr.wr.rdma.remote_addr};
  return 0;
}

int make_word(SendWr& out, const ibv_send_wr& wr, verbs::Sge* word) {
  const auto& operands = wr.wr.atomic;
  out.remote = {.rkey = verbs::Stag{operands.rkey}, .to = operands.remote_addr};
  if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
    out.opcode = WrOpcode::kCmpSwap;
    out.atomic.compare = operands.compare_add;
    out.atomic.add_or_swap = operands.swap;
  } else {
    out.opcode = WrOpcode::kFetchAdd;
    out.atomic.add_or_swap = operands.compare_add;
  }
  if (word != nullptr) return make_atomic(out, *word);
  return refused(EINVAL, "num_sge {}: an atomic operation requires one SGE of at least 8 bytes",
                 wr.num_sge);
}

/// Returns whether a type of queue pair supports the opcode. UC supports no opcode that needs a
/// response. [IBV-504]
bool has_request(ibv_qp_type type, ibv_wr_opcode opcode) {
  return type != IBV_QPT_UC || (opcode != IBV_WR_RDMA_READ && opcode != IBV_WR_ATOMIC_CMP_AND_SWP &&
                                opcode != IBV_WR_ATOMIC_FETCH_AND_ADD);
}

// [IBV-503]
int fill(SendWr& out, const ibv_send_wr& wr, std::span<verbs::Sge> sges) {
  switch (wr.opcode) {
    case IBV_WR_SEND:
      out.opcode = WrOpcode::kSend;
      return 0;
    case IBV_WR_SEND_WITH_INV:
      out.opcode = WrOpcode::kSendInvalidate;
      out.invalidate = verbs::Stag{wr.invalidate_rkey};
      return 0;
    case IBV_WR_SEND_WITH_IMM:
      return make_send_immediate(out, wr.imm_data);
    case IBV_WR_RDMA_WRITE:
      return make_tagged(out, wr, WrOpcode::kWrite);
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      make_tagged(out, wr, WrOpcode::kWriteImmediate);
      return make_write_immediate(out, wr.imm_data);
    case IBV_WR_RDMA_READ:
      return make_tagged(out, wr, WrOpcode::kRead);
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return make_word(out, wr, sges.size() == 1 ? sges.data() : nullptr);
    case IBV_WR_LOCAL_INV:
      make_invalidate(out, wr.invalidate_rkey);
      return 0;
    case IBV_WR_BIND_MW:
      out.sgl = {};
      return make_bind(out, *wr.bind_mw.mw, wr.bind_mw.rkey, wr.bind_mw.bind_info);
    default:
      return refuse_opcode(wr.opcode);
  }
}

}  // namespace

verbs::Sge to_sge(const ibv_sge& sge) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the C interface has addresses as integers.
  return {.address = reinterpret_cast<std::byte*>(sge.addr),
          .length = sge.length,
          .lkey = verbs::Stag{sge.lkey}};
}

// [IBV-570]
SendFlags to_flags(unsigned send_flags) {
  auto out = SendFlags::kNone;
  if ((send_flags & IBV_SEND_FENCE) != 0) out = out | SendFlags::kFence;
  if ((send_flags & IBV_SEND_SIGNALED) != 0) out = out | SendFlags::kSignaled;
  if ((send_flags & IBV_SEND_SOLICITED) != 0) out = out | SendFlags::kSolicited;
  if ((send_flags & IBV_SEND_INLINE) != 0) out = out | SendFlags::kInline;
  return out;
}

// [IBV-206, IBV-207, IBV-520]
int make_bind(SendWr& out, const ibv_mw& mw, std::uint32_t rkey, const ibv_mw_bind_info& info) {
  const auto access = window_access(info.mw_access_flags);
  if (!access) {
    return refused(EINVAL,
                   "mw_access_flags {:#x}: a window supports only the remote access flags and "
                   "IBV_ACCESS_ZERO_BASED",
                   info.mw_access_flags);
  }
  if (info.mr == nullptr && info.length != 0) {
    return refused(EINVAL,
                   "mr is null, but length is {} (pass a region, or length 0 to unbind the window)",
                   info.length);
  }
  if (mw.type == IBV_MW_TYPE_1 && has(*access, verbs::Access::kZeroBased)) {
    return refused(EINVAL, "IBV_ACCESS_ZERO_BASED: a window of type 1 cannot be zero-based");
  }
  out.opcode = WrOpcode::kBindWindow;
  out.bind = {.window = verbs::Stag{mw.rkey},
              .key = static_cast<std::uint8_t>(rkey),
              .region = verbs::Stag{info.mr != nullptr ? info.mr->rkey : 0},
              // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses are integers in the C structs.
              .address = reinterpret_cast<std::byte*>(info.addr),
              .length = info.length,
              .access = *access};
  return 0;
}

// [IBV-28, IBV-87, IBV-533]
int make_request(const Qp& qp, SendWr& out, const ibv_send_wr& wr, std::span<verbs::Sge> sges) {
  if (!has_request(qp.abi.qp_base.qp_type, wr.opcode)) {
    return refused(EINVAL, "opcode {}: UC supports neither Reads nor atomics",
                   static_cast<int>(wr.opcode));
  }
  if (const int code = fill(out, wr, sges)) return code;
  const auto length = total_length(out);
  return length > qp.max_message ? refuse_length(length, qp.max_message) : 0;
}

// [IBV-190]
void bind_posted(ibv_mw& mw, std::uint32_t rkey) {
  constexpr std::uint32_t kKey = 0xFF;
  mw.rkey = (mw.rkey & ~kKey) | (rkey & kKey);
}

}  // namespace iwarp::rdma_core
