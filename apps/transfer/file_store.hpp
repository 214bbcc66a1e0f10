// SPDX-License-Identifier: Apache-2.0
// Opens files in one directory by plain name, and creates files that appear only when they are
// complete. If the file system permits it, an incomplete file has no name, so it disappears even if
// the program is killed. On other file systems an incomplete file has a hidden temporary name, and
// the next server that starts removes it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "iwarp/bytes/view.hpp"

namespace iwarp::apps {

/// Owns a file descriptor; the destructor closes it.
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

/// A regular file that is open for reading. `size` is the size that it had when it was opened.
struct SourceFile {
  Fd fd;
  std::uint64_t size = 0;
};
/// Opens a file in `directory`, without following symbolic links. Throws Error if the file does not
/// exist or is not a regular file, or if `name` is not a plain name.
SourceFile open_in(const Fd& directory, const std::string& name);
/// Opens a file by path. Throws Error if the file does not exist or is not a regular file.
SourceFile open_path(const std::string& path);

/// Reads exactly octets.size() bytes. Throws Error if the file is shorter or cannot be read.
void read_at(const SourceFile& file, std::uint64_t offset, bytes::Span octets);

/// Throws Error if `name` exists and is not a regular file that can be replaced.
void check_replaceable(const Fd& directory, const std::string& name);

/// A file that is being written. If commit() is not called, the destructor removes the file.
class NewFile {
 public:
  /// Creates the file and reserves `size` bytes on disk. Throws Error if, for example, the disk is
  /// full or permission is missing.
  NewFile(const Fd& directory, std::uint64_t size);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write_at(std::uint64_t offset, bytes::View octets);
  /// Writes the content to disk, then gives the file the name `name`, and replaces an existing file
  /// of that name. Keeps the permissions of the replaced file, and also its owner if this process
  /// may set it. Throws Error if this fails, or in the same cases as check_replaceable().
  void commit(const std::string& name);

 private:
  void inherit(const std::string& name);
  void name_it(const std::string& name);

  const Fd& directory_;
  Fd fd_;
  unsigned mode_ = 0;      ///< mode that the file gets if it replaces no other file
  std::string temporary_;  ///< temporary name; empty if the file has no name yet
};

/// Removes the temporary files of programs that were killed. The files of running programs are
/// locked and remain.
void remove_stale_files(const Fd& directory);

}  // namespace iwarp::apps
