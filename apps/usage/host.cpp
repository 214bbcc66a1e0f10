// SPDX-License-Identifier: Apache-2.0
// Loads the parameters of a host. Presets are compiled in; the parameters of measured hosts are in
// files.
#include "usage/host.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "common/base/error.hpp"

namespace iwarp::apps::usage {

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UsageError("cannot open " + path + ": " + errno_text());
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad()) throw UsageError("cannot read " + path);
  return text.str();
}

model::ParameterSet load_host(const std::string& preset, const std::string& file) {
  const auto base = model::preset(preset.empty() ? "100g" : preset);
  if (!base) throw UsageError(base.error());
  if (file.empty()) return *base;
  const auto set = model::parse_parameters(read_text(file), &*base);
  if (!set) throw UsageError(file + ": " + set.error());
  if (!set->filled.empty()) {
    fmt::print(stderr, "iwarp: {} lacks {} (values taken from preset {} and marked \"preset\")\n",
               file, fmt::join(set->filled, ", "), base->name);
  }
  return *set;
}

}  // namespace iwarp::apps::usage
