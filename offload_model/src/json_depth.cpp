// SPDX-License-Identifier: Apache-2.0
// Measures the depth in one pass over the text, without a parser.
#include "iwarp/offload_model/json_depth.hpp"

namespace iwarp::offload_model {

bool nested_too_deep(std::string_view text, int deepest) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++i;
    if (quoted) continue;
    if ((c == '[' || c == '{') && ++depth > deepest) return true;
    if (c == ']' || c == '}') --depth;
  }
  return false;
}

}  // namespace iwarp::offload_model
