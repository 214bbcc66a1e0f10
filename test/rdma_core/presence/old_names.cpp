// SPDX-License-Identifier: Apache-2.0
// Tests functions that are called only by programs that were linked to an older C library or
// compiled with _FORTIFY_SOURCE.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <string>

namespace {

constexpr const char* kOldNode = "/dev/infiniband/uverbs0";
constexpr const char* kOldText = "/sys/class/infiniband/iwarp0/node_type";
constexpr int kVersion = 1;

template <typename Function>
Function* named(const char* name) {
  auto* const out = reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
  REQUIRE((out != nullptr));
  return out;
}

TEST_CASE("the versioned stat functions of glibc 2.32 and older") {
  struct stat about{};
  for (const char* name : {"__xstat", "__lxstat"}) {
    auto* const function = named<int(int, const char*, struct stat*)>(name);
    CHECK(function(kVersion, kOldNode, &about) == 0);
    CHECK(S_ISCHR(about.st_mode));
    CHECK(function(7, kOldNode, &about) == -1);
    CHECK(errno == EINVAL);
  }
  struct stat64 about64{};
  for (const char* name : {"__xstat64", "__lxstat64"}) {
    CHECK(named<int(int, const char*, struct stat64*)>(name)(kVersion, kOldNode, &about64) == 0);
    CHECK(S_ISCHR(about64.st_mode));
  }
  const int fd = ::open(kOldNode, O_PATH);
  CHECK(named<int(int, int, struct stat*)>("__fxstat")(kVersion, fd, &about) == 0);
  CHECK(named<int(int, int, struct stat64*)>("__fxstat64")(kVersion, fd, &about64) == 0);
  CHECK(about.st_rdev == about64.st_rdev);
  CHECK(named<int(int, int, struct stat*)>("__fxstat")(7, fd, &about) == -1);
  ::close(fd);
  CHECK(named<int(int, int, const char*, struct stat*, int)>("__fxstatat")(
            kVersion, AT_FDCWD, kOldNode, &about, 0) == 0);
  CHECK(named<int(int, int, const char*, struct stat64*, int)>("__fxstatat64")(
            kVersion, AT_FDCWD, kOldNode, &about64, 0) == 0);
}

TEST_CASE("the fortified forms of open, readlink, realpath and getcwd") {
  for (const char* name : {"__open_2", "__open64_2"}) {
    const int fd = named<int(const char*, int)>(name)(kOldText, O_RDONLY);
    CHECK(fd >= 0);
    ::close(fd);
  }
  for (const char* name : {"__openat_2", "__openat64_2"}) {
    const int fd = named<int(int, const char*, int)>(name)(AT_FDCWD, kOldText, O_RDONLY);
    CHECK(fd >= 0);
    ::close(fd);
  }
  std::array<char, PATH_MAX> text{};
  auto* const read_link = named<ssize_t(const char*, char*, size_t, size_t)>("__readlink_chk");
  CHECK(read_link("/sys/class/infiniband/iwarp0", text.data(), 64, text.size()) == 46);
  auto* const real = named<char*(const char*, char*, size_t)>("__realpath_chk");
  CHECK(std::string(real("/sys/class/misc/rdma_cm", text.data(), text.size())) ==
        "/sys/devices/virtual/misc/rdma_cm");
  CHECK(named<char*(char*, size_t, size_t)>("__getcwd_chk")(text.data(), 64, 64) != nullptr);
}

}  // namespace
