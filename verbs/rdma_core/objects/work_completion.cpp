// SPDX-License-Identifier: Apache-2.0
// The fields of an ibv_wc, one function for each, and the log line of a failed completion.
#include "objects/work_completion.hpp"

#include <arpa/inet.h>

#include "objects/immediate.hpp"
#include "objects/objects.hpp"
#include "process/errno_table.hpp"

namespace iwarp::rdma_core {
namespace {

using verbs::WcOpcode;
using verbs::WcStatus;

bool is_datagram(const verbs::WorkCompletion& wc) {
  return wc.opcode == WcOpcode::kRecvDatagram || wc.opcode == WcOpcode::kRecvDatagramImmediate;
}

bool with_immediate(const verbs::WorkCompletion& wc) {
  const bool came =
      wc.opcode == WcOpcode::kRecvImmediate || wc.opcode == WcOpcode::kRecvSendImmediate;
  return came && wc.status == WcStatus::kSuccess;
}

}  // namespace

// [IBV-276]
ibv_wc_status wc_status(WcStatus status) {
  // In the order of the enumerators of WcStatus.
  static constexpr std::array kStatuses{
      IBV_WC_SUCCESS,         IBV_WC_LOC_LEN_ERR,    IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_PROT_ERR,
      IBV_WC_WR_FLUSH_ERR,    IBV_WC_MW_BIND_ERR,    IBV_WC_BAD_RESP_ERR,  IBV_WC_LOC_ACCESS_ERR,
      IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_OP_ERR,    IBV_WC_RNR_RETRY_EXC_ERR,
      IBV_WC_RETRY_EXC_ERR,   IBV_WC_FATAL_ERR};
  static_assert(kStatuses.size() == static_cast<std::size_t>(WcStatus::kFatal) + 1);
  return kStatuses[static_cast<std::size_t>(status)];
}

// [IBV-278, IBV-279]
ibv_wc_opcode wc_opcode(const verbs::WorkCompletion& wc) {
  // In the order of the enumerators of WcOpcode. The C interface has no call that posts a fast
  // registration.
  static constexpr std::array kOpcodes{IBV_WC_SEND,      IBV_WC_RDMA_WRITE,
                                       IBV_WC_RDMA_READ, IBV_WC_LOCAL_INV,
                                       IBV_WC_BIND_MW,   IBV_WC_BIND_MW,
                                       IBV_WC_RECV,      IBV_WC_FETCH_ADD,
                                       IBV_WC_COMP_SWAP, IBV_WC_RECV_RDMA_WITH_IMM,
                                       IBV_WC_RECV,      IBV_WC_RECV,
                                       IBV_WC_RECV};
  static_assert(kOpcodes.size() == static_cast<std::size_t>(WcOpcode::kRecvDatagramImmediate) + 1);
  const bool of_send =
      wc.opcode == WcOpcode::kRecvImmediate && decode_immediate(wc.immediate).with_send;
  return of_send ? IBV_WC_RECV : kOpcodes[static_cast<std::size_t>(wc.opcode)];
}

// [IBV-280, IBV-281]
std::uint32_t wc_byte_len(const verbs::WorkCompletion& wc) {
  const bool alone = with_immediate(wc) && wc.opcode == WcOpcode::kRecvImmediate;
  return alone ? length_of_write(wc.immediate, wc.written) : wc.byte_len;
}

std::uint8_t wc_sl(const verbs::WorkCompletion& wc) {
  constexpr std::uint8_t kUdp = 8;
  constexpr std::uint8_t kIpv6 = 1;
  constexpr std::uint8_t kIpv4 = 2;
  if (!is_datagram(wc)) return 0;
  return kUdp | (wc.over_ipv4 ? kIpv4 : kIpv6);
}

// [IBV-283, IBV-286, IBV-289]
unsigned wc_flags(const verbs::WorkCompletion& wc) {
  if (is_datagram(wc)) {
    return wc.opcode == WcOpcode::kRecvDatagramImmediate ? IBV_WC_GRH | IBV_WC_WITH_IMM
                                                         : IBV_WC_GRH;
  }
  if (with_immediate(wc)) return IBV_WC_WITH_IMM;
  return wc.invalidated ? IBV_WC_WITH_INV : 0;
}

// [IBV-282, IBV-284]
std::uint32_t wc_data(const verbs::WorkCompletion& wc) {
  if (is_datagram(wc)) return htonl(static_cast<std::uint32_t>(wc.immediate));
  return with_immediate(wc) ? decode_immediate(wc.immediate).imm_data : wc.invalidated_stag.value;
}

std::uint32_t wc_vendor_err(Core& core, const verbs::WorkCompletion& wc) {
  if (wc.status == WcStatus::kSuccess) return 0;
  std::uint32_t out = 0;
  // Ignores the result, because a poll must not lose the completion for lack of memory.
  (void)guarded([&] {
    for (const auto& service : core.services()) {
      if (out == 0) out = service->vendor_error(wc.qp_num);
    }
  });
  return out;
}

void report_failure(Core& core, const verbs::WorkCompletion& wc) {
  const bool flushed = wc.status == WcStatus::kWrFlush;
  if (wc.status == WcStatus::kSuccess || (flushed && wc.opcode == WcOpcode::kRecv)) return;
  // Ignores the result, because a poll must not fail for lack of memory for a log line.
  (void)guarded([&] {
    for (const auto& service : core.services()) service->completion_failed(wc.qp_num, flushed);
  });
}

// [IBV-274, IBV-275, IBV-277, IBV-285]
void convert(Core& core, const verbs::WorkCompletion& from, ibv_wc& to) {
  report_failure(core, from);
  to.wr_id = from.wr_id;
  to.status = wc_status(from.status);
  to.opcode = wc_opcode(from);
  to.vendor_err = wc_vendor_err(core, from);
  to.byte_len = wc_byte_len(from);
  to.imm_data = wc_data(from);
  to.qp_num = from.qp_num;
  to.src_qp = from.source_qp;
  to.wc_flags = wc_flags(from);
  to.pkey_index = 0;
  to.slid = 0;
  to.sl = wc_sl(from);
  to.dlid_path_bits = 0;
}

}  // namespace iwarp::rdma_core
