// SPDX-License-Identifier: Apache-2.0
#include "device/gid_table.hpp"

#include <algorithm>

#include "device/peer_address.hpp"

namespace iwarp::rdma_core {

// [IBV-113]
void GidTable::arrange(Port& port) {
  const auto is_in = [](const std::vector<PortGid>& rows, const PortGid& row) {
    return std::ranges::any_of(rows, [&](const PortGid& other) {
      return same_ip(row.gid, other.gid) && row.interface == other.interface &&
             row.type == other.type;
    });
  };
  for (PortGid& row : rows_) {
    if (!is_in(port.gids, row)) row = {};
  }
  for (const PortGid& row : port.gids) {
    if (!is_in(rows_, row)) insert(row);
  }
  port.gids = rows_;
}

void GidTable::insert(const PortGid& row) {
  const auto place = std::ranges::find_if(rows_, &PortGid::is_free);
  if (place != rows_.end()) {
    *place = row;
  } else if (rows_.size() < kMaxGids) {
    rows_.push_back(row);
  }
}

}  // namespace iwarp::rdma_core
