// SPDX-License-Identifier: Apache-2.0
// Files on disk: opens files of one directory by plain name, and creates files that appear only
// when complete. Where the file system permits it, an incomplete file has no name, so that not even
// a killed program leaves a part of it behind; elsewhere it has a hidden temporary name, which the
// next server removes.
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

/// Opens a directory. Throws Error "cannot open DIR: reason".
Fd open_directory(const std::string& path);

/// A regular file open for reading. `size` is its size when it was opened.
struct SourceFile {
  Fd fd;
  std::uint64_t size = 0;
};
/// Opens a file of `directory`; follows no symbolic link. Throws Error if the file does not exist
/// or is not a regular file, or if `name` is not a plain name.
SourceFile open_in(const Fd& directory, const std::string& name);
/// Opens a file by any path. Throws Error as open_in().
SourceFile open_path(const std::string& path);

/// Reads exactly octets.size() bytes. Throws Error if the file is shorter or cannot be read.
void read_at(const SourceFile& file, std::uint64_t offset, bytes::Span octets);

/// Throws Error if `name` exists and is not a regular file that can be replaced.
void check_replaceable(const Fd& directory, const std::string& name);

/// A file under construction. The destructor removes it unless commit() was called.
class NewFile {
 public:
  /// Reserves `size` bytes on disk. Throws Error if the disk is full, permission is missing ...
  NewFile(const Fd& directory, std::uint64_t size);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write_at(std::uint64_t offset, bytes::View octets);
  /// Makes the content durable, then gives the file its `name`, replacing an existing file. A
  /// replaced file's permissions are kept, and its owner if that is permitted. Throws Error as
  /// check_replaceable().
  void commit(const std::string& name);

 private:
  void inherit(const std::string& name);
  void name_it(const std::string& name);

  const Fd& directory_;
  Fd fd_;
  unsigned mode_ = 0;      ///< mode of a new file
  std::string temporary_;  ///< temporary name; empty if the file has none
};

/// Removes temporary files of programs that were killed. Files of running programs are locked and
/// stay.
void remove_stale_files(const Fd& directory);

}  // namespace iwarp::apps
