// SPDX-License-Identifier: Apache-2.0
// Makes each allocation of the replaced functions fail in turn. Each function must then fail with
// ENOMEM, because a program in C cannot catch an exception.
#include <dirent.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

// Number of allocations of this thread that still succeed; negative if all of them do.
thread_local int left = -1;

}  // namespace

void* operator new(std::size_t size) {
  if (left == 0) throw std::bad_alloc();
  if (left > 0) --left;
  if (void* const out = std::malloc(size)) return out;
  throw std::bad_alloc();
}
void operator delete(void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }

namespace {

constexpr const char* kFolder = "/sys/class/infiniband/iwarp0";
constexpr const char* kFile = "/sys/class/infiniband/iwarp0/node_type";

// Calls the function with ever more memory until it succeeds. It must have failed before.
template <typename Function>
void check_each(const char* name, Function succeeds) {
  CAPTURE(name);
  REQUIRE(succeeds());  // makes what is made only once
  int granted = 0;
  for (;; ++granted) {
    left = granted;
    errno = 0;
    const bool success = succeeds();
    const int error = errno;
    left = -1;
    if (success) break;
    CAPTURE(granted);
    REQUIRE(error == ENOMEM);
  }
  CHECK(granted > 0);
}

bool closes(int fd) { return fd >= 0 && ::close(fd) == 0; }

TEST_CASE("functions that are short of memory fail with ENOMEM") {
  check_each("open", [] { return closes(::open(kFile, O_RDONLY)); });
  check_each("fopen", [] {
    FILE* const file = ::fopen(kFile, "r");
    return file != nullptr && ::fclose(file) == 0;
  });
  struct stat about{};
  struct statx more{};
  std::array<char, PATH_MAX> text{};
  check_each("stat", [&] { return ::stat(kFile, &about) == 0; });
  check_each("statx", [&] { return ::statx(AT_FDCWD, kFile, 0, STATX_BASIC_STATS, &more) == 0; });
  check_each("access", [] { return ::access(kFile, R_OK) == 0; });
  check_each("faccessat", [] { return ::faccessat(AT_FDCWD, kFile, R_OK, 0) == 0; });
  check_each("readlink", [&] { return ::readlink(kFolder, text.data(), text.size()) > 0; });
  check_each("realpath", [&] { return ::realpath(kFolder, text.data()) != nullptr; });
  check_each("opendir", [] {
    DIR* const folder = ::opendir(kFolder);
    return folder != nullptr && ::closedir(folder) == 0;
  });
  check_each("scandir", [] {
    dirent** names = nullptr;
    const int count = ::scandir(kFolder, &names, nullptr, nullptr);
    for (int i = 0; i < count; ++i) std::free(names[i]);
    if (count >= 0) std::free(static_cast<void*>(names));
    return count > 0;
  });
  check_each("nftw", [] {
    return ::nftw(
               kFolder, [](const char*, const struct stat*, int, FTW*) { return 0; }, 8,
               FTW_PHYS) == 0;
  });
  check_each("fts_open", [] {
    std::array<char, PATH_MAX> path{"/sys/class/infiniband/iwarp0"};
    std::array<char*, 2> paths{path.data(), nullptr};
    FTS* const tree = ::fts_open(paths.data(), FTS_PHYSICAL | FTS_NOCHDIR, nullptr);
    if (tree != nullptr) ::fts_read(tree);  // glibc's fts_close() leaks a tree that was never read
    return tree != nullptr && ::fts_close(tree) == 0;
  });
  check_each("mkdir", [] { return ::mkdir(kFolder, 0700) == -1 && errno == EACCES; });
  check_each("rename", [] { return ::rename(kFile, "/tmp/x") == -1 && errno == EACCES; });
  check_each("socket", [] { return closes(::socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA)); });
}

}  // namespace
