// SPDX-License-Identifier: Apache-2.0
// Converts completions of the core to those of the C interface.
#pragma once

#include <infiniband/verbs.h>

#include "process/core.hpp"

namespace iwarp::rdma_core {

ibv_wc_status wc_status(verbs::WcStatus status);
ibv_wc_opcode wc_opcode(const verbs::WorkCompletion& wc);
/// Returns the value for ibv_wc::byte_len: the length of the Send, of the Read, or of the Write to
/// which immediate data belongs.
std::uint32_t wc_byte_len(const verbs::WorkCompletion& wc);
/// Returns the value for ibv_wc::sl. As with adapters for RoCE v2, this value tells the program
/// whether the GRH of a datagram contains an IPv4 or an IPv6 header.
std::uint8_t wc_sl(const verbs::WorkCompletion& wc);
unsigned wc_flags(const verbs::WorkCompletion& wc);
/// Returns the value for the union of ibv_wc::imm_data and ibv_wc::invalidated_rkey. wc_flags()
/// tells which of the two members is set.
std::uint32_t wc_data(const verbs::WorkCompletion& wc);
/// Returns the value for ibv_wc::vendor_err, which says why the stream of a failed request ended.
/// The value is 0x10000 plus the first two octets of the Terminate that was sent or received
/// (layer, type and code; RFC 5040 section 4.8). It is 0 if the request has not failed, or if
/// neither end sent a Terminate.
std::uint32_t wc_vendor_err(Core& core, const verbs::WorkCompletion& wc);

/// Call for each completion that the program polls. If the completion has failed and was not
/// flushed, notifies the services of the Core.
void report_failure(Core& core, const verbs::WorkCompletion& wc);
void convert(Core& core, const verbs::WorkCompletion& from, ibv_wc& to);

}  // namespace iwarp::rdma_core
