// SPDX-License-Identifier: Apache-2.0
// GidTable: the indices of the GIDs that a process has seen. As in the kernel, a GID keeps its
// index while other addresses come and go, because programs look an index up once and use it later.
// For example, a link-local IPv6 address appears seconds after its interface, and would otherwise
// be inserted in front of the others.
#pragma once

#include <vector>

#include "device/port.hpp"

namespace iwarp::rdma_core {

class GidTable {
 public:
  /// Reorders the GIDs of `port`, which look_at_port(persona) has listed, by their indices here. A
  /// GID that is gone leaves an entry of zeros. A new one takes the first such entry, or is
  /// appended.
  void arrange(Port& port);

 private:
  struct Row {
    ibv_gid gid;
    unsigned interface;
  };
  void insert(const Row& row);

  std::vector<Row> rows_;
};

/// Returns whether an entry of the GID table is unused: all zeros.
bool is_free(const ibv_gid& gid);

}  // namespace iwarp::rdma_core
