// SPDX-License-Identifier: Apache-2.0
// From completions of the core to those of the C interface.
#pragma once

#include <infiniband/verbs.h>

#include "process/core.hpp"

namespace iwarp::rdma_core {

ibv_wc_status wc_status(verbs::WcStatus status);
ibv_wc_opcode wc_opcode(const verbs::WorkCompletion& wc);
/// The octets of the Send, of the Write in front of immediate data, or read.
std::uint32_t wc_byte_len(const verbs::WorkCompletion& wc);
/// Of a datagram: which kind of header the GRH is, as adapters for RoCE v2 say it there.
std::uint8_t wc_sl(const verbs::WorkCompletion& wc);
unsigned wc_flags(const verbs::WorkCompletion& wc);
/// imm_data or invalidated_rkey, whichever the flags announce.
std::uint32_t wc_data(const verbs::WorkCompletion& wc);
/// 0, or why the stream of a failed request ended: 0x10000, and the first two octets of the
/// Terminate that was sent or received (layer, type, code; RFC 5040 section 4.8).
std::uint32_t wc_vendor_err(Core& core, const verbs::WorkCompletion& wc);

/// Of a completion that a program is given: if it failed, services are told.
void tell_failure(Core& core, const verbs::WorkCompletion& wc);
void convert(Core& core, const verbs::WorkCompletion& from, ibv_wc& to);

}  // namespace iwarp::rdma_core
