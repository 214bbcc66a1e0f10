// SPDX-License-Identifier: Apache-2.0
// GidTable: the places of the GIDs that a process has seen. As in the kernel they keep them while
// addresses come and go, since programs look an index up once and use it later: a link-local IPv6
// address comes seconds after its interface, and belongs in front of the others.
#pragma once

#include <vector>

#include "device/port.hpp"

namespace iwarp::rdma_core {

class GidTable {
 public:
  /// Puts the GIDs of `port`, as a first look lists them, to their places. What is gone leaves a
  /// place of zeros; what is new takes the first such place, or one behind all others.
  void arrange(Port& port);

 private:
  struct Row {
    ibv_gid gid;
    unsigned interface;
  };
  void insert(const Row& row);

  std::vector<Row> rows_;
};

/// A place that nothing is in.
bool is_free(const ibv_gid& gid);

}  // namespace iwarp::rdma_core
