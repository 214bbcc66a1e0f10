// SPDX-License-Identifier: Apache-2.0
// A file for one test, with a unique name in the system's temporary directory. The destructor
// removes it.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace iwarp::test {

class TemporaryFile {
 public:
  TemporaryFile() : path_((std::filesystem::temp_directory_path() / "iwarp-test-XXXXXX").string()) {
    const int fd = mkstemp(path_.data());
    if (fd < 0) throw std::runtime_error("cannot make " + path_);
    close(fd);
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace iwarp::test
