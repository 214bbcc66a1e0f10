// SPDX-License-Identifier: Apache-2.0
// Persona: the kind of adapter that the program sees, either an RNIC or a RoCE device
// (IWARP_AS=roce). The personas differ in node type, transport and GID types, and a RoCE device has
// the attributes of the kernel's rxe. The limits of queues and memory are the same in both
// personas. The persona does not change any frame, so the peer always sees iWARP.
#pragma once

#include <infiniband/verbs.h>

#include "device/port.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {

struct PersonaFacts {
  ibv_node_type node_type;
  ibv_transport_type transport;
  ibv_gid_type gid_type;
  int sysfs_gid_type;  ///< a value of IBV_GID_TYPE_SYSFS_*, a private enumeration of rdma-core
  // The fields below are the contents of sysfs files.
  const char* node_type_text;
  const char* gid_type_text;
  const char* hca_type;
  const char* node_description;
  int uverbs_abi;  ///< ABI version of the driver
};

const PersonaFacts& facts(Persona persona);
/// Returns the facts of the kind of adapter that the program sees in this process.
const PersonaFacts& facts();

/// Returns why this process does not support datagrams, or null if it does.
const char* why_no_datagrams();

/// Returns the largest ibv_mtu that does not exceed `octets`, or the smallest ibv_mtu if all exceed
/// it.
ibv_mtu mtu_value(unsigned octets);

/// Each of these two functions stores the values of a RoCE adapter in those attributes of `attr`
/// that have different values on an RNIC.
void show_as_roce(ibv_device_attr& attr);
void show_as_roce(const Port& port, ibv_port_attr& attr);

}  // namespace iwarp::rdma_core
