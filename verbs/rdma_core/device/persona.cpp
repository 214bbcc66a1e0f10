// SPDX-License-Identifier: Apache-2.0
// The attributes of the device. With IWARP_AS=roce, the device has the attributes that
// ibv_devinfo(1) and sysfs show for rxe in Linux 6.1. The table in test/rdma_core/test_persona.py
// lists the intended differences from rxe.
#include "device/persona.hpp"

#include "device/limits.hpp"

namespace iwarp::rdma_core {
namespace {

// The values of IBV_GID_TYPE_SYSFS_*, which no public header declares.
constexpr int kIbOrRoceV1 = 0;
constexpr int kRoceV2 = 1;

constexpr PersonaFacts kRnic{.node_type = IBV_NODE_RNIC,
                             .transport = IBV_TRANSPORT_IWARP,
                             .gid_type = IBV_GID_TYPE_IB,
                             .sysfs_gid_type = kIbOrRoceV1,
                             .node_type_text = "4: RNIC",
                             .gid_type_text = "IB/RoCE v1",
                             .hca_type = "iwarp",
                             .node_description = "iWARP in user space",
                             .uverbs_abi = 1};
constexpr PersonaFacts kAdapter{.node_type = IBV_NODE_CA,
                                .transport = IBV_TRANSPORT_IB,
                                .gid_type = IBV_GID_TYPE_ROCE_V2,
                                .sysfs_gid_type = kRoceV2,
                                .node_type_text = "1: CA",
                                .gid_type_text = "RoCE v2",
                                .hca_type = "roce",
                                .node_description = "iWARP in user space, shown as RoCE",
                                .uverbs_abi = 2};

constexpr std::uint64_t kPageSizes = 0xFFFFF000;
constexpr std::uint8_t kAckDelay = 15;
constexpr std::uint16_t kMaxPkeys = 64;
constexpr int kMaxGroups = 8192;
constexpr int kMaxGroupMembers = 56;
// RXE_MAX_HDR_LENGTH: the total size in octets of all RoCE v2 headers in an Ethernet frame.
constexpr unsigned kHeaders = 80;
// The capability flags of rxe, except SRQ_RESIZE.
constexpr unsigned kCapabilities =
    IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR | IBV_DEVICE_AUTO_PATH_MIG |
    IBV_DEVICE_CHANGE_PHY_PORT | IBV_DEVICE_UD_AV_PORT_ENFORCE | IBV_DEVICE_PORT_ACTIVE_EVENT |
    IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_MEM_WINDOW |
    IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_MEM_WINDOW_TYPE_2B;

}  // namespace

ibv_mtu mtu_value(unsigned octets) {
  if (octets >= 4096) return IBV_MTU_4096;
  if (octets >= 2048) return IBV_MTU_2048;
  if (octets >= 1024) return IBV_MTU_1024;
  return octets >= 512 ? IBV_MTU_512 : IBV_MTU_256;
}

const PersonaFacts& facts(Persona persona) { return persona == Persona::kRoce ? kAdapter : kRnic; }

const PersonaFacts& facts() { return facts(settings().persona); }

const char* why_no_datagrams() {
  const Settings& chosen = settings();
  if (chosen.persona == Persona::kIwarp) {
    return "iWARP supports only connections (use --as roce for datagrams)";
  }
  return chosen.tls.wanted()
             ? "TLS is on, but protects only connections (switch TLS off for datagrams)"
             : nullptr;
}

void show_as_roce(ibv_device_attr& attr) {
  attr.vendor_part_id = 0;
  attr.page_size_cap = kPageSizes;
  attr.device_cap_flags = kCapabilities;
  attr.max_pkeys = kMaxPkeys;
  attr.max_ah = kMaxAh;
  attr.max_mcast_grp = kMaxGroups;
  attr.max_mcast_qp_attach = kMaxGroupMembers;
  attr.max_total_mcast_qp_attach = kMaxGroups * kMaxGroupMembers;
  attr.local_ca_ack_delay = kAckDelay;
}

void show_as_roce(const Port& port, ibv_port_attr& attr) {
  attr.active_mtu = mtu_value(port.mtu > kHeaders ? port.mtu - kHeaders : 0);
  // Without LIDs, an address vector needs a GID. An RNIC, which has no address vectors of its own,
  // does not set the flag (neither does siw).
  attr.flags = IBV_QPF_GRH_REQUIRED;
}

}  // namespace iwarp::rdma_core
