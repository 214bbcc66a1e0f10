// SPDX-License-Identifier: Apache-2.0
// GidTable: stores the indices of the GIDs that a process has seen. As in the kernel, a GID keeps
// its index while other addresses come and go, because programs look an index up once and use it
// later. For example, a link-local IPv6 address appears seconds after its interface, and would
// otherwise be inserted in front of other GIDs, whose indices would change.
#pragma once

#include <vector>

#include "device/port.hpp"

namespace iwarp::rdma_core {

class GidTable {
 public:
  /// Moves each GID of `port`, which look_at_port(persona) has listed, to its index in this table.
  /// A GID that the host no longer has leaves an entry of zeros. A new GID takes the first such
  /// entry, or is appended.
  void arrange(Port& port);

 private:
  struct Row {
    ibv_gid gid;
    unsigned interface;
  };
  void insert(const Row& row);

  std::vector<Row> rows_;
};

/// Returns whether an entry of the GID table is unused, which means that it is all zeros.
bool is_free(const ibv_gid& gid);

}  // namespace iwarp::rdma_core
