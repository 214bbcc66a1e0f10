// SPDX-License-Identifier: Apache-2.0
// The student's folder: one folder for each exercise, the helper learn.h, and the record of the
// exercises that were passed, in .iwarp-learn.json.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "learn/exercise.hpp"

namespace iwarp::apps::learn {

/// Writes a file, or replaces its contents. Throws Error if it cannot be written.
void write_file(const std::filesystem::path& path, std::string_view text);

/// What the record says about an exercise.
struct Passed {
  std::string when;                   ///< 2026-01-02T03:04:05Z
  std::vector<std::string> evidence;  ///< what the judge saw
};

class Workspace {
 public:
  /// Makes the folder and writes the files of all exercises. Does not change a file that exists.
  /// Throws Error if a file cannot be written.
  static Workspace create(const std::filesystem::path& folder);
  /// Returns the workspace that contains the current folder, or nullopt. Throws Error if its record
  /// is damaged.
  static std::optional<Workspace> find();

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path source_of(const Exercise& exercise) const;
  const std::map<unsigned, Passed>& passed() const { return passed_; }
  /// Returns the first exercise that was not passed, or nullptr if all were.
  const Exercise* next() const;
  /// Records that the exercise was passed. Throws Error if the record cannot be written.
  void record(const Exercise& exercise, Passed passed);

 private:
  explicit Workspace(std::filesystem::path folder);
  void load();
  void save() const;

  std::filesystem::path folder_;
  std::map<unsigned, Passed> passed_;
};

}  // namespace iwarp::apps::learn
