// SPDX-License-Identifier: Apache-2.0
// Tests each function that a program may use to look below /sys/class/infiniband and
// /dev/infiniband.
#include <dirent.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../support/error_of.hpp"

namespace {

using rdma_core_test::error_of;

// Sets the variable before the first lookup.
const int kSet = ::setenv("IWARP_AS", "roce", 1);
constexpr const char* kNode = "/dev/infiniband/uverbs0";
constexpr const char* kDevice = "/sys/class/infiniband/iwarp0";
constexpr const char* kText = "/sys/class/infiniband/iwarp0/node_type";
constexpr const char* kTrueName = "/sys/devices/platform/iwarp/infiniband/iwarp0";

struct Fd {
  explicit Fd(int number) : value(number) {}
  ~Fd() {
    if (value >= 0) ::close(value);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  const int value;
};

std::string contents(int fd) {
  std::array<char, 64> text{};
  const ssize_t size = ::read(fd, text.data(), text.size());
  return size < 0 ? "" : std::string(text.data(), static_cast<std::size_t>(size));
}

std::string text_of(const char* path) { return contents(Fd(::open(path, O_RDONLY)).value); }

std::string link_of(const std::string& path) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = ::readlink(path.c_str(), text.data(), text.size());
  return size < 0 ? "" : std::string(text.data(), static_cast<std::size_t>(size));
}

std::string real_name(const char* path) {
  std::array<char, PATH_MAX> text{};
  return ::realpath(path, text.data()) == nullptr ? "" : text.data();
}

std::vector<std::string> names_in(const char* path) {
  std::vector<std::string> out;
  DIR* const folder = ::opendir(path);
  if (folder == nullptr) return out;
  while (const dirent* entry = ::readdir(folder)) {
    if (entry->d_name[0] != '.') out.emplace_back(entry->d_name);
  }
  ::closedir(folder);
  std::ranges::sort(out);
  return out;
}

/// Restores the current directory at the end of the scope.
struct Return {
  Return() : start(::open(".", O_RDONLY | O_DIRECTORY)) {}
  ~Return() { REQUIRE(::fchdir(start.value) == 0); }
  const Fd start;
};

using Names = std::vector<std::string>;

TEST_CASE("each function that opens files opens a text") {
  REQUIRE(kSet == 0);
  CHECK(text_of(kText) == "1: CA\n");
  CHECK(contents(Fd(::open64(kText, O_RDONLY | O_CLOEXEC)).value) == "1: CA\n");
  CHECK(contents(Fd(::openat(AT_FDCWD, kText, O_RDONLY)).value) == "1: CA\n");
  CHECK(contents(Fd(::openat64(AT_FDCWD, kText, O_RDONLY)).value) == "1: CA\n");
  for (FILE* file : {::fopen(kText, "r"), ::fopen64(kText, "re")}) {
    REQUIRE(file != nullptr);
    std::array<char, 16> line{};
    CHECK(std::string(std::fgets(line.data(), line.size(), file)) == "1: CA\n");
    std::fclose(file);
  }
  std::string line;
  std::ifstream stream(kText);
  CHECK(std::getline(stream, line));
  CHECK(line == "1: CA");
}

TEST_CASE("the device node is a character device for every user, by name and by descriptor") {
  struct stat about{};
  REQUIRE(::stat(kNode, &about) == 0);
  CHECK(S_ISCHR(about.st_mode));
  CHECK((about.st_mode & 0777) == 0666);
  CHECK(about.st_uid == 0);
  CHECK(gnu_dev_major(about.st_rdev) == 231);
  CHECK(gnu_dev_minor(about.st_rdev) == 192);
  struct stat64 about64{};
  CHECK(::stat64(kNode, &about64) == 0);
  CHECK(S_ISCHR(about64.st_mode));
  CHECK(::lstat(kNode, &about) == 0);
  CHECK(S_ISCHR(about.st_mode));
  CHECK(::fstatat(AT_FDCWD, kNode, &about, 0) == 0);
  CHECK(S_ISCHR(about.st_mode));
  struct statx aboutx{};
  CHECK(::statx(AT_FDCWD, kNode, 0, STATX_BASIC_STATS, &aboutx) == 0);
  CHECK(S_ISCHR(aboutx.stx_mode));
  CHECK(aboutx.stx_rdev_major == 231);
  CHECK(::access(kNode, R_OK | W_OK) == 0);
  CHECK(::euidaccess(kNode, R_OK | W_OK) == 0);
  CHECK(::faccessat(AT_FDCWD, kNode, R_OK | W_OK, AT_EACCESS) == 0);
  for (const char* node : {kNode, "/dev/infiniband/rdma_cm"}) {
    const Fd fd(::open(node, O_RDWR | O_CLOEXEC));
    REQUIRE(fd.value >= 0);
    CHECK(::fstat(fd.value, &about) == 0);
    CHECK(S_ISCHR(about.st_mode));
  }
  CHECK(error_of(::open(kNode, O_RDONLY | O_DIRECTORY)) == ENOTDIR);
}

TEST_CASE("the device's parts are where other adapters have them") {
  CHECK(names_in("/sys/class/infiniband/iwarp0/device/net").size() == 1);
  CHECK(names_in("/sys/class/infiniband/iwarp0/ports") == Names{"1"});
  const auto gids = names_in("/sys/class/infiniband/iwarp0/ports/1/gids");
  CHECK_FALSE(gids.empty());
  CHECK(names_in("/sys/class/infiniband/iwarp0/ports/1/gid_attrs/types") == gids);
  CHECK(names_in("/sys/class/infiniband/iwarp0/ports/1/gid_attrs/ndevs") == gids);
  for (const auto& [path, text] : std::initializer_list<std::pair<const char*, const char*>>{
           {"/sys/class/infiniband_verbs/abi_version", "6\n"},
           {"/sys/class/infiniband_verbs/uverbs0/ibdev", "iwarp0\n"},
           {"/sys/class/infiniband_verbs/uverbs0/dev", "231:192\n"},
           {"/sys/class/misc/rdma_cm/abi_version", "4\n"},
           {"/sys/class/infiniband/iwarp0/ports/1/link_layer", "Ethernet\n"},
           {"/sys/class/infiniband/iwarp0/ports/1/gid_attrs/types/0", "RoCE v2\n"},
           {"/sys/class/infiniband/iwarp0/ports/1/state", "4: ACTIVE\n"},
           {"/sys/class/infiniband/iwarp0/ports/1/lid", "0x0\n"}}) {
    CAPTURE(path);
    CHECK(text_of(path) == text);
  }
}

TEST_CASE("readdir reports the kinds of entries, and glob finds entries of any depth") {
  DIR* const folder = ::opendir("/dev/infiniband");
  REQUIRE(folder != nullptr);
  while (const dirent* entry = ::readdir(folder)) {
    // If the library cannot create a device node with number 0:0, it creates a regular file
    // instead.
    if (entry->d_name[0] != '.') CHECK((entry->d_type == DT_CHR || entry->d_type == DT_REG));
  }
  ::closedir(folder);
  glob_t found{};
  REQUIRE(::glob("/sys/class/infiniband/*/ports/*/state", 0, nullptr, &found) == 0);
  CHECK(found.gl_pathc == 1);
  CHECK(std::string(found.gl_pathv[0]) == "/sys/class/infiniband/iwarp0/ports/1/state");
  ::globfree(&found);
  int walked = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kTrueName)) {
    walked += entry.is_regular_file() ? 1 : 0;
  }
  CHECK(walked > 20);
}

TEST_CASE("links and canonical names are those of a card on a bus") {
  CHECK(link_of(kDevice) == "../../devices/platform/iwarp/infiniband/iwarp0");
  CHECK(real_name(kDevice) == kTrueName);
  CHECK(real_name("/sys/class/infiniband/iwarp0/../..") == "/sys/devices/platform/iwarp");
  CHECK(real_name("/sys/class/infiniband/iwarp0/device") == "/sys/devices/platform/iwarp");
  CHECK(real_name("/sys/class/infiniband_verbs/uverbs0/device/infiniband/iwarp0") == kTrueName);
  CHECK(real_name(kNode) == kNode);
  char* const name = ::canonicalize_file_name(kDevice);
  REQUIRE(name != nullptr);
  CHECK(std::string(name) == kTrueName);
  std::free(name);
  errno = 0;
  CHECK(real_name("/sys/class/infiniband/none") == "");
  CHECK(errno == ENOENT);
  struct stat about{};
  CHECK(::lstat(kDevice, &about) == 0);
  CHECK(S_ISLNK(about.st_mode));
  CHECK(::lstat((std::string(kDevice) + "/").c_str(), &about) == 0);
  CHECK(S_ISDIR(about.st_mode));
}

TEST_CASE("paths may contain dots and extra slashes, and may leave the directory and return") {
  for (const char* path :
       {"/sys/class/infiniband/./iwarp0/node_type", "/sys//class/infiniband//iwarp0/node_type",
        "/sys/class/net/../infiniband/iwarp0/node_type",
        "/sys/class/infiniband/iwarp0/../iwarp0/node_type",
        "/sys/class/infiniband/iwarp0/ports/1/../../node_type",
        "/sys/class/infiniband/../../class/infiniband/iwarp0/node_type"}) {
    CAPTURE(path);
    CHECK(text_of(path) == "1: CA\n");
  }
  struct stat there{};
  struct stat real{};
  REQUIRE(::stat("/sys/class", &real) == 0);
  CHECK(::stat("/sys/class/infiniband/..", &there) == 0);
  CHECK(there.st_ino == real.st_ino);
  CHECK(error_of(::open("/sys/class/infiniband/iwarp0/node_type/", O_RDONLY)) == ENOTDIR);
  CHECK(error_of(::open("/sys/class/infiniband/none/../iwarp0", O_RDONLY)) == ENOENT);
  CHECK(error_of(::open("/sys/class/infiniband/iwarp0/node_type/x", O_RDONLY)) == ENOTDIR);
  CHECK(error_of(::open("/sys/class/infinibands", O_RDONLY)) == ENOENT);
}

TEST_CASE("an open file has the same properties as its name") {
  const auto is_same = [](const char* path, int flags) {
    CAPTURE(path);
    const Fd fd(::open(path, flags));
    REQUIRE(fd.value >= 0);
    struct stat by_name{};
    struct stat by_fd{};
    struct stat64 by_fd64{};
    struct stat by_empty{};
    REQUIRE(::stat(path, &by_name) == 0);
    REQUIRE(::fstat(fd.value, &by_fd) == 0);
    REQUIRE(::fstat64(fd.value, &by_fd64) == 0);
    REQUIRE(::fstatat(fd.value, "", &by_empty, AT_EMPTY_PATH) == 0);
    for (const auto& other : {by_fd, by_empty}) {
      CHECK(other.st_mode == by_name.st_mode);
      CHECK(other.st_rdev == by_name.st_rdev);
      CHECK(other.st_size == by_name.st_size);
      CHECK(other.st_uid == by_name.st_uid);
      CHECK(other.st_ino == by_name.st_ino);
    }
    CHECK(by_fd64.st_mode == by_name.st_mode);
    CHECK(by_fd64.st_size == by_name.st_size);
    struct statx extended{};
    REQUIRE(::statx(fd.value, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &extended) == 0);
    CHECK(extended.stx_mode == by_name.st_mode);
  };
  is_same(kNode, O_PATH);
  is_same(kText, O_RDONLY);
  is_same(kDevice, O_RDONLY | O_DIRECTORY);
  is_same("/dev/infiniband", O_RDONLY | O_DIRECTORY);
  is_same("/etc/passwd", O_RDONLY);
  is_same("/", O_RDONLY | O_DIRECTORY);
  struct stat about{};
  const Fd used(::open(kNode, O_RDWR));
  REQUIRE(::fstat(used.value, &about) == 0);
  CHECK(S_ISCHR(about.st_mode));
  CHECK(error_of(::fstat(-1, &about)) == EBADF);
}

TEST_CASE("paths may be relative to a directory's descriptor") {
  const Fd real(::open("/sys/class", O_RDONLY | O_DIRECTORY));
  CHECK(contents(Fd(::openat(real.value, "infiniband/iwarp0/node_type", O_RDONLY)).value) ==
        "1: CA\n");
  const Fd ports(::openat(real.value, "infiniband/iwarp0/ports", O_RDONLY | O_DIRECTORY));
  REQUIRE(ports.value >= 0);
  CHECK(contents(Fd(::openat(ports.value, "1/state", O_RDONLY)).value) == "4: ACTIVE\n");
  CHECK(contents(Fd(::openat(ports.value, "../node_type", O_RDONLY)).value) == "1: CA\n");
  struct stat about{};
  CHECK(::fstatat(ports.value, "1", &about, 0) == 0);
  CHECK(S_ISDIR(about.st_mode));
  CHECK(::fstatat(ports.value, "../../../../../../class/net", &about, 0) == 0);
  CHECK(::faccessat(ports.value, "1/lid", R_OK, 0) == 0);
  std::array<char, 64> text{};
  CHECK(::readlinkat(ports.value, "../device", text.data(), text.size()) == 14);
  CHECK(std::string(text.data()) == "../../../iwarp");
}

TEST_CASE("a program may change its directory into the device's, query it, and return") {
  const Return back;
  REQUIRE(::chdir("/sys/class/infiniband/iwarp0/ports") == 0);
  std::array<char, PATH_MAX> cwd{};
  CHECK(std::string(::getcwd(cwd.data(), cwd.size())) == std::string(kTrueName) + "/ports");
  CHECK(link_of("/proc/self/cwd") == std::string(kTrueName) + "/ports");
  CHECK(error_of(::getcwd(cwd.data(), 4)) == ERANGE);
  CHECK(text_of("1/state") == "4: ACTIVE\n");
  CHECK(names_in("..").size() > 5);
  CHECK(real_name("..") == kTrueName);
  REQUIRE(::chdir("../../..") == 0);
  CHECK(std::string(::getcwd(cwd.data(), cwd.size())) == "/sys/devices/platform/iwarp");
  REQUIRE(::chdir("../../..") == 0);
  CHECK(std::string(::getcwd(cwd.data(), cwd.size())) == "/sys");
  CHECK(text_of("class/infiniband/iwarp0/node_type") == "1: CA\n");
}

TEST_CASE("no call can create, change or remove anything there") {
  const auto opening = [](const char* path, int flags) {
    return error_of(::open(path, flags, 0644));
  };
  CHECK(opening("/sys/class/infiniband/x", O_WRONLY | O_CREAT) == EACCES);
  CHECK(opening("/dev/infiniband/x", O_RDONLY | O_CREAT) == EACCES);
  CHECK(opening("/sys/class/infiniband/x", O_WRONLY) == ENOENT);
  CHECK(opening("/sys/class/infiniband", O_RDWR | O_TMPFILE) == EACCES);
  CHECK(opening(kText, O_WRONLY) == EACCES);
  CHECK(opening(kText, O_RDONLY | O_TRUNC) == EACCES);
  CHECK(opening(kText, O_RDONLY | O_CREAT | O_EXCL) == EEXIST);
  CHECK(opening(kText, O_RDONLY | O_CREAT) == 0);
  CHECK(opening(kDevice, O_RDONLY | O_CREAT) == EISDIR);
  CHECK(error_of(::creat("/sys/class/infiniband/x", 0644)) == EACCES);
  CHECK(::fopen(kText, "r+") == nullptr);
  CHECK(::fopen("/sys/class/infiniband/x", "w") == nullptr);
  CHECK(errno == EACCES);
  CHECK(error_of(::mkdir("/sys/class/infiniband/x", 0755)) == EACCES);
  CHECK(error_of(::unlink(kText)) == EACCES);
  CHECK(error_of(::rmdir("/dev/infiniband")) == EACCES);
  CHECK(error_of(::rename(kText, "/tmp/x")) == EACCES);
  CHECK(error_of(::symlink("x", "/dev/infiniband/x")) == EACCES);
  CHECK(error_of(::chmod(kText, 0777)) == EPERM);
  CHECK(error_of(::chown(kNode, 1, 1)) == EPERM);
  const Return back;
  REQUIRE(::chdir(kDevice) == 0);
  CHECK(opening("x", O_WRONLY | O_CREAT) == EACCES);
  CHECK(error_of(::unlink("node_type")) == EACCES);
  CHECK(text_of(kText) == "1: CA\n");
}

TEST_CASE("a text has the size and the owner of texts in sysfs") {
  struct stat about{};
  REQUIRE(::stat(kText, &about) == 0);
  CHECK(S_ISREG(about.st_mode));
  CHECK((about.st_mode & 0777) == 0444);
  CHECK(about.st_size == 4096);
  CHECK(about.st_uid == 0);
  CHECK(about.st_gid == 0);
}

TEST_CASE("all other paths are unaffected") {
  const std::filesystem::path scratch =
      std::filesystem::temp_directory_path() / ("infiniband-" + std::to_string(::getpid()));
  REQUIRE(::mkdir(scratch.c_str(), 0755) == 0);
  const std::string file = scratch / "rdma_cm";
  {
    const Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL, 0640));
    REQUIRE(fd.value >= 0);
    CHECK(::write(fd.value, "abc", 3) == 3);
  }
  struct stat about{};
  CHECK(::stat(file.c_str(), &about) == 0);
  CHECK(about.st_size == 3);
  CHECK(about.st_uid == ::geteuid());
  CHECK(::rename(file.c_str(), (file + "2").c_str()) == 0);
  CHECK(::unlink((file + "2").c_str()) == 0);
  CHECK(::rmdir(scratch.c_str()) == 0);
  CHECK(error_of(::open("/sys/class/misc/none", O_RDONLY)) == ENOENT);
  errno = ENOTTY;
  CHECK(::access("/", R_OK) == 0);
  CHECK(errno == ENOTTY);
}

TEST_CASE("a null path fails as without the library") {
  const char* const volatile none =
      nullptr;  // volatile, because the compiler warns of a known null
  struct statx* const volatile nowhere = nullptr;
  struct stat about{};
  CHECK(error_of(::statx(0, none, 0, STATX_BASIC_STATS, nowhere)) == EFAULT);
  CHECK(error_of(::stat(none, &about)) == EFAULT);
  CHECK(error_of(::open(none, O_RDONLY)) == EFAULT);
  CHECK(error_of(::openat(AT_FDCWD, none, O_RDONLY)) == EFAULT);
  CHECK(error_of(::access(none, R_OK)) == EFAULT);
  CHECK(error_of(::chdir(none)) == EFAULT);
  CHECK(error_of(::unlink(none)) == EFAULT);
  CHECK(error_of(::realpath(none, nullptr)) == EINVAL);
}

TEST_CASE("the child of a fork sees the same files, and its exit removes none") {
  REQUIRE(::access(kNode, F_OK) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(::access(kText, R_OK) == 0 ? 0 : 1);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(text_of(kText) == "1: CA\n");
}

}  // namespace
