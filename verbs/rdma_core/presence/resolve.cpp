// SPDX-License-Identifier: Apache-2.0
// Resolves a path component by component, as the kernel does, and sees whether a component is a
// simulated folder. Follows at most kMaxLinks symbolic links.
#include "presence/resolve.hpp"

#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <optional>
#include <string_view>
#include <vector>

#include "presence/folder.hpp"
#include "presence/inside.hpp"
#include "presence/tree.hpp"

namespace iwarp::rdma_core::presence {
namespace {

constexpr int kMaxLinks = 40;  // maximum number of symbolic links in one path, as in the kernel

std::optional<std::string> link_text(const std::string& path) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = ::readlink(path.c_str(), text.data(), text.size());
  if (size < 0) return std::nullopt;
  return std::string(text.data(), static_cast<std::size_t>(size));
}

/// Returns the real path of the folder at which relative paths start, or nullopt if it cannot be
/// determined.
std::optional<std::string> start_of(int directory) {
  if (directory != AT_FDCWD) return link_text("/proc/self/fd/" + std::to_string(directory));
  std::array<char, PATH_MAX> cwd{};
  if (::getcwd(cwd.data(), cwd.size()) == nullptr) return std::nullopt;
  return cwd.data();
}

/// Appends the components of the path in reverse order, so that the last element is the next
/// component to resolve.
void push(std::vector<std::string>& to, std::string_view path) {
  const auto before = static_cast<std::ptrdiff_t>(to.size());
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (end > at) to.emplace_back(path.substr(at, end - at));
    at = end + 1;
  }
  std::reverse(to.begin() + before, to.end());
}

std::string real_name(const std::string& name) { return is_rdma(name) ? folder() + name : name; }

bool exists(const std::string& path) {
  struct stat about{};
  return ::lstat(path.c_str(), &about) == 0;
}

class Walk {
 public:
  /// `start` is the folder at which the path starts, without links and without a slash at the end.
  Walk(std::string start, std::string_view path, bool follow, std::uint64_t rules)
      : at_(std::move(start)),
        root_((rules & (RESOLVE_BENEATH | RESOLVE_IN_ROOT)) != 0 ? at_ : ""),
        follow_(follow || path.ends_with('/')),
        rules_(rules),
        is_synthetic_(is_rdma(at_)) {
    push(todo_, path);
  }

  /// Resolves the path. Returns whether the path leads through a simulated folder.
  bool go() {
    while (!todo_.empty() && error == 0) {
      const std::string part = std::move(todo_.back());
      todo_.pop_back();
      if (part == ".." && at_ == root_) {
        leave_root();
      } else if (part == "..") {
        at_.resize(at_.rfind('/'));
      } else if (part != "." && !step(at_ + "/" + part)) {
        break;
      }
    }
    return is_synthetic_;
  }

  std::string name() const { return at_.empty() ? "/" : at_; }
  /// Returns the components that were not resolved, because an earlier component does not exist or
  /// is not a folder.
  std::string rest() const {
    std::string out;
    for (auto part = todo_.rbegin(); part != todo_.rend(); ++part) out += "/" + *part;
    return out;
  }

  int error = 0;  ///< the errno with which the kernel enforces `rules`

 private:
  bool step(const std::string& next) {
    is_synthetic_ = is_synthetic_ || is_rdma(next);
    const bool last = todo_.empty();
    if (last && !follow_) {
      at_ = next;
      return true;
    }
    const std::string real = real_name(next);
    if (const auto target = link_text(real)) {
      if (++links_ > kMaxLinks) return fail(next);
      if ((rules_ & RESOLVE_NO_SYMLINKS) != 0) error = ELOOP;
      if (target->starts_with('/')) leave_root();
      push(todo_, *target);
      return true;
    }
    const bool is_there = errno == EINVAL || (errno == ENOENT && leads_to_region(next));
    if (!is_there && !last) return fail(next);
    at_ = next;
    return true;
  }

  /// Goes to the root, or fails if the path must stay beneath it.
  void leave_root() {
    at_ = root_;
    if ((rules_ & RESOLVE_BENEATH) != 0 && error == 0) error = EXDEV;
  }

  /// Stops at `next`, where the kernel will also stop and report the error.
  bool fail(const std::string& next) {
    at_ = next;
    return false;
  }

  std::vector<std::string> todo_;
  std::string at_;  ///< the current location, as the program names it; empty for the root
  const std::string root_;
  const bool follow_;
  const std::uint64_t rules_;
  int links_ = 0;
  bool is_synthetic_;
};

/// Returns an empty place if the path leads through no simulated folder. For `start`, see Walk.
ResolvedPath place_of(const std::string& start, std::string_view path, bool follow,
                      std::uint64_t rules) {
  Walk walk(start, path, follow, rules);
  if (!walk.go()) return {};
  const std::string name = walk.name();
  if (is_rdma(name) && folder().empty()) return {};
  ResolvedPath out;
  out.name = name;
  out.synthetic = is_rdma(name);
  out.path = real_name(name) + walk.rest();
  out.error = walk.error;
  if (path.ends_with('/') && out.path.size() > 1) out.path += '/';
  return out;
}

}  // namespace

ResolvedPath resolve(int directory, const char* path, bool follow, std::uint64_t rules) {
  if (path == nullptr || *path == '\0' || Inside::now()) return {};
  const bool absolute = *path == '/';
  const bool named = may_lead_to_rdma(path);
  if (!named && (absolute || !folder_matters())) return {};
  const Inside guard;
  std::string start;
  if (!absolute) {
    const auto real = start_of(directory);
    if (!real || !real->starts_with('/')) return {};  // not a folder
    const auto outside = outside_name(*real);
    if (!outside && !is_rdma(*real) && !named) return {};
    start = outside.value_or(*real);
    if (start == "/") start.clear();
  }
  ResolvedPath out = place_of(start, path, follow, rules);
  const std::string_view all = path;
  if (follow || out.synthetic || !is_device_number(all.substr(all.rfind('/') + 1))) return out;
  // A link whose target is a device of the system must be hidden, too.
  ResolvedPath target = place_of(start, path, true, rules);
  if (target.synthetic && !exists(target.path)) return target;
  return out;
}

bool is_hidden(int directory, const char* path) {
  if (!may_lead_to_rdma(path)) return false;
  const ResolvedPath place = resolve(directory, path, false);
  const Inside guard;
  return place.synthetic && !exists(place.path);
}

ResolvedPath resolve_opened(int descriptor) {
  if (descriptor < 0 || Inside::now() || !folder_matters()) return {};
  const Inside guard;
  const auto start = start_of(descriptor);
  if (!start) return {};
  ResolvedPath out;
  out.name = outside_name(*start).value_or("");
  out.synthetic = is_region(out.name);
  return out;
}

std::string synthetic_name(const char* real) {
  const Inside guard;
  return outside_name(real).value_or(real);
}

}  // namespace iwarp::rdma_core::presence
