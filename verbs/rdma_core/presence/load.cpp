// SPDX-License-Identifier: Apache-2.0
// Replaces dlopen(3) and dlmopen(3). Programs open libibverbs by names other than libibverbs.so.1,
// for example libibverbs.so, or by the path of a copy that a Python wheel contains. The loader
// would map that file beside the preloaded library, and the program would find no device in it. So
// every such name opens the library of this project. A plugin may also be linked to a copy that the
// loader prefers to the preloaded library. This file cannot prevent that, and reports it.
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <string_view>

#include "presence/inside.hpp"
#include "presence/warn.hpp"
#include "process/next.hpp"

namespace iwarp::rdma_core::presence {
namespace {

// The functions are noexcept because a noexcept function can jump only to such a function.
constexpr auto next_dlopen = next_function<"dlopen", void*(const char*, int) noexcept>;
constexpr auto next_dlmopen = next_function<"dlmopen", void*(Lmid_t, const char*, int) noexcept>;

/// Returns the folder that contains this library, libibverbs.so.1 and librdmacm.so.1.
std::string own_folder() {
  Dl_info about{};
  if (::dladdr(reinterpret_cast<void*>(&own_folder), &about) == 0) return ".";
  const std::string_view path = about.dli_fname;
  return std::string(path.substr(0, path.rfind('/')));
}

const std::string& folder_of_libraries() {
  static const auto& kFolder = *new std::string(own_folder());
  return kFolder;
}

/// Returns whether a file name that begins with the library's name ends in ".so" or in ".so.1" and
/// the rest of a version. Tools that make Python wheels insert "-" and a digest before ".so".
bool is_name_of(std::string_view library, std::string_view file) {
  if (!file.starts_with(library)) return false;
  file.remove_prefix(library.size());
  if (file.starts_with('-')) file.remove_prefix(std::min(file.find('.'), file.size()));
  return file == ".so" || file == ".so.1" || file.starts_with(".so.1.");
}

/// Returns the path of the library that opens instead of `path`, or null if it is another library.
const char* library_for(std::string_view path) {
  static const auto& kVerbs = *new std::string(folder_of_libraries() + "/libibverbs.so.1");
  static const auto& kCm = *new std::string(folder_of_libraries() + "/librdmacm.so.1");
  const std::string_view file = path.substr(path.rfind('/') + 1);
  if (is_name_of("libibverbs", file)) return kVerbs.c_str();
  return is_name_of("librdmacm", file) ? kCm.c_str() : nullptr;
}

[[gnu::noinline]] const char* replaced(const char* path) {
  // If memory runs out, the loader will fail, too.
  const char* const ours =
      path != nullptr ? or_no_memory([path] { return library_for(path); }) : nullptr;
  return ours != nullptr ? ours : path;
}

/// Returns whether the loader finds the same file for every caller. Without a slash, it also looks
/// in the RPATH and the RUNPATH of the caller, and $ORIGIN is the caller's folder.
bool is_same_for_all(const char* path) {
  return path != nullptr && std::strchr(path, '/') != nullptr && std::strchr(path, '$') == nullptr;
}

/// Prints one line if the library of `handle`, or a library that was loaded for it, is a copy of
/// libibverbs or librdmacm that is not this project's. Prints only one line per process.
void report_copy(const char* function, const char* path, void* handle, const std::string& remedy) {
  static std::atomic<bool> reported{false};
  link_map* map = nullptr;
  if (handle == nullptr || ::dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return;
  // The loader appends the libraries that it loads for another one to the list.
  for (; map != nullptr; map = map->l_next) {
    const char* const ours = library_for(map->l_name);
    if (ours == nullptr || std::string_view(map->l_name) == ours) continue;
    if (reported.exchange(true)) return;
    warn("other_library",
         fmt::format(
             "{}: {} finds no device, because it loads {} instead of this stack's library ({})",
             function, path, map->l_name, remedy));
    return;
  }
}

[[gnu::noinline]] void* open_deep(const char* path, int flags) {
  void* const handle = next_dlopen()(path, flags);
  or_no_memory(
      [&] { report_copy("dlopen", path, handle, "open the library without RTLD_DEEPBIND"); });
  return handle;
}

[[gnu::noinline]] void* open_in_namespace(Lmid_t space, const char* path, int flags) {
  void* const handle = next_dlmopen()(space, path, flags);
  if (space != LM_ID_BASE) {
    or_no_memory([&] {
      report_copy("dlmopen", path, handle, "set LD_LIBRARY_PATH=" + folder_of_libraries());
    });
  }
  return handle;
}

}  // namespace
}  // namespace iwarp::rdma_core::presence

// NOLINTNEXTLINE(google-build-using-namespace): the rest of this file is the C interface.
using namespace iwarp::rdma_core::presence;

extern "C" {

// The C library takes the return address for the address of the caller. So where the caller
// matters, these functions end in a jump to the function of the C library.

void* dlopen(const char* path, int flags) noexcept {
  path = replaced(path);
  if ((flags & RTLD_DEEPBIND) != 0 && is_same_for_all(path)) return open_deep(path, flags);
  return next_dlopen()(path, flags);
}

void* dlmopen(Lmid_t space, const char* path, int flags) noexcept {
  path = replaced(path);
  if (is_same_for_all(path)) return open_in_namespace(space, path, flags);
  return next_dlmopen()(space, path, flags);
}

}  // extern "C"
