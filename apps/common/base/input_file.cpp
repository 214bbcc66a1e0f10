// SPDX-License-Identifier: Apache-2.0
// rereadable(): copies a pipe to a file in memory, once for each path, of at most kLargest bytes.
// Returns the path of any other file unchanged.
#include "common/base/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <map>

#include "common/base/error.hpp"
#include "iwarp/net/unique_fd.hpp"

namespace iwarp::apps {
namespace {

constexpr off_t kLargest = 4 << 20;

/// Copies the pipe to a file in memory. Returns its descriptor, which an executed program inherits.
int copy_of(const std::string& path) {
  const net::UniqueFd in(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  net::UniqueFd copy(::memfd_create("iwarp-input", 0));
  std::array<char, 65536> piece{};
  off_t size = 0;
  ssize_t got = -1;
  while (in && copy && (got = ::read(in.get(), piece.data(), piece.size())) > 0) {
    size += got;
    if (size > kLargest)
      throw UsageError(path + ": a pipe may deliver at most 4 MiB (name a regular file)");
    if (::write(copy.get(), piece.data(), static_cast<std::size_t>(got)) != got) break;
  }
  if (got != 0) throw UsageError(path + ": " + errno_text());
  return copy.release();
}

}  // namespace

std::string rereadable(const std::string& path) {
  static std::map<std::string, std::string> copies;
  if (const auto known = copies.find(path); known != copies.end()) return known->second;
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0 || !S_ISFIFO(about.st_mode)) return path;
  return copies[path] = kCopies + std::to_string(copy_of(path));
}

}  // namespace iwarp::apps
