// SPDX-License-Identifier: Apache-2.0
// Converts completions of the core to those of the C interface.
#pragma once

#include <infiniband/verbs.h>

#include "process/core.hpp"

namespace iwarp::rdma_core {

ibv_wc_status wc_status(verbs::WcStatus status);
ibv_wc_opcode wc_opcode(const verbs::WorkCompletion& wc);
/// Returns the length of the message: of the Send, of the Write before immediate data, or of the
/// Read.
std::uint32_t wc_byte_len(const verbs::WorkCompletion& wc);
/// Returns the kind of IP header in a datagram's GRH, encoded as adapters for RoCE v2 do in `sl`.
std::uint8_t wc_sl(const verbs::WorkCompletion& wc);
unsigned wc_flags(const verbs::WorkCompletion& wc);
/// Returns imm_data or invalidated_rkey, depending on wc_flags().
std::uint32_t wc_data(const verbs::WorkCompletion& wc);
/// Returns why the stream of a failed request ended: 0x10000 plus the first two octets of the
/// Terminate that was sent or received (layer, type, code; RFC 5040 section 4.8). Returns 0 if the
/// request has not failed or there was no Terminate.
std::uint32_t wc_vendor_err(Core& core, const verbs::WorkCompletion& wc);

/// Notifies the services if a completion that the program polls has failed and was not flushed.
void tell_failure(Core& core, const verbs::WorkCompletion& wc);
void convert(Core& core, const verbs::WorkCompletion& from, ibv_wc& to);

}  // namespace iwarp::rdma_core
