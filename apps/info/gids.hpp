// SPDX-License-Identifier: Apache-2.0
// The GID tables that programs see under `iwarp run`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace iwarp::apps {

using Json = nlohmann::ordered_json;

/// Returns the GID tables under `iwarp run --like P` for each P of `profiles`: an object with a
/// list for each profile. Each row has the keys device, index, gid, type and interface. The IWARP_*
/// variables select the devices. Throws UsageError if a profile does not exist, and Error if the
/// drop-in libraries were not built.
Json gid_tables(const std::vector<std::string>& profiles);
/// Prints the tables as text.
void print_gids(const Json& tables);

}  // namespace iwarp::apps
