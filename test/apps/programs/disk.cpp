// SPDX-License-Identifier: Apache-2.0
// A preloaded library that makes calls to the disk fail, and records the calls.
// DISK_FAIL is a list CALL:N:ERRNO,... The N-th call of function CALL fails with ERRNO. If N is 0,
// every call of CALL fails.
// DISK_LOG names a file to which each successful call adds a line: the call, the inode of the file
// (or "folder" for a directory), and then either offset and length, or names.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int number(std::string_view text) {
  int out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

std::string_view cut(std::string_view& text, char at) {
  const auto end = std::min(text.find(at), text.size());
  const auto out = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return out;
}

/// Counts the call. If the call must fail, sets errno and returns true.
bool fails(std::string_view name, std::atomic<int>& calls) {
  const int now = ++calls;
  const char* const wanted = std::getenv("DISK_FAIL");
  std::string_view rest = wanted != nullptr ? wanted : "";
  while (!rest.empty()) {
    auto rule = cut(rest, ',');
    if (cut(rule, ':') != name) continue;
    const int which = number(cut(rule, ':'));
    if (which != 0 && which != now) continue;
    errno = number(rule);
    return true;
  }
  return false;
}

std::string subject(int fd) {
  struct stat info{};
  if (fstat(fd, &info) != 0) return "?";
  return S_ISDIR(info.st_mode) ? "folder" : std::to_string(info.st_ino);
}

void record(const std::string& line) {
  const char* const path = std::getenv("DISK_LOG");
  if (path == nullptr) return;
  const int before = errno;
  const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  // Writes each line with one call of write(), so that lines of different threads do not mix.
  [[maybe_unused]] const auto written = write(fd, line.data(), line.size());
  close(fd);
  errno = before;
}

}  // namespace

extern "C" {

int fallocate(int fd, int mode, off_t offset, off_t length) {
  static const auto kNext = next<int(int, int, off_t, off_t)>("fallocate");
  static std::atomic<int> calls;
  return fails("fallocate", calls) ? -1 : kNext(fd, mode, offset, length);
}

ssize_t pwrite(int fd, const void* octets, size_t size, off_t offset) {
  static const auto kNext = next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  static std::atomic<int> calls;
  if (fails("pwrite", calls)) return -1;
  const auto n = kNext(fd, octets, size, offset);
  if (n > 0) {
    record("write " + subject(fd) + " " + std::to_string(offset) + " " + std::to_string(n) + "\n");
  }
  return n;
}

int fsync(int fd) {
  static const auto kNext = next<int(int)>("fsync");
  static std::atomic<int> calls;
  if (fails("fsync", calls)) return -1;
  const int out = kNext(fd);
  if (out == 0) record("sync " + subject(fd) + "\n");
  return out;
}

int linkat(int from, const char* old_name, int to, const char* new_name, int flags) {
  static const auto kNext = next<int(int, const char*, int, const char*, int)>("linkat");
  static std::atomic<int> calls;
  if (fails("linkat", calls)) return -1;
  const int out = kNext(from, old_name, to, new_name, flags);
  struct stat info{};
  if (out == 0 && fstatat(to, new_name, &info, 0) == 0) {
    record("link " + std::to_string(info.st_ino) + " " + new_name + "\n");
  }
  return out;
}

int renameat(int from, const char* old_name, int to, const char* new_name) {
  static const auto kNext = next<int(int, const char*, int, const char*)>("renameat");
  static std::atomic<int> calls;
  if (fails("renameat", calls)) return -1;
  const int out = kNext(from, old_name, to, new_name);
  struct stat info{};
  if (out == 0 && fstatat(to, new_name, &info, 0) == 0) {
    record("rename " + std::to_string(info.st_ino) + " " + old_name + " " + new_name + "\n");
  }
  return out;
}

// The rule "tmpfile" applies to calls with O_TMPFILE. In the log, their files have the name ".".
int openat(int folder, const char* name, int flags, ...) {
  static const auto kNext = next<int(int, const char*, int, ...)>("openat");
  static std::atomic<int> calls;
  constexpr mode_t kMode = 0666;
  if ((flags & O_TMPFILE) == O_TMPFILE && fails("tmpfile", calls)) return -1;
  const int out = kNext(folder, name, flags, kMode);
  const bool is_new = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  if (out >= 0 && is_new) record("create " + subject(out) + " " + name + "\n");
  return out;
}

}  // extern "C"
