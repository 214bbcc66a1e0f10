// SPDX-License-Identifier: Apache-2.0
// Files on disk: opening by plain name in one directory, and new files that appear there only when
// complete. A new file has no name while it is written where the file system can do that, so that
// not even a killed program leaves a part of it; elsewhere it has a hidden temporary name, which
// the next server removes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "iwarp/bytes/view.hpp"

namespace iwarp::apps {

/// A file descriptor.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Fd& operator=(Fd&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~Fd();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

/// Error: "cannot open DIR: reason".
Fd open_directory(const std::string& path);

/// A regular file for reading. `size` is what it has now.
struct SourceFile {
  Fd fd;
  std::uint64_t size = 0;
};
/// Follows no symbolic link. Error: not there, not a regular file, or `name` is no plain name.
SourceFile open_in(const Fd& directory, const std::string& name);
/// Any path of the user's. Error as above.
SourceFile open_path(const std::string& path);

/// Exactly octets.size() octets. Error: the file is shorter, or cannot be read.
void read_at(const SourceFile& file, std::uint64_t offset, bytes::Span octets);

/// Error: `name` is there, and no regular file that could be replaced.
void check_replaceable(const Fd& directory, const std::string& name);

/// A file under way. Gone without a trace unless commit() was called.
class NewFile {
 public:
  /// Reserves `size` octets on disk. Error: disk full, no permission ...
  NewFile(const Fd& directory, std::uint64_t size);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write_at(std::uint64_t offset, bytes::View octets);
  /// Makes everything durable, then gives it `name`, replacing what had it. Owner, if that is
  /// permitted, and permissions of a file that is replaced go on. Error: check_replaceable().
  void commit(const std::string& name);

 private:
  void inherit(const std::string& name);
  void name_it(const std::string& name);

  const Fd& directory_;
  Fd fd_;
  unsigned mode_ = 0;      ///< as a new file has it
  std::string temporary_;  ///< empty: the file has no name
};

/// Removes temporaries that a killed program left. Those of running ones are locked and stay.
void remove_stale_files(const Fd& directory);

}  // namespace iwarp::apps
