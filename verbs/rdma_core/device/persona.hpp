// SPDX-License-Identifier: Apache-2.0
// Persona: whether the device is presented as an RNIC or as a RoCE device (IWARP_AS=roce). The
// personas differ in node type, transport, GID types, and the attributes of the kernel's rxe. The
// limits of queues and memory are the same in both personas. No frame changes: the peer sees iWARP.
#pragma once

#include <infiniband/verbs.h>

#include "device/port.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {

struct PersonaFacts {
  ibv_node_type node_type;
  ibv_transport_type transport;
  ibv_gid_type gid_type;
  int sysfs_gid_type;          ///< a value of rdma-core's private enumeration IBV_GID_TYPE_SYSFS_*
  const char* node_type_text;  ///< this field and the next four are contents of sysfs files
  const char* gid_type_text;
  const char* hca_type;
  const char* node_description;
  int uverbs_abi;  ///< the driver's ABI version
};

const PersonaFacts& facts(Persona persona);
/// Returns the facts of this process's persona.
const PersonaFacts& facts();

/// Returns why this process does not support datagrams, or null if it does.
const char* why_no_datagrams();

/// Returns the largest ibv_mtu that does not exceed `octets`, or the smallest ibv_mtu if all exceed
/// it.
ibv_mtu mtu_value(unsigned octets);

/// Overwrites those attributes that a RoCE adapter reports differently from an RNIC.
void show_as_roce(ibv_device_attr& attr);
void show_as_roce(const Port& port, ibv_port_attr& attr);

}  // namespace iwarp::rdma_core
