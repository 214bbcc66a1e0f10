// SPDX-License-Identifier: Apache-2.0
// Persona: what the device reports differently if it imitates a RoCE device (IWARP_AS=roce): node
// type, transport, GID types, and the attributes of the kernel's rxe. The limits of queues and
// memory are the same in both personas. No frame changes: the peer sees iWARP.
#pragma once

#include <infiniband/verbs.h>

#include "device/port.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {

struct PersonaFacts {
  ibv_node_type node_type;
  ibv_transport_type transport;
  ibv_gid_type gid_type;
  int sysfs_gid_type;          ///< an enumerator of rdma-core's private enumeration
  const char* node_type_text;  ///< this and the next four: contents of sysfs files
  const char* gid_type_text;
  const char* hca_type;
  const char* node_description;
  int uverbs_abi;  ///< the driver's ABI version
};

const PersonaFacts& facts(Persona persona);
/// Returns the facts of this process's persona.
const PersonaFacts& facts();

/// Returns why this process has no datagrams, or null if it has them.
const char* why_no_datagrams();

/// Returns the largest MTU of the enumeration that fits into `octets`, or the smallest if none
/// does.
ibv_mtu mtu_value(unsigned octets);

/// Overwrites the attributes that a RoCE adapter reports differently.
void show_as_roce(ibv_device_attr& attr);
void show_as_roce(const Port& port, ibv_port_attr& attr);

}  // namespace iwarp::rdma_core
