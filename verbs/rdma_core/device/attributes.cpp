// SPDX-License-Identifier: Apache-2.0
// A profile gives the values that a card reports. For a limit, the device reports the lower one of
// the card's limit and this stack's limit, and enforces what it reports.
#include <algorithm>
#include <array>
#include <string_view>

#include "device/limits.hpp"
#include "device/port.hpp"
#include "iwarp/version.hpp"

namespace iwarp::rdma_core {
namespace {

// LinkUp and Disabled, as values of ibv_port_attr::phys_state.
constexpr std::uint8_t kLinkUp = 5;
constexpr std::uint8_t kLinkDisabled = 3;
// The capabilities of this stack: those of rxe, except SRQ_RESIZE and AUTO_PATH_MIG, and
// CURR_QP_STATE_MOD, because refuse_state() checks IBV_QP_CUR_STATE. [IBV-48, IBV-49, IBV-50,
// IBV-51, IBV-52, IBV-53, IBV-54, IBV-55]
constexpr unsigned kCapabilities =
    IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR | IBV_DEVICE_CHANGE_PHY_PORT |
    IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_UD_AV_PORT_ENFORCE | IBV_DEVICE_PORT_ACTIVE_EVENT |
    IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_MEM_WINDOW |
    IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_MEM_WINDOW_TYPE_2B;

/// Stores the value of a profile in a member of `attr`, which has this stack's own value.
template <typename Attr>
struct AttributeRow {
  std::string_view name;
  void (*store)(Attr& attr, std::uint64_t value);
};

template <auto kMember, typename Attr>
void store(Attr& attr, std::uint64_t value) {
  using Value = std::remove_reference_t<decltype(attr.*kMember)>;
  attr.*kMember = static_cast<Value>(value);
}

template <auto kMember, typename Attr>
void limit(Attr& attr, std::uint64_t value) {
  store<kMember>(attr, std::min(value, static_cast<std::uint64_t>(attr.*kMember)));
}

using DeviceAttr = ibv_device_attr;
using PortAttr = ibv_port_attr;

constexpr std::array kDevice{
    AttributeRow<DeviceAttr>{"max_mr_size", store<&DeviceAttr::max_mr_size>},
    AttributeRow<DeviceAttr>{"page_size_cap", store<&DeviceAttr::page_size_cap>},
    AttributeRow<DeviceAttr>{"vendor_id", store<&DeviceAttr::vendor_id>},
    AttributeRow<DeviceAttr>{"vendor_part_id", store<&DeviceAttr::vendor_part_id>},
    AttributeRow<DeviceAttr>{"hw_ver", store<&DeviceAttr::hw_ver>},
    AttributeRow<DeviceAttr>{"max_qp", limit<&DeviceAttr::max_qp>},
    AttributeRow<DeviceAttr>{"max_qp_wr", limit<&DeviceAttr::max_qp_wr>},
    AttributeRow<DeviceAttr>{"device_cap_flags",
                             [](DeviceAttr& attr, std::uint64_t value) {
                               attr.device_cap_flags = static_cast<unsigned>(value) & kCapabilities;
                             }},
    AttributeRow<DeviceAttr>{"max_sge", limit<&DeviceAttr::max_sge>},
    AttributeRow<DeviceAttr>{"max_sge_rd", limit<&DeviceAttr::max_sge_rd>},
    AttributeRow<DeviceAttr>{"max_cq", limit<&DeviceAttr::max_cq>},
    AttributeRow<DeviceAttr>{"max_cqe", limit<&DeviceAttr::max_cqe>},
    AttributeRow<DeviceAttr>{"max_mr", limit<&DeviceAttr::max_mr>},
    AttributeRow<DeviceAttr>{"max_pd", limit<&DeviceAttr::max_pd>},
    AttributeRow<DeviceAttr>{"max_qp_rd_atom", limit<&DeviceAttr::max_qp_rd_atom>},
    AttributeRow<DeviceAttr>{"max_ee_rd_atom", store<&DeviceAttr::max_ee_rd_atom>},
    AttributeRow<DeviceAttr>{"max_res_rd_atom", limit<&DeviceAttr::max_res_rd_atom>},
    AttributeRow<DeviceAttr>{"max_qp_init_rd_atom", limit<&DeviceAttr::max_qp_init_rd_atom>},
    AttributeRow<DeviceAttr>{"max_ee_init_rd_atom", store<&DeviceAttr::max_ee_init_rd_atom>},
    AttributeRow<DeviceAttr>{"atomic_cap", limit<&DeviceAttr::atomic_cap>},
    AttributeRow<DeviceAttr>{"max_ee", store<&DeviceAttr::max_ee>},
    AttributeRow<DeviceAttr>{"max_rdd", store<&DeviceAttr::max_rdd>},
    AttributeRow<DeviceAttr>{"max_mw", limit<&DeviceAttr::max_mw>},
    AttributeRow<DeviceAttr>{"max_raw_ipv6_qp", store<&DeviceAttr::max_raw_ipv6_qp>},
    AttributeRow<DeviceAttr>{"max_raw_ethy_qp", store<&DeviceAttr::max_raw_ethy_qp>},
    AttributeRow<DeviceAttr>{"max_mcast_grp", store<&DeviceAttr::max_mcast_grp>},
    AttributeRow<DeviceAttr>{"max_mcast_qp_attach", store<&DeviceAttr::max_mcast_qp_attach>},
    AttributeRow<DeviceAttr>{"max_total_mcast_qp_attach",
                             store<&DeviceAttr::max_total_mcast_qp_attach>},
    AttributeRow<DeviceAttr>{"max_ah", limit<&DeviceAttr::max_ah>},
    AttributeRow<DeviceAttr>{"max_fmr", store<&DeviceAttr::max_fmr>},
    AttributeRow<DeviceAttr>{"max_map_per_fmr", store<&DeviceAttr::max_map_per_fmr>},
    AttributeRow<DeviceAttr>{"max_srq", limit<&DeviceAttr::max_srq>},
    AttributeRow<DeviceAttr>{"max_srq_wr", limit<&DeviceAttr::max_srq_wr>},
    AttributeRow<DeviceAttr>{"max_srq_sge", limit<&DeviceAttr::max_srq_sge>},
    AttributeRow<DeviceAttr>{"max_pkeys", store<&DeviceAttr::max_pkeys>},
    AttributeRow<DeviceAttr>{"local_ca_ack_delay", store<&DeviceAttr::local_ca_ack_delay>}};

// The state, the LID and the active MTU are those of the host. So is the speed, unless the card has
// hardware.
constexpr std::array kPort{
    AttributeRow<PortAttr>{"max_mtu", store<&PortAttr::max_mtu>},
    AttributeRow<PortAttr>{"gid_tbl_len",
                           [](PortAttr& attr, std::uint64_t value) {
                             attr.gid_tbl_len = std::max(attr.gid_tbl_len, static_cast<int>(value));
                           }},
    AttributeRow<PortAttr>{"port_cap_flags", store<&PortAttr::port_cap_flags>},
    AttributeRow<PortAttr>{"port_cap_flags2", store<&PortAttr::port_cap_flags2>},
    AttributeRow<PortAttr>{"max_msg_sz", limit<&PortAttr::max_msg_sz>},
    AttributeRow<PortAttr>{"pkey_tbl_len", store<&PortAttr::pkey_tbl_len>},
    AttributeRow<PortAttr>{"sm_lid", store<&PortAttr::sm_lid>},
    AttributeRow<PortAttr>{"lmc", store<&PortAttr::lmc>},
    AttributeRow<PortAttr>{"max_vl_num", store<&PortAttr::max_vl_num>},
    AttributeRow<PortAttr>{"sm_sl", store<&PortAttr::sm_sl>},
    AttributeRow<PortAttr>{"subnet_timeout", store<&PortAttr::subnet_timeout>},
    AttributeRow<PortAttr>{"init_type_reply", store<&PortAttr::init_type_reply>},
    AttributeRow<PortAttr>{"active_width", store<&PortAttr::active_width>},
    AttributeRow<PortAttr>{"active_speed", store<&PortAttr::active_speed>},
    AttributeRow<PortAttr>{"link_layer", store<&PortAttr::link_layer>},
    AttributeRow<PortAttr>{"flags", store<&PortAttr::flags>}};

template <typename Attr, std::size_t kSize, typename Values>
void apply(const std::array<AttributeRow<Attr>, kSize>& rows, const Values& values, Attr& attr) {
  for (const auto& [name, store_value] : rows) {
    const auto value = values.find(name);
    if (value != values.end()) store_value(attr, value->second);
  }
}

/// Returns the attributes of a device without a profile: the limits of this stack. [IBV-23, IBV-24,
/// IBV-35, IBV-36, IBV-39, IBV-42, IBV-46, IBV-47]
ibv_device_attr own_attributes(bool is_rnic) {
  ibv_device_attr out{};
  out.max_mr_size = ~std::uint64_t{0};
  out.page_size_cap = ~std::uint64_t{0xFFF};
  out.max_qp = kMaxQp;
  out.max_qp_wr = kMaxWr;
  out.device_cap_flags = kCapabilities;
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
  // check. [IBV-37, IBV-79]
  out.atomic_cap = settings().connection.startup.extensions ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE;
  out.max_mw = kMaxMr;
  out.max_ah = is_rnic ? 0 : kMaxAh;
  out.max_srq = kMaxSrq;
  out.max_srq_wr = kMaxWr;
  out.max_srq_sge = kMaxSge;
  out.max_pkeys = 1;
  out.phys_port_cnt = kPortNumber;
  return out;
}

}  // namespace

ibv_device_attr device_attributes(const Profile& profile) {
  ibv_device_attr out = own_attributes(profile.is_rnic());
  apply(kDevice, profile.attributes, out);
  return out;
}

// [IBV-83, IBV-84, IBV-91, IBV-92, IBV-93, IBV-96]
ibv_port_attr port_attributes(const Profile& profile, const Port& port) {
  ibv_port_attr out{};
  out.max_mtu = IBV_MTU_4096;
  out.gid_tbl_len = static_cast<int>(port.gids.size());
  out.port_cap_flags = IBV_PORT_CM_SUP;
  out.max_msg_sz = kMaxMessage;
  out.pkey_tbl_len = 1;
  out.max_vl_num = 1;
  out.link_layer = IBV_LINK_LAYER_ETHERNET;
  apply(kPort, profile.port, out);
  if (profile.is_virtual) {
    const LinkSpeed& link = link_speed(port.mbit);
    out.active_width = link.width;
    out.active_speed = link.speed;
  }
  out.lid = port.lid;
  out.active_mtu = std::min(active_mtu(port), out.max_mtu);
  out.state = port.is_up() ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  out.phys_state = port.is_up() ? kLinkUp : kLinkDisabled;
  return out;
}

const char* firmware(const Profile& profile) {
  return profile.firmware ? profile.firmware->c_str() : kVersion;
}

}  // namespace iwarp::rdma_core
