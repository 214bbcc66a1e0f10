// SPDX-License-Identifier: Apache-2.0
// Implements the file store for Linux. It uses O_TMPFILE, linkat(), renameat(), and fsync() of the
// file and its directory.
#include "transfer/file_store.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <random>
#include <string_view>

#include "common/base/error.hpp"
#include "common/base/url.hpp"

namespace iwarp::apps {

namespace {

constexpr std::string_view kPrefix = ".iwarp-";
constexpr std::string_view kSuffix = ".part";
constexpr mode_t kMode = 0666;  // mode of a new file, before the umask is applied
constexpr mode_t kPrivate = 0600;
constexpr mode_t kAllModes = 0777;

std::string temporary_name() {
  std::random_device random;
  return fmt::format("{}{:08x}{:08x}{}", kPrefix, random(), random(), kSuffix);
}

bool is_temporary(std::string_view name) {
  return name.size() == kPrefix.size() + 16 + kSuffix.size() && name.starts_with(kPrefix) &&
         name.ends_with(kSuffix);
}

SourceFile regular(Fd fd, const std::string& shown) {
  struct stat info{};
  if (!fd || fstat(fd.get(), &info) != 0) throw Error(shown + ": " + errno_text());
  if (!S_ISREG(info.st_mode)) throw Error(shown + ": not a regular file");
  return {.fd = std::move(fd), .size = static_cast<std::uint64_t>(info.st_size)};
}

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) close(fd_);
}

Fd open_directory(const std::string& path) {
  Fd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) throw Error("cannot open " + path + ": " + errno_text());
  return fd;
}

SourceFile open_in(const Fd& directory, const std::string& name) {
  if (!is_plain_name(name)) throw Error(printable(name) + ": not a valid file name");
  // O_NONBLOCK keeps openat() from waiting for a writer if the name belongs to a FIFO.
  return regular(
      Fd(openat(directory.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)),
      printable(name));
}

SourceFile open_path(const std::string& path) {
  return regular(Fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)), path);
}

void read_at(const SourceFile& file, std::uint64_t offset, bytes::Span octets) {
  while (!octets.empty()) {
    const auto n = pread(file.fd.get(), octets.data(), octets.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error("cannot read: " + errno_text());
    if (n == 0) throw Error("the file was truncated while it was being sent");
    offset += static_cast<std::uint64_t>(n);
    octets = octets.subspan(static_cast<std::size_t>(n));
  }
}

void check_replaceable(const Fd& directory, const std::string& name) {
  struct stat info{};
  if (fstatat(directory.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (!S_ISREG(info.st_mode)) throw Error(printable(name) + ": not a regular file");
}

NewFile::NewFile(const Fd& directory, std::uint64_t size)
    : directory_(directory),
      fd_(openat(directory.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, kMode)) {
  if (!fd_ && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
    temporary_ = temporary_name();
    fd_ = Fd(openat(directory.get(), temporary_.c_str(),
                    O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, kMode));
  }
  if (!fd_) throw Error("cannot create a file in the target directory: " + errno_text());
  // Until commit(), only the owner may read the new file, because other users may not be permitted
  // to read the file that it replaces.
  struct stat info{};
  if (fstat(fd_.get(), &info) == 0) mode_ = info.st_mode & kAllModes;
  fchmod(fd_.get(), kPrivate);
  // Lock the file, so that remove_stale_files() can see that it is still being written.
  flock(fd_.get(), LOCK_EX | LOCK_NB);
  const bool reserved =
      size == 0 || fallocate(fd_.get(), 0, 0, static_cast<off_t>(size)) == 0 ||
      // This file system cannot reserve space. If the disk is full, the writes will fail.
      errno == EOPNOTSUPP;
  if (reserved) return;
  const auto why = errno_text();
  if (!temporary_.empty()) unlinkat(directory_.get(), temporary_.c_str(), 0);
  throw Error(fmt::format("cannot reserve {} bytes on disk for the file: {}", size, why));
}

NewFile::~NewFile() {
  if (!temporary_.empty()) unlinkat(directory_.get(), temporary_.c_str(), 0);
}

void NewFile::write_at(std::uint64_t offset, bytes::View octets) {
  while (!octets.empty()) {
    const auto n = pwrite(fd_.get(), octets.data(), octets.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error("cannot write: " + errno_text());
    offset += static_cast<std::uint64_t>(n);
    octets = octets.subspan(static_cast<std::size_t>(n));
  }
}

void NewFile::commit(const std::string& name) {
  check_replaceable(directory_, name);
  inherit(name);
  if (fsync(fd_.get()) != 0) throw Error("cannot write: " + errno_text());
  name_it(name);
  if (fsync(directory_.get()) != 0)
    throw Error("cannot write the target directory: " + errno_text());
}

void NewFile::inherit(const std::string& name) {
  struct stat before{};
  auto mode = static_cast<mode_t>(mode_);
  if (fstatat(directory_.get(), name.c_str(), &before, AT_SYMLINK_NOFOLLOW) == 0) {
    mode = before.st_mode & kAllModes;
    // If the kernel does not permit this process to change the owner, this process's user remains
    // the owner.
    [[maybe_unused]] const int kept = fchown(fd_.get(), before.st_uid, before.st_gid);
  }
  if (fchmod(fd_.get(), mode) != 0)
    throw Error("cannot set the permissions of the file: " + errno_text());
}

void NewFile::name_it(const std::string& name) {
  const auto failed = [&] {
    return Error("cannot create " + printable(name) + ": " + errno_text());
  };
  if (temporary_.empty()) {
    const auto self = fmt::format("/proc/self/fd/{}", fd_.get());
    const auto link = [&](const std::string& to) {
      return linkat(AT_FDCWD, self.c_str(), directory_.get(), to.c_str(), AT_SYMLINK_FOLLOW) == 0;
    };
    if (link(name)) return;
    if (errno != EEXIST) throw failed();
    // linkat() cannot replace a file. Give the new file a temporary name, and let renameat() change
    // it to `name`.
    auto temporary = temporary_name();
    if (!link(temporary)) throw failed();
    temporary_ = std::move(temporary);
  }
  if (renameat(directory_.get(), temporary_.c_str(), directory_.get(), name.c_str()) != 0) {
    throw failed();
  }
  temporary_.clear();
}

void remove_stale_files(const Fd& directory) {
  const int own = openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct Close {
    void operator()(DIR* dir) const { closedir(dir); }
  };
  const std::unique_ptr<DIR, Close> dir(own < 0 ? nullptr : fdopendir(own));
  if (!dir) throw Error("cannot read the directory: " + errno_text());
  while (const dirent* entry = readdir(dir.get())) {
    if (!is_temporary(entry->d_name)) continue;
    const Fd file(openat(directory.get(), entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (file && flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
      unlinkat(directory.get(), entry->d_name, 0);
    }
  }
}

}  // namespace iwarp::apps
