// SPDX-License-Identifier: Apache-2.0
// GidTable: stores the index of each GID that a process has seen. As in the kernel, a GID keeps its
// index while other addresses of the host come and go, because programs look up an index once and
// use it later. For example, a link-local IPv6 address appears seconds after its interface. Without
// this table, the GID of such an address would be inserted in front of other GIDs and change their
// indices.
#pragma once

#include <vector>

#include "device/port.hpp"

namespace iwarp::rdma_core {

class GidTable {
 public:
  /// Reorders the GIDs in `port`, which look_at_port() has listed: each GID gets the index
  /// that it has in this table. The entry of a GID that the host no longer has is filled with
  /// zeros. A new GID gets the first entry of zeros, or is appended.
  void arrange(Port& port);

 private:
  void insert(const PortGid& row);

  std::vector<PortGid> rows_;
};

}  // namespace iwarp::rdma_core
