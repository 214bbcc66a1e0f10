// SPDX-License-Identifier: Apache-2.0
// A case of the judge: something that a device does right or wrong, which a program can observe
// through libibverbs and librdmacm. Each case is a row of a table; there is one file per group of
// cases, and one table per file. The function of a case makes calls and states for each what a
// correct device returns (judge.hpp).
//
//     void without_rights(Judge& j) {
//       End end(j);
//       ibv_mr* const mr = ibv_reg_mr(end.pd.get(), end.memory(0), 8, IBV_ACCESS_REMOTE_WRITE);
//       j.expect("ibv_reg_mr with remote but without local write", errno_of(mr), {EINVAL});
//     }
//     constexpr Case kCases[] = {
//         {"mr/remote-write-alone", "IBV-90", "refuses remote without local write",
//         without_rights},
//     };
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace iwarp::judge {

class Judge;

/// Properties of a device that a case requires, combined with |. If the device lacks one, the case
/// is not applicable.
using Needs = std::uint32_t;
inline constexpr Needs kNothing = 0;
inline constexpr Needs kByHand = 1 << 0;     ///< ibv_modify_qp() connects queue pairs (RoCE or IB)
inline constexpr Needs kIwarp = 1 << 1;      ///< an iWARP device
inline constexpr Needs kUd = 1 << 2;         ///< queue pairs of type IBV_QPT_UD
inline constexpr Needs kUc = 1 << 3;         ///< queue pairs of type IBV_QPT_UC
inline constexpr Needs kCm = 1 << 4;         ///< rdma_cm, by an address of the device
inline constexpr Needs kSrq = 1 << 5;        ///< shared receive queues
inline constexpr Needs kAtomics = 1 << 6;    ///< atomic operations
inline constexpr Needs kWindow1 = 1 << 7;    ///< memory windows of type 1
inline constexpr Needs kWindow2 = 1 << 8;    ///< memory windows of type 2
inline constexpr Needs kImmediate = 1 << 9;  ///< Write with immediate data (not iWARP)
inline constexpr Needs kWrEx = 1 << 10;  ///< ibv_wr_*() (ibv_create_qp_ex() with send_ops_flags)
inline constexpr Needs kCqEx = 1 << 11;  ///< ibv_start_poll() (ibv_create_cq_ex())

struct Case {
  std::string_view id;  ///< stable and unique id, for example "qp/rtr/without-dest-qpn"
  /// Ids of the rows in rfc-notes/requirements that the case tests, separated by blanks.
  std::string_view rows;
  std::string_view title;  ///< what a correct device does, in one line
  void (*run)(Judge&) = nullptr;
  Needs needs = kNothing;
  /// Whether the case is known to crash a kernel or a library. It runs only on request.
  bool is_dangerous = false;
};
inline constexpr bool kDangerous = true;

using Table = std::span<const Case>;  ///< the cases of one file

}  // namespace iwarp::judge
