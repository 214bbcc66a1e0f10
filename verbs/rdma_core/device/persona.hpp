// SPDX-License-Identifier: Apache-2.0
// What is different when the device is to look like one of RoCE (IWARP_AS=roce): node, transport,
// types of GIDs, and the attributes of the kernel's rxe. What our queues and memory can do is said
// as it is in both. No frame changes: the peer sees iWARP.
#pragma once

#include <infiniband/verbs.h>

#include "device/port.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {

struct PersonaFacts {
  ibv_node_type node_type;
  ibv_transport_type transport;
  ibv_gid_type gid_type;
  int sysfs_gid_type;          ///< of the enumeration that rdma-core keeps to itself
  const char* node_type_text;  ///< these five as sysfs says them
  const char* gid_type_text;
  const char* hca_type;
  const char* node_description;
  int uverbs_abi;  ///< of the driver
};

const PersonaFacts& facts(Persona persona);
/// Of this process.
const PersonaFacts& facts();

/// Null: a program may send them.
const char* why_no_datagrams();

/// The largest one that fits; the smallest when none does.
ibv_mtu mtu_value(unsigned octets);

/// What an adapter of RoCE says of itself, over what is there.
void show_as_roce(ibv_device_attr& attr);
void show_as_roce(const Port& port, ibv_port_attr& attr);

}  // namespace iwarp::rdma_core
