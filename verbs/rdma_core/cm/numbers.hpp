// SPDX-License-Identifier: Apache-2.0
// CmNumbers: the numbers of rdma_conn_param. MPA carries only an IRD and an ORD, which an end of
// this stack rounds, and raises by the Reads that it needs for acknowledgements. So the programs'
// own numbers travel behind the private data of Request and Reply (rfc-notes/decisions/0041).
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "device/limits.hpp"
#include "iwarp/mpa/startup_frame.hpp"
#include "iwarp/mpa/startup_types.hpp"
#include "qp/peer_timeouts.hpp"

namespace iwarp::rdma_core {

struct CmNumbers {
  std::uint8_t responder_resources = kMaxReads;
  std::uint8_t initiator_depth = kMaxReads;
  std::uint8_t retry_count = kMostRetries;
  std::uint8_t rnr_retry_count = kRnrForEver;
  bool flow_control = false;
  bool srq = false;
  std::uint32_t qp_num = 0;
};

/// The octets that encode() returns.
inline constexpr std::size_t kNumbersSize = 12;
/// The maximum size in bytes of a program's private data to which the numbers are appended.
inline constexpr std::size_t kMostBeforeNumbers =
    mpa::kMaxTaggedPrivateData - mpa::kEnhancedWordSize - mpa::kExtensionsTagSize - kNumbersSize;

//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// |              Mark: "cm.q" in a Request, "cm.p" in a Reply     |
// | resp.resources|  init. depth  | retry |  rnr  |   0     |S|F| |
// |                            qp_num                             |
std::vector<std::byte> encode(mpa::FrameKind kind, const CmNumbers& numbers);

/// The numbers in a peer's frame, from the point of view of this end: the peer's initiator_depth is
/// the responder_resources of this end, and the reverse.
struct PeerNumbers {
  CmNumbers numbers;
  /// Whether the peer's program has passed the numbers. If not, they are the IRD and ORD of the
  /// frame, or the maximum of the device if the frame has none.
  bool are_programs = false;
};
/// Returns the numbers in a Request or Reply. Removes them from `private_data`. Numbers of Reads
/// above the maximum of the device are lowered to it, because programs pass them to other calls,
/// which would refuse them.
PeerNumbers numbers_from(mpa::FrameKind kind, const std::optional<mpa::PeerOffer>& offer,
                         std::vector<std::byte>& private_data);
/// Returns the numbers on which a client agrees that has sent `own` and got `reply`.
CmNumbers agreed(const CmNumbers& own, const PeerNumbers& reply);

/// Stores the numbers in the parameters of an event. As an RNIC, only the numbers of Reads are
/// stored, as in the kernel.
void show(const CmNumbers& numbers, bool as_roce, rdma_conn_param& out);

}  // namespace iwarp::rdma_core
