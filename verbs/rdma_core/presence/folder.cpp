// SPDX-License-Identifier: Apache-2.0
// Finds or makes the folder of this process, with a shared lock, and removes it when no process
// holds that lock. Never touches a folder of another user.
#include "presence/folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <vector>

#include "presence/inside.hpp"
#include "presence/tree.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core::presence {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "/iwarp-";
constexpr std::size_t kStateSize = 16;
// Stands for the folder if it cannot be made. Nothing can exist below this path.
constexpr std::string_view kNowhere = "/proc/self/iwarp";
// The lowest number for the descriptor of the folder. It is high because some programs expect to
// get the lowest free descriptors themselves.
constexpr int kLowestDescriptor = 200;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// Returns the real paths of the directories in which the folder may be.
const std::vector<std::string>& bases() {
  static const auto& kBases = *new std::vector<std::string>([] {
    const Inside guard;
    std::vector<std::string> out;
    const char* const chosen = ::secure_getenv("TMPDIR");
    for (const char* base : {chosen, "/dev/shm", "/tmp"}) {
      std::array<char, PATH_MAX> real{};
      if (base != nullptr && ::realpath(base, real.data()) != nullptr)
        out.emplace_back(real.data());
    }
    return out;
  }());
  return kBases;
}

/// Returns whether `name`, the part of a file name after "iwarp-", has the form UID-STATE, possibly
/// with a suffix that make() or remove_if_free() has appended. Other files whose names begin with
/// "iwarp-" do not belong to this library.
bool is_folder_name(std::string_view name) {
  const auto dash = std::min(name.find_first_not_of("0123456789"), name.size());
  if (dash == 0 || !name.substr(dash).starts_with('-')) return false;
  const auto state = name.substr(dash + 1);
  return state.size() >= kStateSize &&
         state.substr(0, kStateSize).find_first_not_of("0123456789abcdef") == state.npos &&
         (state.size() == kStateSize || state[kStateSize] == '.');
}

/// Returns the FNV-1a digest of all entries.
std::string digest(const std::vector<Entry>& all) {
  std::uint64_t hash = 0xCBF29CE484222325;
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
    hash = (hash ^ 0xFF) * 0x100000001B3;
  };
  for (const Entry& entry : all) {
    add(entry.path);
    add(entry.text);
  }
  return fmt::format("{:016x}", hash);
}

bool is_same(int fd, const std::string& path) {
  struct stat a{};
  struct stat b{};
  return ::fstat(fd, &a) == 0 && ::lstat(path.c_str(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

/// Returns whether the folder belongs to this user, and no other user can write into it.
bool is_own(int fd) {
  struct stat about{};
  return ::fstat(fd, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == ::geteuid() &&
         (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Opens and locks the folder. Returns a descriptor that holds a shared lock on the folder, or -1
/// if this user has no such folder.
int hold(const std::string& path) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.get() < 0 || !is_own(fd.get()) || ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0) return -1;
  return is_same(fd.get(), path) ? fd.release() : -1;
}

void remove_tree(const std::string& path) {
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(path, ignored)) {
    if (entry.is_directory(ignored) && !entry.is_symlink(ignored)) {
      ::chmod(entry.path().c_str(), S_IRWXU);
    }
  }
  fs::remove_all(path, ignored);
}

/// Removes the folder, unless a process holds a lock on it. Renames the folder first, so that no
/// process uses a partly removed folder.
void remove_if_free(const std::string& path, int fd) {
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 || !is_same(fd, path)) return;
  const std::string gone = path + ".gone" + std::to_string(::getpid());
  if (::rename(path.c_str(), gone.c_str()) == 0) remove_tree(gone);
}

void sweep(const std::string& base, const std::string& but) {
  std::error_code error;
  const std::string prefix = base + std::string(kPrefix);
  for (const auto& entry : fs::directory_iterator(base, error)) {
    const std::string path = entry.path();
    if (!path.starts_with(prefix) || path == but) continue;
    if (!is_folder_name(std::string_view(path).substr(prefix.size()))) continue;
    const Descriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd.get() >= 0 && is_own(fd.get())) remove_if_free(path, fd.get());
  }
}

void write_text(const std::string& path, const std::string& text) {
  const Descriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
  if (fd.get() >= 0 && ::write(fd.get(), text.data(), text.size()) < 0) return;
}

/// Makes a device node, or a regular file if making a node is not permitted. The node has the
/// number 0:0, which requires no privileges since Linux 5.8. Neither the node nor the file is ever
/// opened for I/O.
void make_device(const std::string& path) {
  if (::mknod(path.c_str(), S_IFCHR | 0666, makedev(0, 0)) != 0) write_text(path, "");
  ::chmod(path.c_str(), 0666);
}

void fill(const std::string& root, const std::vector<Entry>& all) {
  std::error_code ignored;
  for (const Entry& entry : all) {
    const std::string path = root + entry.path;
    fs::create_directories(fs::path(path).parent_path(), ignored);
    switch (entry.kind) {
      case EntryType::kFolder:
        fs::create_directory(path, ignored);
        break;
      case EntryType::kText:
        write_text(path, entry.text);
        break;
      case EntryType::kLink:
        fs::create_symlink(entry.text, path, ignored);
        break;
      case EntryType::kDevice:
        make_device(path);
        break;
    }
  }
  for (const Entry& entry : all) {
    if (entry.kind == EntryType::kFolder) ::chmod((root + entry.path).c_str(), 0555);
  }
}

/// Makes the folder under a temporary name, and then renames it, so that other processes only find
/// a complete folder. Returns a descriptor of the folder, or -1 if the folder cannot be made.
int make(const std::string& path, const std::vector<Entry>& all) {
  std::string fresh = path + ".XXXXXX";
  if (::mkdtemp(fresh.data()) == nullptr) return -1;
  ::chmod(fresh.c_str(), 0755);
  Descriptor fd(::open(fresh.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 || ::flock(fd.get(), LOCK_SH) != 0) return -1;
  // Fails if another process has removed the folder before this process locked it.
  if (!is_same(fd.get(), fresh)) return -1;
  fill(fresh, all);
  if (::rename(fresh.c_str(), path.c_str()) == 0) return fd.release();
  remove_tree(fresh);  // another process has made `path` in the meantime
  return -1;
}

struct Held {
  std::string path;
  int fd = -1;
};

Held acquire() {
  // The number of attempts. An attempt can fail, because other processes may remove or make the
  // folder at the same time.
  constexpr int kAttempts = 16;
  const Settings settings = settings_now();
  if (!settings.presence) return {};
  const auto all = entries(device_specs(settings));
  const std::string state = digest(all);
  for (const std::string& base : bases()) {
    const std::string path =
        base + std::string(kPrefix).append(std::to_string(::geteuid())).append("-").append(state);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      int fd = hold(path);
      if (fd < 0) {
        if (::access(base.c_str(), W_OK) != 0) break;
        sweep(base, path);
        fd = make(path, all);
      }
      if (fd < 0) continue;
      const int high = ::fcntl(fd, F_DUPFD_CLOEXEC, kLowestDescriptor);
      if (high >= 0) ::close(fd);
      return {path, high >= 0 ? high : fd};
    }
  }
  return {std::string(kNowhere)};
}

std::mutex making;
std::atomic<const Held*> held{nullptr};

/// Returns whether the working directory is in a simulated folder. If it is, exec must not remove
/// the folder, because the new program would have no working directory.
bool works_inside() {
  std::array<char, PATH_MAX> cwd{};
  return ::getcwd(cwd.data(), cwd.size()) != nullptr && outside_name(cwd.data());
}

/// Returns whether the process was started in a simulated folder, or in a folder of the system that
/// a simulated folder hides.
bool started_inside() {
  static const bool kInside = [] {
    const Inside guard;
    std::array<char, PATH_MAX> cwd{};
    return works_inside() || (::getcwd(cwd.data(), cwd.size()) != nullptr && is_rdma(cwd.data()));
  }();
  return kInside;
}

[[gnu::destructor]] void at_exit() { give_back(End::kProcess); }

}  // namespace

const std::string& folder() {
  const Inside guard;
  const auto is_usable = [](const Held* it) {
    return it != nullptr && (it->fd < 0 || is_same(it->fd, it->path));
  };
  const Held* mine = held.load(std::memory_order_acquire);
  if (is_usable(mine)) return mine->path;
  const std::lock_guard lock(making);
  mine = held.load();
  if (!is_usable(mine)) {
    mine = new Held(acquire());
    held.store(mine, std::memory_order_release);
  }
  return mine->path;
}

// The child of a fork shares the lock with its parent, and the lock is released when both have
// closed the descriptor. The child of a vfork also shares the memory of its parent, so this
// function must not change `held`.
void give_back(End end) {
  const Held* const mine = held.load();
  if (mine == nullptr || mine->fd < 0) return;
  const Inside guard;
  // Does nothing if the program has closed the descriptor and reused its number.
  if (!is_same(mine->fd, mine->path)) return;
  if (end == End::kProgram && works_inside()) return;
  const Descriptor fd(::open(mine->path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  ::close(mine->fd);
  if (fd.get() >= 0) remove_if_free(mine->path, fd.get());
}

bool folder_matters() {
  return held.load(std::memory_order_relaxed) != nullptr || (started_inside() && !folder().empty());
}

std::optional<std::string> outside_name(std::string_view real) {
  for (const std::string& base : bases()) {
    const std::string prefix = base + std::string(kPrefix);
    if (!real.starts_with(prefix)) continue;
    const auto rest = real.find('/', prefix.size());
    if (!is_folder_name(real.substr(prefix.size(), rest - prefix.size()))) continue;
    if (rest == std::string_view::npos) return "/";
    const std::string_view name = real.substr(rest);
    if (name == "/sys" || name == "/dev" || name.starts_with("/sys/") ||
        name.starts_with("/dev/")) {
      return std::string(name);
    }
  }
  return std::nullopt;
}

}  // namespace iwarp::rdma_core::presence
