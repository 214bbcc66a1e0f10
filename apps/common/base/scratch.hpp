// SPDX-License-Identifier: Apache-2.0
// A folder for temporary files of one command.
#pragma once

#include <stdlib.h>

#include <filesystem>

#include "command_line/error.hpp"

namespace iwarp::apps {

/// A folder that is removed with all its contents when the object is destroyed.
class Scratch {
 public:
  /// Creates the folder. `name` is part of its name. Throws Error if that fails.
  explicit Scratch(const char* name)
      : path_((std::filesystem::temp_directory_path() / name).string() + "-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) throw Error(path_ + ": " + errno_text());
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::filesystem::path path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace iwarp::apps
