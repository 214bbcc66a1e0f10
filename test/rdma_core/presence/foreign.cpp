// SPDX-License-Identifier: Apache-2.0
// Tests that no function of the C library finds an RDMA device of the system. On a machine without
// one, the paths below exist nowhere. test_isolation.py runs this program where they exist.
#include <dirent.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "../support/error_of.hpp"

namespace {

using rdma_core_test::error_of;
using Found = std::set<std::string>;

constexpr std::array kForeignPaths{
    "/sys/class/infiniband/mana_0",
    "/sys/class/infiniband/mana_0/",
    "/sys/class/infiniband/mana_0/ports/1/state",
    "/sys/class/net/../infiniband/mana_0/node_type",
    "/sys/class/infiniband/iwarp0/../mana_0/node_type",
    "/sys/class/infiniband_verbs/uverbs1",
    "/sys/class/infiniband_verbs/uverbs1/ibdev",
    "/sys/class/infiniband_mad",
    "/sys/class/infiniband/../infiniband_mad/umad0/ibdev",
    "/sys/class/infiniband_cm",
    "/sys/class/foreign/card/infiniband/mana_0/node_type",
    "/sys/class/foreign/card/infiniband_verbs",
    "/sys/bus/../devices/pci7fff:00/7fff:00:02.0/infiniband",
    "/sys/devices/pci7fff:00/7fff:00:02.0/infiniband/mana_0/node_type",
    "/sys/devices/pci7fff:00/7fff:00:02.0/infiniband_verbs/uverbs0/dev",
    "/sys/devices/virtual/misc/rdma_cm/foreign",
    "/proc/self/root/sys/class/infiniband/mana_0",
    "/dev/infiniband/uverbs1",
    "/dev/infiniband/umad0",
    "/dev/char/231:0",
    "/dev/char/231:193",
    "/sys/dev/char/231:0",
    "/sys/dev/char/231:193/ibdev",
    "/sys/kernel/config/rdma_cm/mana_0",
};

int closed(long fd) {
  if (fd < 0) return errno;
  ::close(static_cast<int>(fd));
  return 0;
}
int closed(FILE* file) {
  if (file == nullptr) return errno;
  std::fclose(file);
  return 0;
}
int closed(DIR* folder) {
  if (folder == nullptr) return errno;
  ::closedir(folder);
  return 0;
}
int freed(char* name) {
  if (name == nullptr) return errno;
  std::free(name);
  return 0;
}

int count_file(const char*, const struct stat*, int) { return 1; }
int count_file_at(const char*, const struct stat*, int, FTW*) { return 1; }

/// A function of the C library, or a system call, with which a program may look for a file. Returns
/// its errno, or 0 if it finds the file.
struct Lookup {
  const char* name;
  int (*call)(const char* path);
};

/// Where calls store results that the tests ignore.
struct Results {
  struct stat status;
  struct stat64 status64;
  struct statx extended;
  char name[PATH_MAX];
} results;
const open_how kRead{.flags = O_RDONLY, .mode = 0, .resolve = 0};

constexpr Lookup kLookups[]{
    {"open", [](auto p) { return closed(::open(p, O_RDONLY)); }},
    {"open, O_PATH", [](auto p) { return closed(::open(p, O_PATH | O_NOFOLLOW)); }},
    {"open64", [](auto p) { return closed(::open64(p, O_RDONLY)); }},
    {"openat", [](auto p) { return closed(::openat(AT_FDCWD, p, O_RDONLY)); }},
    {"openat64", [](auto p) { return closed(::openat64(AT_FDCWD, p, O_RDONLY)); }},
    {"openat2",
     [](auto p) { return closed(::syscall(SYS_openat2, AT_FDCWD, p, &kRead, sizeof kRead)); }},
    {"syscall(SYS_openat)",
     [](auto p) { return closed(::syscall(SYS_openat, AT_FDCWD, p, O_RDONLY, 0)); }},
    {"fopen", [](auto p) { return closed(std::fopen(p, "r")); }},
    {"fopen64", [](auto p) { return closed(::fopen64(p, "r")); }},
    {"freopen",
     [](auto p) {
       FILE* const file = std::fopen("/dev/null", "r");
       const int error = error_of(std::freopen(p, "r", file));
       std::fclose(file);  // glibc frees a stream that could not be opened again only here
       return error;
     }},
    {"opendir", [](auto p) { return closed(::opendir(p)); }},
    {"stat", [](auto p) { return error_of(::stat(p, &results.status)); }},
    {"stat64", [](auto p) { return error_of(::stat64(p, &results.status64)); }},
    {"lstat", [](auto p) { return error_of(::lstat(p, &results.status)); }},
    {"fstatat", [](auto p) { return error_of(::fstatat(AT_FDCWD, p, &results.status, 0)); }},
    {"statx",
     [](auto p) { return error_of(::statx(AT_FDCWD, p, 0, STATX_TYPE, &results.extended)); }},
    {"syscall(SYS_statx)",
     [](auto p) {
       return error_of(::syscall(SYS_statx, AT_FDCWD, p, 0, STATX_TYPE, &results.extended));
     }},
    {"syscall(SYS_newfstatat)",
     [](auto p) { return error_of(::syscall(SYS_newfstatat, AT_FDCWD, p, &results.status, 0)); }},
    {"access", [](auto p) { return error_of(::access(p, F_OK)); }},
    {"faccessat", [](auto p) { return error_of(::faccessat(AT_FDCWD, p, F_OK, 0)); }},
    {"syscall(SYS_faccessat2)",
     [](auto p) { return error_of(::syscall(SYS_faccessat2, AT_FDCWD, p, F_OK, 0)); }},
    {"euidaccess", [](auto p) { return error_of(::euidaccess(p, F_OK)); }},
    {"getxattr", [](auto p) { return error_of(::getxattr(p, "user.x", results.name, 1)); }},
    {"readlink", [](auto p) { return error_of(::readlink(p, results.name, PATH_MAX)); }},
    {"readlinkat",
     [](auto p) { return error_of(::readlinkat(AT_FDCWD, p, results.name, PATH_MAX)); }},
    {"syscall(SYS_readlinkat)",
     [](auto p) {
       return error_of(::syscall(SYS_readlinkat, AT_FDCWD, p, results.name, PATH_MAX));
     }},
    {"realpath", [](auto p) { return error_of(::realpath(p, results.name)); }},
    {"canonicalize_file_name", [](auto p) { return freed(::canonicalize_file_name(p)); }},
    {"chdir", [](auto p) { return error_of(::chdir(p)); }},
    {"scandir",
     [](auto p) {
       dirent** names = nullptr;
       return error_of(::scandir(p, &names, nullptr, nullptr));
     }},
    {"scandirat",
     [](auto p) {
       dirent** names = nullptr;
       return error_of(::scandirat(AT_FDCWD, p, &names, nullptr, nullptr));
     }},
    {"ftw", [](auto p) { return error_of(::ftw(p, count_file, 4)); }},
    {"nftw", [](auto p) { return error_of(::nftw(p, count_file_at, 4, FTW_PHYS)); }},
};

TEST_CASE("no function finds a file of another device") {
  for (const char* path : kForeignPaths) {
    CAPTURE(std::string(path));
    for (const Lookup& lookup : kLookups) {
      CAPTURE(std::string(lookup.name));
      errno = 0;
      CHECK(lookup.call(path) == ENOENT);
    }
    const std::string_view name = path;
    if (!name.starts_with("/sys/class/infiniband") && !name.starts_with("/dev/infi")) continue;
    // These calls fail as for an ordinary user.
    CHECK(closed(::creat(path, 0600)) == EACCES);
    CHECK(error_of(::mkdir(path, 0700)) == EACCES);
    CHECK(error_of(::unlink(path)) == EACCES);
  }
}

template <typename Next>
Found read_all(DIR* folder, Next next) {
  Found out;
  if (folder == nullptr) return out;
  while (const auto* entry = next(folder)) {
    if (entry->d_name[0] != '.') out.insert(entry->d_name);
  }
  ::closedir(folder);
  return out;
}

template <typename Entry>
Found sorted_names(int count, Entry** names) {
  Found out;
  for (int i = 0; i < count; ++i) {
    if (names[i]->d_name[0] != '.') out.insert(names[i]->d_name);
    std::free(names[i]);
  }
  if (count >= 0) std::free(static_cast<void*>(names));
  return out;
}

Found read_raw(const char* path, long (*read)(int, void*, std::size_t)) {
  Found out;
  const int fd = ::open(path, O_RDONLY | O_DIRECTORY);
  alignas(dirent64) char entries[512];
  for (long size = 1; fd >= 0 && size > 0;) {
    size = read(fd, entries, sizeof entries);
    for (long at = 0; at < size;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(entries + at);
      if (entry->d_name[0] != '.') out.insert(entry->d_name);
      at += entry->d_reclen;
    }
  }
  if (fd >= 0) ::close(fd);
  return out;
}

Found tree_names(const char* path, int options, bool children) {
  Found out;
  std::string root = path;
  std::array<char*, 2> roots{root.data(), nullptr};
  FTS* const tree = ::fts_open(roots.data(), options, nullptr);
  REQUIRE(tree != nullptr);
  while (FTSENT* entry = ::fts_read(tree)) {
    if (children && entry->fts_level == 0 && entry->fts_info == FTS_D) {
      for (FTSENT* one = ::fts_children(tree, 0); one != nullptr; one = one->fts_link) {
        out.insert(one->fts_name);
      }
      break;
    }
    if (entry->fts_level == 1) {
      out.insert(entry->fts_name);
      ::fts_set(tree, entry, FTS_SKIP);
    }
  }
  ::fts_close(tree);
  return out;
}

Found* children_found = nullptr;
int insert_child(const char* path, const struct stat*, int, FTW* level) {
  if (level->level == 1) children_found->insert(path + level->base);
  return 0;
}
Found walked_names(const char* path, int flags) {
  Found out;
  children_found = &out;
  const int back = ::open(".", O_RDONLY | O_DIRECTORY);
  ::nftw(path, insert_child, 8, flags | FTW_PHYS);
  REQUIRE(::fchdir(back) == 0);
  ::close(back);
  return out;
}

/// A way to list the contents of a folder.
struct Lister {
  const char* name;
  Found (*list)(const char* path);
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
const dirent* next_by_readdir_r(DIR* folder) {
  static dirent entry;
  dirent* found = nullptr;
  return ::readdir_r(folder, &entry, &found) == 0 ? found : nullptr;
}
const dirent64* next_by_readdir64_r(DIR* folder) {
  static dirent64 entry;
  dirent64* found = nullptr;
  return ::readdir64_r(folder, &entry, &found) == 0 ? found : nullptr;
}
#pragma GCC diagnostic pop

constexpr Lister kListers[]{
    {"readdir", [](auto p) { return read_all(::opendir(p), ::readdir); }},
    {"readdir64", [](auto p) { return read_all(::opendir(p), ::readdir64); }},
    {"readdir_r", [](auto p) { return read_all(::opendir(p), next_by_readdir_r); }},
    {"readdir64_r", [](auto p) { return read_all(::opendir(p), next_by_readdir64_r); }},
    {"fdopendir, relative",
     [](auto p) {
       const int root = ::open("/", O_RDONLY | O_DIRECTORY);
       const int fd = ::openat(root, p + 1, O_RDONLY | O_DIRECTORY);
       ::close(root);
       return read_all(fd < 0 ? nullptr : ::fdopendir(fd), ::readdir);
     }},
    {"scandir",
     [](auto p) {
       dirent** names = nullptr;
       const int count = ::scandir(p, &names, nullptr, ::alphasort);
       return sorted_names(count, names);
     }},
    {"scandirat64",
     [](auto p) {
       dirent64** names = nullptr;
       const int count = ::scandirat64(AT_FDCWD, p, &names, nullptr, ::versionsort64);
       return sorted_names(count, names);
     }},
    {"glob",
     [](auto p) {
       Found out;
       glob_t found{};
       const std::string start = std::string(p) + "/";
       if (::glob((start + "*").c_str(), 0, nullptr, &found) == 0) {
         for (std::size_t i = 0; i < found.gl_pathc; ++i) {
           out.insert(found.gl_pathv[i] + start.size());
         }
       }
       ::globfree(&found);
       return out;
     }},
    {"getdents64",
     [](auto p) {
       return read_raw(p, [](int fd, void* to, std::size_t size) {
         return static_cast<long>(::getdents64(fd, to, size));
       });
     }},
    {"syscall(SYS_getdents64)",
     [](auto p) {
       return read_raw(p, [](int fd, void* to, std::size_t size) {
         return ::syscall(SYS_getdents64, fd, to, size);
       });
     }},
    {"nftw", [](auto p) { return walked_names(p, 0); }},
    {"nftw, FTW_DEPTH | FTW_CHDIR", [](auto p) { return walked_names(p, FTW_DEPTH | FTW_CHDIR); }},
    {"fts_read", [](auto p) { return tree_names(p, FTS_PHYSICAL, false); }},
    {"fts_read, FTS_NOCHDIR",
     [](auto p) { return tree_names(p, FTS_PHYSICAL | FTS_NOCHDIR, false); }},
    {"fts_children", [](auto p) { return tree_names(p, FTS_PHYSICAL, true); }},
};

TEST_CASE("every function that lists folders lists the simulated device only") {
  for (const Lister& lister : kListers) {
    CAPTURE(std::string(lister.name));
    CHECK(lister.list("/sys/class/infiniband") == Found{"iwarp0"});
    CHECK(lister.list("/sys/class/infiniband_verbs") == Found{"abi_version", "uverbs0"});
    CHECK(lister.list("/dev/infiniband") == Found{"rdma_cm", "uverbs0"});
    CHECK(lister.list("/sys/class/infiniband_mad").empty());
    CHECK(lister.list("/sys/class/net/.").contains("lo"));
  }
}

TEST_CASE("a listing of a folder of the system omits the parts of other devices") {
  const Found hidden{"infiniband", "infiniband_verbs", "infiniband_mad", "infiniband_cm",
                     "231:0",      "231:193"};
  const auto hidden_of = [&](const Found& all) {
    Found out;
    std::ranges::set_intersection(all, hidden, std::inserter(out, out.end()));
    return out;
  };
  const Found classes{"infiniband", "infiniband_verbs"};
  for (const Lister& lister : kListers) {
    CAPTURE(std::string(lister.name));
    // If the system has no RDMA device, its folder has neither class.
    CHECK(std::ranges::includes(classes, hidden_of(lister.list("/sys/class"))));
    CHECK(hidden_of(lister.list("/sys/devices/pci7fff:00/7fff:00:02.0")).empty());
    CHECK(hidden_of(lister.list("/sys/dev/char")).empty());
    CHECK(hidden_of(lister.list("/dev/char")).empty());
    CHECK(lister.list("/sys/kernel/config/rdma_cm").empty());
  }
}

/// Restores the current directory at the end of the scope.
struct Back {
  const int start = ::open(".", O_RDONLY | O_DIRECTORY);
  ~Back() {
    REQUIRE(::fchdir(start) == 0);
    ::close(start);
  }
};

TEST_CASE("relative names find no other device, whatever the working directory") {
  const Back back;
  for (const auto& [folder, path] : std::initializer_list<std::pair<const char*, const char*>>{
           {"/", "sys/class/infiniband/mana_0"},
           {"/sys", "class/infiniband_mad/umad0"},
           {"/sys/class", "infiniband/mana_0"},
           {"/sys/class/net", "../infiniband_verbs/uverbs1"},
           {"/sys/class/infiniband", "mana_0"},
           {"/sys/class/infiniband", "../infiniband_cm"},
           {"/sys/class/infiniband/iwarp0", "../mana_0"},
           {"/sys/dev/char", "231:193"},
           {"/sys/dev", "char/231:0"},
           {"/dev", "infiniband/umad0"},
           {"/dev/infiniband", "umad0"}}) {
    CAPTURE(std::string(folder));
    CAPTURE(std::string(path));
    REQUIRE(::chdir(folder) == 0);
    for (const Lookup& lookup : kLookups) {
      CAPTURE(std::string(lookup.name));
      CHECK(lookup.call(path) == ENOENT);
    }
    const int fd = ::open(folder, O_PATH | O_DIRECTORY);
    REQUIRE(::chdir("/") == 0);
    CHECK(closed(::openat(fd, path, O_RDONLY)) == ENOENT);
    CHECK(error_of(::fstatat(fd, path, &results.status, AT_SYMLINK_NOFOLLOW)) == ENOENT);
    ::close(fd);
  }
}

TEST_CASE("openat2 opens the simulated files, also below a root of its own") {
  const auto open_in = [](int directory, const char* path, std::uint64_t rules) {
    const open_how how{.flags = O_RDONLY, .mode = 0, .resolve = rules};
    return ::syscall(SYS_openat2, directory, path, &how, sizeof how);
  };
  const int sys = ::open("/sys", O_PATH | O_DIRECTORY);
  CHECK(closed(open_in(AT_FDCWD, "/sys/class/infiniband/iwarp0/node_type", 0)) == 0);
  CHECK(closed(open_in(sys, "class/infiniband/iwarp0/node_type", RESOLVE_BENEATH)) == 0);
  CHECK(closed(open_in(sys, "/class/infiniband/iwarp0/node_type", RESOLVE_IN_ROOT)) == 0);
  CHECK(closed(open_in(sys, "/class/infiniband/mana_0/node_type", RESOLVE_IN_ROOT)) == ENOENT);
  CHECK(closed(open_in(sys, "../class/infiniband/iwarp0/node_type", RESOLVE_IN_ROOT)) == 0);
  CHECK(closed(open_in(sys, "/sys/class/infiniband/iwarp0", RESOLVE_BENEATH)) == EXDEV);
  CHECK(closed(open_in(sys, "class/infiniband/iwarp0/node_type", RESOLVE_NO_SYMLINKS)) == ELOOP);
  const int folder = ::open("/sys/class/infiniband", O_PATH | O_DIRECTORY);
  CHECK(closed(open_in(folder, "iwarp0/node_type", RESOLVE_BENEATH)) == EXDEV);
  CHECK(closed(open_in(folder, "../infiniband", RESOLVE_BENEATH)) == EXDEV);
  CHECK(closed(open_in(folder, "../iwarp0", RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS)) == ELOOP);
  ::close(folder);
  CHECK(closed(open_in(AT_FDCWD, "/etc/passwd", RESOLVE_NO_SYMLINKS)) == 0);
  ::close(sys);
}

TEST_CASE("syscall passes other calls to the kernel") {
  CHECK(::syscall(SYS_getpid) == ::getpid());
  CHECK(::syscall(SYS_close, -1) == -1);
  CHECK(errno == EBADF);
  CHECK(::syscall(SYS_statx, AT_FDCWD, nullptr, 0, STATX_TYPE, &results.extended) == -1);
  CHECK(errno == EFAULT);
}

}  // namespace
