// SPDX-License-Identifier: Apache-2.0
// Converts completions of the core to those of the C interface.
#pragma once

#include <infiniband/verbs.h>

#include "process/core.hpp"

namespace iwarp::rdma_core {

ibv_wc_status wc_status(verbs::WcStatus status);
ibv_wc_opcode wc_opcode(const verbs::WorkCompletion& wc);
/// Returns the length for ibv_wc::byte_len: that of the Send, that of the Write to which immediate
/// data belongs, or that of the Read.
std::uint32_t wc_byte_len(const verbs::WorkCompletion& wc);
/// Returns the value for ibv_wc::sl. As with adapters for RoCE v2, it tells which kind of IP header
/// a datagram's GRH contains.
std::uint8_t wc_sl(const verbs::WorkCompletion& wc);
unsigned wc_flags(const verbs::WorkCompletion& wc);
/// Returns the value for ibv_wc::imm_data or invalidated_rkey; wc_flags() tells which of the two.
std::uint32_t wc_data(const verbs::WorkCompletion& wc);
/// Returns why the stream of a failed request ended: 0x10000 plus the first two octets of the
/// Terminate that was sent or received (layer, type, code; RFC 5040 section 4.8). Returns 0 if the
/// request has not failed or there was no Terminate.
std::uint32_t wc_vendor_err(Core& core, const verbs::WorkCompletion& wc);

/// Notifies the services if a completion that the program polls has failed and was not flushed.
void tell_failure(Core& core, const verbs::WorkCompletion& wc);
void convert(Core& core, const verbs::WorkCompletion& from, ibv_wc& to);

}  // namespace iwarp::rdma_core
