// SPDX-License-Identifier: Apache-2.0
// The output of iwarp get: a new file, which replaces an existing one when it is complete, or an
// existing file that is not regular: a device or a FIFO.
#pragma once

#include <memory>
#include <string>

#include "transfer/file_store.hpp"

namespace iwarp::apps {

class Output {
 public:
  virtual ~Output() = default;
  /// Writes bytes. Call in ascending order of `offset`, without gaps. Throws Interrupted.
  virtual void write_at(std::uint64_t offset, bytes::View octets) = 0;
  /// Publishes the output; everything has been written and verified.
  virtual void commit() = 0;
};

/// The path that the user wants to write to.
class OutputPath {
 public:
  /// `name` is the name of the file if `path` is a directory. A symbolic link is kept and its
  /// target is written. Throws UsageError if no file can have that name, Error if the directory
  /// does not exist.
  OutputPath(std::string path, const std::string& name);
  /// Throws Error if there is no room for `size` bytes, permission is missing, or a FIFO has no
  /// reader.
  std::unique_ptr<Output> open(std::uint64_t size) const;

 private:
  std::string path_;
  bool is_stream_ = false;
  Fd directory_;  ///< of a regular file
  std::string name_;
};

}  // namespace iwarp::apps
