// SPDX-License-Identifier: Apache-2.0
// Session: reads and changes the file of a session under a lock. A file that another user could
// have written or replaced is not used.
#include "process/session.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "iwarp/profiles/device_name.hpp"

namespace iwarp::rdma_core {
namespace {

constexpr std::size_t kMaxWord = 63;
constexpr std::string_view kRemoved = "-";
// A longer file was not written by this class.
constexpr std::size_t kMaxFile = kMaxAddedDevices * 128;

using Lines = std::vector<std::string>;

bool is_one_file(int fd, const std::string& path) {
  struct stat a{};
  struct stat b{};
  return ::fstat(fd, &a) == 0 && ::lstat(path.c_str(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

/// The open and locked file of a session.
class SessionFile {
 public:
  /// `flags` are those of open(2), `lock` is LOCK_SH or LOCK_EX.
  SessionFile(const std::string& path, int flags, int lock) {
    // The last process of a session may remove the file before this process has locked it.
    do {
      close();
      fd_ = ::open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
      if (fd_ < 0) error_ = errno;
      if (fd_ < 0 || !is_own_file()) return;
      while (::flock(fd_, lock) != 0) {
        if (errno == EINTR) continue;
        error_ = errno;
        return;
      }
    } while ((flags & O_CREAT) != 0 && !is_one_file(fd_, path));
  }
  ~SessionFile() { close(); }
  SessionFile(const SessionFile&) = delete;
  SessionFile& operator=(const SessionFile&) = delete;

  /// Returns 0, or the errno because of which the file cannot be used.
  int error() const { return error_; }

  Lines lines() const {
    std::string text(kMaxFile, '\0');
    const ssize_t size = ::pread(fd_, text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    Lines out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      out.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return out;
  }

  /// Replaces the lines. Returns 0 or an errno; if it fails, the file has the lines `before`.
  int replace(const Lines& before, const Lines& after) {
    const int error = write(after);
    if (error != 0) write(before);
    return error;
  }

 private:
  bool is_own_file() {
    struct stat about{};
    const bool is_own = ::fstat(fd_, &about) == 0 && S_ISREG(about.st_mode) &&
                        about.st_uid == ::geteuid() && (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    if (!is_own) error_ = EACCES;
    return is_own;
  }

  int write(const Lines& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + '\n';
    const ssize_t size = ::pwrite(fd_, text.data(), text.size(), 0);
    if (size < 0) return errno;
    if (static_cast<std::size_t>(size) != text.size()) return ENOSPC;
    return ::ftruncate(fd_, size) == 0 ? 0 : errno;
  }

  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

  int fd_ = -1;
  int error_ = 0;
};

bool is_word(std::string_view text) {
  const auto is_usable = [](char c) { return c > ' ' && c < '\x7F' && c != ',' && c != '='; };
  return !text.empty() && text.size() <= kMaxWord && std::ranges::all_of(text, is_usable);
}

/// Returns the device of a line, or nullopt if the line contains none.
std::optional<AddedDevice> device_of(std::string_view line, std::size_t number) {
  std::array<std::string, 3> words;
  for (std::string& word : words) {
    word = line.substr(0, line.find(' '));
    if (!is_word(word)) return std::nullopt;
    line.remove_prefix(std::min(line.size(), word.size() + 1));
  }
  if (!line.empty() || !profiles::is_device_name(words[0])) return std::nullopt;
  return AddedDevice{static_cast<unsigned>(number), words[0], words[1], words[2]};
}

std::vector<AddedDevice> devices_of(const Lines& lines) {
  std::vector<AddedDevice> out;
  for (std::size_t i = 0; i < std::min(lines.size(), kMaxAddedDevices); ++i) {
    if (auto device = device_of(lines[i], i)) out.push_back(std::move(*device));
  }
  return out;
}

}  // namespace

std::vector<AddedDevice> Session::devices() const {
  if (path_.empty()) return {};
  const SessionFile file(path_, O_RDONLY, LOCK_SH);
  if (file.error() != 0) return {};
  return devices_of(file.lines());
}

int Session::add(const std::string& name, const std::string& type, const std::string& netdev) {
  if (path_.empty()) return EOPNOTSUPP;
  SessionFile file(path_, O_RDWR | O_CREAT, LOCK_EX);
  if (file.error() != 0) return file.error();
  const Lines before = file.lines();
  for (const AddedDevice& other : devices_of(before)) {
    if (other.name == name || (other.type == type && other.netdev == netdev)) return EEXIST;
  }
  Lines after = before;
  std::size_t free = 0;
  while (free < after.size() && device_of(after[free], free)) ++free;
  if (free >= kMaxAddedDevices) return ENOSPC;
  after.resize(std::max(after.size(), free + 1));
  after[free] = fmt::format("{} {} {}", name, type, netdev);
  return file.replace(before, after);
}

int Session::remove(unsigned number) {
  if (path_.empty()) return EINVAL;
  SessionFile file(path_, O_RDWR, LOCK_EX);
  if (file.error() != 0) return EINVAL;
  const Lines before = file.lines();
  if (number >= before.size() || !device_of(before[number], number)) return EINVAL;
  Lines after = before;
  after[number] = kRemoved;
  return file.replace(before, after);
}

}  // namespace iwarp::rdma_core
