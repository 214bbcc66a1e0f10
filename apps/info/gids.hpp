// SPDX-License-Identifier: Apache-2.0
// The GID tables that programs see under `iwarp run`.
#pragma once

#include <nlohmann/json.hpp>

namespace iwarp::apps {

using Json = nlohmann::ordered_json;

/// Returns the GID table of each persona: "roce" (iwarp run --as roce) and "iwarp" (iwarp run).
/// Each row has the keys index, gid and interface. Throws Error if the drop-in libraries were not
/// built.
Json gid_tables();
/// Prints the tables as text.
void print_gids(const Json& tables);

}  // namespace iwarp::apps
