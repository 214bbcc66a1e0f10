// SPDX-License-Identifier: Apache-2.0
// Where iwarp get writes to: a new file, which takes the place of an old one when it is complete,
// or what is there already and is no regular file: a device, a FIFO.
#pragma once

#include <memory>
#include <string>

#include "transfer/file_store.hpp"

namespace iwarp::apps {

class Output {
 public:
  virtual ~Output() = default;
  /// In ascending order without gaps. Interrupted.
  virtual void write_at(std::uint64_t offset, bytes::View octets) = 0;
  /// All is written and right.
  virtual void commit() = 0;
};

/// A path of the user's that something will be written to.
class OutputPath {
 public:
  /// `name`: of a file in `path`, if that is a directory. A symbolic link stays, and what it leads
  /// to is written. UsageError: no file can have that name. Error: there is no such directory.
  OutputPath(std::string path, const std::string& name);
  /// Error: no room for `size` octets, no permission, a FIFO that nobody reads.
  std::unique_ptr<Output> open(std::uint64_t size) const;

 private:
  std::string path_;
  bool is_stream_ = false;
  Fd directory_;  ///< of a regular file
  std::string name_;
};

}  // namespace iwarp::apps
