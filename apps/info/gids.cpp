// SPDX-License-Identifier: Apache-2.0
#include "info/gids.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "common/base/error.hpp"
#ifdef IWARP_HAS_PORT
#include "rdma_core/device/port.hpp"
#endif

namespace iwarp::apps {

#ifdef IWARP_HAS_PORT

namespace {

Json table_of(options::Persona persona) {
  const char* const loopback = std::getenv("IWARP_LOOPBACK");
  const bool list_loopback = loopback != nullptr && std::string_view(loopback) == "on";
  const auto port = rdma_core::look_at_port(persona, list_loopback);
  Json out = Json::array();
  for (std::size_t i = 0; i < port.gids.size(); ++i) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    std::array<char, IF_NAMESIZE> name{};
    ::inet_ntop(AF_INET6, port.gids[i].raw, text.data(), text.size());
    if (port.interfaces[i] != 0) ::if_indextoname(port.interfaces[i], name.data());
    out.push_back({{"index", i}, {"gid", text.data()}, {"interface", name.data()}});
  }
  return out;
}

}  // namespace

Json gid_tables() {
  return {{"roce", table_of(options::Persona::kRoce)},
          {"iwarp", table_of(options::Persona::kIwarp)}};
}

#else

Json gid_tables() {
  throw Error(
      "--gids: this iwarp was built without the headers of rdma-core (install libibverbs-dev and "
      "build again)");
}

#endif

void print_gids(const Json& tables) {
  for (const auto& [persona, rows] : tables.items()) {
    fmt::print("iwarp run --as {}\n", persona);
    for (const auto& row : rows) {
      fmt::print("  {:>2}  {:<40} {}\n", row["index"].get<int>(), row["gid"].get<std::string>(),
                 row["interface"].get<std::string>());
    }
  }
}

}  // namespace iwarp::apps
