// SPDX-License-Identifier: Apache-2.0
// The output of `iwarp get`: either a new file, which replaces an existing one once it is complete,
// or an existing device or FIFO.
#pragma once

#include <memory>
#include <string>

#include "transfer/file_store.hpp"

namespace iwarp::apps {

class Output {
 public:
  virtual ~Output() = default;
  /// Writes bytes. Call it in ascending order of `offset`, without gaps. Throws Interrupted on a
  /// stop signal.
  virtual void write_at(std::uint64_t offset, bytes::View octets) = 0;
  /// Makes the output visible under its name. Call it after everything has been written and
  /// verified.
  virtual void commit() = 0;
};

/// The path to which the user wants to write.
class OutputPath {
 public:
  /// Resolves `path`. If it is a directory, the file is created in it with the name `name`. If it
  /// is a symbolic link, the link remains and its target is written. Throws UsageError if no file
  /// can have that name, or Error if the directory does not exist.
  OutputPath(std::string path, const std::string& name);
  /// Opens the output. Throws Error if the disk has no space for `size` bytes, if permission is
  /// missing, or if a FIFO has no reader.
  std::unique_ptr<Output> open(std::uint64_t size) const;

 private:
  std::string path_;
  bool is_stream_ = false;
  Fd directory_;  ///< directory of the output, if it is a regular file
  std::string name_;
};

}  // namespace iwarp::apps
