// SPDX-License-Identifier: Apache-2.0
// Builds the GID tables as JSON, from the same code as the simulated device, and prints that JSON
// as text.
#include "info/gids.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>

#include <array>
#include <cstdlib>
#include <string>

#include "common/base/error.hpp"
#ifdef IWARP_HAS_PORT
#include "iwarp/options/options.hpp"
#include "rdma_core/device/port.hpp"
#endif

namespace iwarp::apps {

#ifdef IWARP_HAS_PORT

namespace {

const char* name_of(rdma_core::GidType type) {
  switch (type) {
    case rdma_core::GidType::kV1:
      return "RoCE v1";
    case rdma_core::GidType::kV2:
      return "RoCE v2";
    default:
      return "";
  }
}

void add_table(const rdma_core::DeviceSpec& device, Json& rows) {
  const auto port = rdma_core::look_at_port(device);
  for (std::size_t i = 0; i < port.gids.size(); ++i) {
    const auto& entry = port.gids[i];
    std::array<char, INET6_ADDRSTRLEN> text{};
    std::array<char, IF_NAMESIZE> name{};
    ::inet_ntop(AF_INET6, entry.gid.raw, text.data(), text.size());
    if (entry.interface != 0) ::if_indextoname(entry.interface, name.data());
    rows.push_back({{"device", device.name},
                    {"index", i},
                    {"gid", text.data()},
                    {"type", name_of(entry.type)},
                    {"interface", name.data()}});
  }
}

}  // namespace

Json gid_tables(const std::vector<std::string>& profiles) {
  auto settings = options::from_environment([](const char* name) { return std::getenv(name); },
                                            [](const std::string&) {});
  Json out;
  for (const std::string& like : profiles) {
    const auto profile = profiles::load(like);
    if (!profile) throw UsageError("--like: " + profile.error());
    settings.profile = *profile;
    Json& rows = out[like] = Json::array();
    for (const auto& device : rdma_core::device_specs(settings)) add_table(device, rows);
  }
  return out;
}

#else

Json gid_tables(const std::vector<std::string>&) {
  throw Error(
      "--gids: this iwarp was built without the headers of rdma-core (install libibverbs-dev and "
      "build again)");
}

#endif

void print_gids(const Json& tables) {
  for (const auto& [profile, rows] : tables.items()) {
    fmt::print("iwarp run --like {}\n", profile);
    for (const auto& row : rows) {
      fmt::print("  {:<8} {:>2}  {:<40} {:<8} {}\n", row["device"].get<std::string>(),
                 row["index"].get<int>(), row["gid"].get<std::string>(),
                 row["type"].get<std::string>(), row["interface"].get<std::string>());
    }
  }
}

}  // namespace iwarp::apps
