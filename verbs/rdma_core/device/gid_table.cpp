// SPDX-License-Identifier: Apache-2.0
#include "device/gid_table.hpp"

#include <algorithm>
#include <mutex>
#include <set>

#include "device/peer_address.hpp"

namespace iwarp::rdma_core {

bool is_free(const ibv_gid& gid) { return same_ip(gid, ibv_gid{}); }

void GidTable::arrange(Port& port) {
  std::vector<Row> now;
  now.reserve(port.gids.size());
  for (std::size_t i = 0; i < port.gids.size(); ++i) {
    now.push_back({port.gids[i], port.interfaces[i]});
  }
  const auto is_in = [](const std::vector<Row>& rows, const Row& row) {
    return std::ranges::any_of(rows, [&](const Row& other) {
      return same_ip(row.gid, other.gid) && row.interface == other.interface;
    });
  };
  for (Row& row : rows_) {
    if (!is_in(now, row)) row = {};
  }
  for (const Row& row : now) {
    if (!is_in(rows_, row)) insert(row);
  }
  port.gids.clear();
  port.interfaces.clear();
  for (const Row& row : rows_) {
    port.gids.push_back(row.gid);
    port.interfaces.push_back(row.interface);
  }
}

void GidTable::insert(const Row& row) {
  const auto place = std::ranges::find_if(rows_, [](const Row& at) { return is_free(at.gid); });
  if (place != rows_.end()) {
    *place = row;
  } else if (rows_.size() < kMaxGids) {
    rows_.push_back(row);
  }
}

Port look_at_port() {
  static std::mutex mutex;
  static GidTable table;
  const Settings& chosen = settings();
  static bool list_loopback = chosen.list_loopback;
  static std::set<unsigned> carriers;
  const std::lock_guard lock(mutex);
  Port out = look_at_port(chosen.persona, list_loopback);
  carriers.insert(out.carriers.begin(), out.carriers.end());
  out.carriers.assign(carriers.begin(), carriers.end());
  list_loopback |= carriers.empty();
  table.arrange(out);
  return out;
}

}  // namespace iwarp::rdma_core
