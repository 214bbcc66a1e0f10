// SPDX-License-Identifier: Apache-2.0
// Reads the frames in test/vectors/*.hex. Each frame is a line "== NAME [@POSITION] TITLE" followed
// by its octets in hex; '#' starts a comment. Throws if a file is malformed, which fails the test
// that reads it.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "iwarp/bytes/hex.hpp"

namespace iwarp::test {

struct Vector {
  std::string name;
  /// Position of the frame in a stream with markers; nullopt if the stream has no markers.
  std::optional<std::uint64_t> position;
  std::string title;
  std::vector<std::byte> octets;
};

/// Parses "NAME [@POSITION] title", the part of a heading after "== ".
inline Vector parse_vector_heading(const std::string& heading) {
  Vector vector;
  const auto name_end = heading.find(' ');
  if (name_end == std::string::npos) throw std::runtime_error("vector without title: " + heading);
  vector.name = heading.substr(0, name_end);
  vector.title = heading.substr(name_end + 1);
  if (vector.title.starts_with('@')) {
    const auto position_end = vector.title.find(' ');
    vector.position = std::stoull(vector.title.substr(1, position_end));
    vector.title = vector.title.substr(position_end + 1);
  }
  return vector;
}

/// Returns all frames of one file, in order.
inline std::vector<Vector> load_vectors(const std::string& file) {
  const std::string path = std::string(IWARP_TEST_VECTORS) + "/" + file;
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::vector<Vector> vectors;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("== ")) {
      vectors.push_back(parse_vector_heading(line.substr(3)));
      continue;
    }
    const auto octets = bytes::from_hex(line);
    if (!octets) throw std::runtime_error(path + ": not hex: " + line);
    if (octets->empty()) continue;
    if (vectors.empty()) throw std::runtime_error(path + ": hex before the first heading");
    auto& whole = vectors.back().octets;
    whole.insert(whole.end(), octets->begin(), octets->end());
  }
  if (vectors.empty()) throw std::runtime_error(path + ": no vector in it");
  return vectors;
}

/// Returns the frame called `name` in that file.
inline Vector load_vector(const std::string& file, const std::string& name) {
  for (auto& vector : load_vectors(file)) {
    if (vector.name == name) return vector;
  }
  throw std::runtime_error("no vector " + name + " in " + file);
}

}  // namespace iwarp::test
