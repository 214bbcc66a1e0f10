// SPDX-License-Identifier: Apache-2.0
// Answers requests of NETLINK_RDMA as the kernel does: the commands of RDMA_NL_NLDEV with which
// iproute2's `rdma`, UCX and other programs list, add and remove devices. The functions in this
// header use no socket and no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace iwarp::rdma_core::netlink {

/// What `rdma dev` and `rdma link` print about a device and its port.
struct LinkView {
  std::uint32_t index = 0;  ///< identifies the device in requests; does not change while it exists
  std::string name;
  std::string firmware;              ///< firmware version; empty if the device has none
  std::uint8_t node_type = 0;        ///< value of ibv_node_type
  std::uint64_t node_guid = 0;       ///< in host order
  std::uint64_t sys_image_guid = 0;  ///< in host order
  std::uint64_t caps = 0;            ///< capability flags of the device
  std::string netdev;                ///< network interface of the port; empty if it has none
  unsigned netdev_index = 0;         ///< index of `netdev`
  bool is_up = false;                ///< whether the port is active
  std::string protocol;              ///< "iw" or "roce"
};

/// The RDMA devices that NETLINK_RDMA lists, adds and removes. Each device has one port.
class Links {
 public:
  virtual ~Links() = default;
  /// Returns the devices in the order of their indices.
  virtual std::vector<LinkView> list() = 0;
  /// Adds a device of the kind `type` ("rxe" or "siw") on a network interface. Returns 0 or an
  /// errno: EINVAL if the name is invalid or the type is unknown, ENODEV if there is no such
  /// interface, EEXIST if the name is in use or the interface already has a device of this type.
  virtual int add(const std::string& name, const std::string& type, const std::string& netdev) = 0;
  /// Removes a device that add() has added. Returns 0, or EINVAL if `index` is not such a device.
  virtual int remove(std::uint32_t index) = 0;
};

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
