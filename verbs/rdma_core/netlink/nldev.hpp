// SPDX-License-Identifier: Apache-2.0
// Answers requests of NETLINK_RDMA as the kernel does: the commands of RDMA_NL_NLDEV with which
// iproute2's `rdma`, UCX and other programs list, add and remove devices. The functions in this
// header use no socket and no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "netlink/links.hpp"

namespace iwarp::rdma_core::netlink {

using Datagram = std::vector<std::byte>;

/// The maximum size of a datagram that contains parts of a list, in bytes. Programs read into
/// buffers of a page or more.
inline constexpr std::size_t kMaxPart = 3584;
/// The maximum number of bytes that one call of answer() returns, except the last datagram.
inline constexpr std::size_t kMaxAnswers = std::size_t{1} << 20;

/// The program's socket, which sent a request.
struct Requester {
  std::uint32_t port_id = 0;  ///< its netlink address
  /// Whether errors contain only the header of the request, and not the whole request: the socket
  /// option NETLINK_CAP_ACK.
  bool caps_errors = false;
};

/// Returns the answers to a datagram that a program has sent, which may contain several requests.
/// Requests after a malformed header, and those that do not fit in kMaxAnswers, get no answer.
std::vector<Datagram> answer(std::span<const std::byte> request, Requester requester, Links& links);

}  // namespace iwarp::rdma_core::netlink
