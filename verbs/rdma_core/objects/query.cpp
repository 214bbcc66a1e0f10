// SPDX-License-Identifier: Apache-2.0
// Queries of the device: its attributes, its port, its GIDs and its P_Keys. A query fills only as
// many bytes of a struct as the struct has in the headers with which the program was built. Those
// headers may be older or newer than the ones with which the library is built.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <functional>

#include "device/gid_table.hpp"
#include "device/limits.hpp"
#include "device/peer_address.hpp"
#include "device/persona.hpp"
#include "device/port.hpp"
#include "iwarp/mpa/startup.hpp"
#include "iwarp/verbs/datagram_types.hpp"
#include "iwarp/version.hpp"
#include "objects/calls.hpp"
#include "objects/objects.hpp"
#include "process/call_site.hpp"
#include "process/errno_table.hpp"
#include "process/refusal.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {
namespace {

constexpr std::uint16_t kDefaultPkey = 0xFFFF;
// LinkUp and Disabled, as values of ibv_port_attr::phys_state.
constexpr std::uint8_t kLinkUp = 5;
constexpr std::uint8_t kLinkDisabled = 3;
// The vendor id that means "no OUI". The kernel's software devices also report it.
constexpr std::uint32_t kNoVendor = 0xFFFFFF;
constexpr std::uint64_t kAllPageSizes = ~std::uint64_t{0xFFF};

// The size of ibv_port_attr in old headers, in which the struct has no port_cap_flags2.
constexpr std::size_t kOldPortAttr = offsetof(ibv_port_attr, port_cap_flags2);

/// Copies as much of `from` as fits into the program's struct `to`, which has `room` bytes. Fills
/// the remaining bytes of that struct with zeros.
template <typename T>
void give(const T& from, void* to, std::size_t room) {
  std::memset(to, 0, room);
  std::memcpy(to, &from, std::min(room, sizeof from));
}

ibv_port_attr port_attributes() {
  const Port port = look_at_port();
  ibv_port_attr out{};
  out.state = port.is_up() ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  out.max_mtu = IBV_MTU_4096;
  out.active_mtu = mtu_value(port.mtu);
  out.gid_tbl_len = static_cast<int>(port.gids.size());
  out.port_cap_flags = IBV_PORT_CM_SUP;
  out.max_msg_sz = kMaxMessage;
  out.pkey_tbl_len = 1;
  out.lid = port.lid();
  out.max_vl_num = 1;
  const LinkSpeed link = link_speed(port.mbit);
  out.active_width = link.width;
  out.active_speed = link.speed;
  out.phys_state = port.is_up() ? kLinkUp : kLinkDisabled;
  out.link_layer = IBV_LINK_LAYER_ETHERNET;
  if (port.persona == Persona::kRoce) show_as_roce(port, out);
  return out;
}

ibv_device_attr device_attributes() {
  ibv_device_attr out{};
  std::strncpy(out.fw_ver, kVersion, sizeof out.fw_ver - 1);
  const Port port = look_at_port();
  out.node_guid = port.guid;
  out.sys_image_guid = out.node_guid;
  out.vendor_id = kNoVendor;
  out.max_mr_size = ~std::uint64_t{0};
  out.page_size_cap = kAllPageSizes;
  out.max_qp = kMaxQp;
  out.max_qp_wr = kMaxWr;
  out.device_cap_flags =
      IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS;
  out.max_sge = kMaxSge;
  out.max_sge_rd = kMaxSgeRead;
  out.max_cq = kMaxCq;
  out.max_cqe = kMaxCqe;
  out.max_mr = kMaxMr;
  out.max_pd = kMaxPd;
  out.max_qp_rd_atom = kMaxReads;
  out.max_res_rd_atom = kMaxReads * kMaxQp;
  out.max_qp_init_rd_atom = kMaxReads;
  // Atomic operations (RFC 7306) are atomic among all queue pairs of this device. They are also
  // atomic with respect to the program's own accesses to the memory. That is the level
  // IBV_ATOMIC_GLOB, but this function reports IBV_ATOMIC_HCA, the only level for which programs
  // check.
  out.atomic_cap = settings().connection.startup.extensions ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE;
  out.max_mw = kMaxMr;
  out.max_srq = kMaxSrq;
  out.max_srq_wr = kMaxWr;
  out.max_srq_sge = kMaxSge;
  out.max_pkeys = 1;
  out.phys_port_cnt = kPortNumber;
  if (port.persona == Persona::kRoce) show_as_roce(out);
  return out;
}

ibv_gid_entry entry_of(const Port& port, std::uint32_t index) {
  const PersonaFacts& persona = facts(port.persona);
  ibv_gid_entry out{};
  out.gid = port.gids[index];
  out.gid_index = index;
  out.port_num = kPortNumber;
  out.gid_type = persona.gid_type;
  // Sets the interface index only for a RoCE adapter, whose GIDs belong to network interfaces. The
  // GIDs of an RNIC belong to the device.
  if (port.persona == Persona::kRoce) out.ndev_ifindex = port.interfaces[index];
  return out;
}

int get_gid(std::uint32_t port_number, std::uint32_t index, ibv_gid_entry& out) {
  const Port port = look_at_port();
  if (port_number != kPortNumber || index >= port.gids.size()) return EINVAL;
  if (is_free(port.gids[index])) return ENODATA;
  out = entry_of(port, index);
  return 0;
}

}  // namespace

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attr, std::size_t length) {
  if (port != kPortNumber) return EINVAL;
  return guarded([&] {
    ibv_port_attr out = port_attributes();
    const auto wrong_keys =
        Context::of(context).rnic.datagram_counters().dropped_for(verbs::DatagramDrop::kWrongQKey);
    out.qkey_viol_cntr = static_cast<std::uint32_t>(wrong_keys);
    if (Hooks* const hooks = Context::of(context).hooks) hooks->show_port(out);
    give(out, attr, length);
  });
}

int query_device_ex(ibv_context*, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attr,
                    std::size_t length) {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  if (length < sizeof(ibv_device_attr)) return EINVAL;
  return guarded([&] {
    ibv_device_attr_ex out{};
    out.orig_attr = device_attributes();
    out.device_cap_flags_ex = out.orig_attr.device_cap_flags;
    out.phys_port_cnt_ex = kPortNumber;
    give(out, attr, length);
  });
}

extern "C" {

#undef ibv_query_port
int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attr) {
  return query_port(context, port, reinterpret_cast<ibv_port_attr*>(attr), kOldPortAttr);
}

int ibv_query_device(ibv_context*, ibv_device_attr* attr) {
  return guarded([&] { *attr = device_attributes(); });
}

int ibv_query_gid(ibv_context*, std::uint8_t port, int index, ibv_gid* gid) {
  const CallSite here(__builtin_return_address(0), "ibv_query_gid");
  const int code = guarded([&] {
    if (port != kPortNumber) {
      return refused(EINVAL, "port_num {}: must be 1 (the device has one port)", port);
    }
    const Port own = look_at_port();
    const auto place = static_cast<std::size_t>(index);
    if (index < 0 || place >= own.gids.size()) {
      return refuse_gid_index("index", index, own);
    }
    *gid = own.gids[place];
    return 0;
  });
  return code == 0 ? 0 : minus_one(code);
}

int _ibv_query_gid_ex(ibv_context*, std::uint32_t port, std::uint32_t index, ibv_gid_entry* entry,
                      std::uint32_t flags, std::size_t entry_size) {
  if (flags != 0) return EOPNOTSUPP;
  return guarded([&] {
    ibv_gid_entry found{};
    const int code = get_gid(port, index, found);
    if (code == 0) give(found, entry, entry_size);
    return code;
  });
}

ssize_t _ibv_query_gid_table(ibv_context*, ibv_gid_entry* entries, std::size_t max_entries,
                             std::uint32_t flags, std::size_t entry_size) {
  if (flags != 0) return -EOPNOTSUPP;
  std::size_t count = 0;
  const int code = guarded([&] {
    const Port port = look_at_port();
    const auto taken = std::ranges::count_if(port.gids, std::not_fn(is_free));
    if (static_cast<std::size_t>(taken) > max_entries) return EINVAL;
    for (std::uint32_t index = 0; index < port.gids.size(); ++index) {
      if (is_free(port.gids[index])) continue;
      give(entry_of(port, index), reinterpret_cast<char*>(entries) + count * entry_size,
           entry_size);
      ++count;
    }
    return 0;
  });
  return code == 0 ? static_cast<ssize_t>(count) : -code;
}

int ibv_query_pkey(ibv_context*, std::uint8_t port, int index, __be16* pkey) {
  if (port != kPortNumber || index != 0) return minus_one(EINVAL);
  *pkey = htons(kDefaultPkey);
  return 0;
}

__be64 ibv_get_device_guid(ibv_device*) {
  __be64 out = 0;
  guarded([&] { out = look_at_port().guid; });
  return out;
}

}  // extern "C"

}  // namespace iwarp::rdma_core
