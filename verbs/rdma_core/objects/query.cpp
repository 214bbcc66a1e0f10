// SPDX-License-Identifier: Apache-2.0
// Queries of the device: its attributes, its port, its GIDs and its P_Keys. A query fills only as
// many bytes of a struct as the struct has in the headers with which the program was built. Those
// headers may be older or newer than the ones with which the library is built.
#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>

#include "device/device.hpp"
#include "device/limits.hpp"
#include "device/peer_address.hpp"
#include "device/port.hpp"
#include "iwarp/verbs/datagram_types.hpp"
#include "objects/calls.hpp"
#include "objects/objects.hpp"
#include "process/call_site.hpp"
#include "process/errno_table.hpp"
#include "process/refusal.hpp"

namespace iwarp::rdma_core {
namespace {

constexpr std::uint16_t kDefaultPkey = 0xFFFF;

// The size of ibv_port_attr in old headers, in which the struct has no port_cap_flags2.
constexpr std::size_t kOldPortAttr = offsetof(ibv_port_attr, port_cap_flags2);

/// Copies as much of `from` as fits into the program's struct `to`, which has `room` bytes. Fills
/// the remaining bytes of that struct with zeros.
template <typename T>
void give(const T& from, void* to, std::size_t room) {
  std::memset(to, 0, room);
  std::memcpy(to, &from, std::min(room, sizeof from));
}

ibv_device_attr attributes_of(Device& device) {
  ibv_device_attr out = device.limits();
  out.node_guid = device.port().guid;
  out.sys_image_guid = out.node_guid;
  return out;
}

// [IBV-115]
ibv_gid_type type_of(GidType type) {
  switch (type) {
    case GidType::kV1:
      return IBV_GID_TYPE_ROCE_V1;
    case GidType::kV2:
      return IBV_GID_TYPE_ROCE_V2;
    default:
      return IBV_GID_TYPE_IB;
  }
}

ibv_gid_entry entry_of(const PortGid& entry, std::uint32_t index) {
  ibv_gid_entry out{};
  out.gid = entry.gid;
  out.gid_index = index;
  out.port_num = kPortNumber;
  out.gid_type = type_of(entry.type);
  // Sets the interface index only for a RoCE adapter, whose GIDs belong to network interfaces. The
  // GIDs of an RNIC belong to the device.
  if (entry.type != GidType::kNone) out.ndev_ifindex = entry.interface;
  return out;
}

/// Returns the entry, or nullopt if the index is not less than gid_tbl_len. The last entries of the
/// table may be unused. [IBV-85]
std::optional<PortGid> entry_at(Device& device, std::uint64_t index) {
  const Port port = device.port();
  if (index < port.gids.size()) return port.gids[index];
  const auto length =
      static_cast<std::uint64_t>(port_attributes(device.profile(), port).gid_tbl_len);
  return index < length ? std::optional(PortGid{}) : std::nullopt;
}

int get_gid(Device& device, std::uint32_t port_number, std::uint32_t index, ibv_gid_entry& out) {
  const auto entry = port_number == kPortNumber ? entry_at(device, index) : std::nullopt;
  if (!entry) return EINVAL;
  if (entry->is_free()) return ENODATA;
  out = entry_of(*entry, index);
  return 0;
}

}  // namespace

// [IBV-82, IBV-89, IBV-631]
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attr, std::size_t length) {
  if (port != kPortNumber) return EINVAL;
  return guarded([&] {
    Device& device = Context::of(context).device;
    ibv_port_attr out = port_attributes(device.profile(), device.port());
    const auto wrong_keys =
        Context::of(context).rnic.datagram_counters().dropped_for(verbs::DatagramDrop::kWrongQKey);
    out.qkey_viol_cntr = static_cast<std::uint32_t>(wrong_keys);
    if (Hooks* const hooks = Context::of(context).hooks) hooks->show_port(device, out);
    give(out, attr, length);
  });
}

// [IBV-56, IBV-57, IBV-58, IBV-59, IBV-60, IBV-61, IBV-62, IBV-63, IBV-64, IBV-65, IBV-66]
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attr, std::size_t length) {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  if (length < sizeof(ibv_device_attr)) return EINVAL;
  return guarded([&] {
    ibv_device_attr_ex out{};
    out.orig_attr = attributes_of(Context::of(context).device);
    out.device_cap_flags_ex = out.orig_attr.device_cap_flags;
    out.phys_port_cnt_ex = kPortNumber;
    give(out, attr, length);
  });
}

extern "C" {

#undef ibv_query_port
// [IBV-95]
int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attr) {
  return query_port(context, port, reinterpret_cast<ibv_port_attr*>(attr), kOldPortAttr);
}

// [IBV-19, IBV-21]
int ibv_query_device(ibv_context* context, ibv_device_attr* attr) {
  return guarded([&] { *attr = attributes_of(Context::of(context).device); });
}

// [IBV-97, IBV-98]
int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
  const CallSite here(__builtin_return_address(0), "ibv_query_gid");
  const int code = guarded([&] {
    if (port != kPortNumber) {
      return refused(EINVAL, "port_num {}: must be 1 (the device has one port)", port);
    }
    Device& device = Context::of(context).device;
    const auto entry =
        index < 0 ? std::nullopt : entry_at(device, static_cast<std::uint64_t>(index));
    if (!entry) return refuse_gid_index("index", index, device.port());
    *gid = entry->gid;
    return 0;
  });
  return code == 0 ? 0 : minus_one(code);
}

// [IBV-99, IBV-100, IBV-101, IBV-102, IBV-103, IBV-104, IBV-109]
int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index,
                      ibv_gid_entry* entry, std::uint32_t flags, std::size_t entry_size) {
  if (flags != 0) return EOPNOTSUPP;
  return guarded([&] {
    ibv_gid_entry found{};
    const int code = get_gid(Context::of(context).device, port, index, found);
    if (code == 0) give(found, entry, entry_size);
    return code;
  });
}

// [IBV-105, IBV-106, IBV-107, IBV-108]
ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t max_entries,
                             std::uint32_t flags, std::size_t entry_size) {
  if (flags != 0) return -EOPNOTSUPP;
  std::size_t count = 0;
  const int code = guarded([&] {
    const Port port = Context::of(context).device.port();
    const auto taken = std::ranges::count_if(port.gids, std::not_fn(&PortGid::is_free));
    if (static_cast<std::size_t>(taken) > max_entries) return EINVAL;
    for (std::uint32_t index = 0; index < port.gids.size(); ++index) {
      if (port.gids[index].is_free()) continue;
      give(entry_of(port.gids[index], index), reinterpret_cast<char*>(entries) + count * entry_size,
           entry_size);
      ++count;
    }
    return 0;
  });
  return code == 0 ? static_cast<ssize_t>(count) : -code;
}

// [IBV-86, IBV-110, IBV-111]
int ibv_query_pkey(ibv_context* context, std::uint8_t port, int index, __be16* pkey) {
  const int code = guarded([&] {
    Device& device = Context::of(context).device;
    const auto length = port_attributes(device.profile(), device.port()).pkey_tbl_len;
    if (port != kPortNumber || index < 0 || index >= length) return EINVAL;
    *pkey = index == 0 ? htons(kDefaultPkey) : 0;
    return 0;
  });
  return code == 0 ? 0 : minus_one(code);
}

// [IBV-10]
__be64 ibv_get_device_guid(ibv_device* of) {
  __be64 out = 0;
  guarded([&] { out = Device::of(of).port().guid; });
  return out;
}

}  // extern "C"

}  // namespace iwarp::rdma_core
