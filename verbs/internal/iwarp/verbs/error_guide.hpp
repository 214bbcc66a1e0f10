// SPDX-License-Identifier: Apache-2.0
// What each error of a Terminate (RFC 5040 section 4.8) means to the programs at both ends, the
// vendor_err that represents the error in completions, and which errors of calls are explained,
// too.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "iwarp/bytes/fault.hpp"

namespace iwarp::verbs {

/// What an error means, and what to do about it. Both members are static strings, each a clause
/// without a full stop.
struct Guidance {
  const char* meaning = "";
  const char* advice = "";
};
/// Returns the guidance for a fault that rdmap::explain() knows; for any other fault, returns a
/// Guidance whose meaning is "an error code that no RFC assigns".
Guidance guidance(const bytes::Fault& fault);

/// Returns the vendor_err of a failed completion whose stream ended with a Terminate: 0x1LTCC with
/// the Terminate's layer L, error type T and error code CC.
std::uint32_t vendor_error(const bytes::Fault& fault);
/// Returns the fault that a vendor_err represents, with the text of rdmap::explain() as `why`.
/// Returns nullopt if `number` does not have the form 0x1LTCC.
std::optional<bytes::Fault> fault_of_vendor_error(std::uint32_t number);
/// A call of libibverbs or librdmacm, and the name of the errno with which it fails.
struct CallError {
  std::string_view call;
  std::string_view error;
};
/// The errors of calls that `iwarp explain-error CALL ERROR` explains.
inline constexpr std::array kExplainedCalls{
    CallError{"ibv_modify_qp", "EINVAL"},
    CallError{"ibv_modify_qp", "ETIMEDOUT"},
    CallError{"ibv_get_device_list", "ENOSYS"},
    CallError{"ibv_open_device", "EACCES"},
    CallError{"ibv_open_device", "EINVAL"},
    CallError{"ibv_query_gid", "EINVAL"},
    CallError{"ibv_alloc_pd", "ENOMEM"},
    CallError{"ibv_reg_mr", "EINVAL"},
    CallError{"ibv_reg_mr", "ENOMEM"},
    CallError{"ibv_reg_mr", "EFAULT"},
    CallError{"ibv_create_cq", "EINVAL"},
    CallError{"ibv_create_cq", "ENOMEM"},
    CallError{"ibv_create_qp", "EINVAL"},
    CallError{"ibv_create_qp", "ENOMEM"},
    CallError{"ibv_create_qp", "EOPNOTSUPP"},
    CallError{"ibv_create_ah", "EINVAL"},
    CallError{"ibv_create_ah", "EOPNOTSUPP"},
    CallError{"rdma_create_id", "EPROTONOSUPPORT"},
    CallError{"rdma_bind_addr", "EADDRNOTAVAIL"},
    CallError{"rdma_bind_addr", "EADDRINUSE"},
    CallError{"rdma_resolve_addr", "ENOMEM"},
    CallError{"rdma_resolve_route", "EINVAL"},
    CallError{"rdma_create_qp", "EINVAL"},
    CallError{"rdma_create_qp", "ENOMEM"},
    CallError{"rdma_listen", "EINVAL"},
    CallError{"rdma_connect", "EINVAL"},
    CallError{"rdma_accept", "EINVAL"},
};

/// The vendor_err of a completion whose status was set by an injected fault.
inline constexpr std::uint32_t kInjectedVendorError = 0x20000;

}  // namespace iwarp::verbs
