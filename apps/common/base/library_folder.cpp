// SPDX-License-Identifier: Apache-2.0
// library_folder(): uses IWARP_LIB_DIR if it is set, and otherwise lib/iwarp of the build or
// installation to which the program belongs.
#include "common/base/library_folder.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "common/base/error.hpp"

namespace iwarp::apps {

namespace fs = std::filesystem;

namespace {

/// Returns whether `folder` contains all libraries that are preloaded.
bool holds_libraries(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kVerbsLibrary, ignored) && fs::exists(folder / kCmLibrary, ignored) &&
         fs::exists(folder / kPresenceLibrary, ignored);
}

}  // namespace

fs::path library_folder() {
  if (const char* chosen = std::getenv("IWARP_LIB_DIR"); chosen != nullptr && *chosen != '\0') {
    if (holds_libraries(chosen)) return fs::absolute(chosen);
    throw Error(fmt::format(
        "IWARP_LIB_DIR={}: not a folder with {}, {} and the other libraries of this stack (set "
        "IWARP_LIB_DIR to the folder lib/iwarp of a build or an installation)",
        chosen, kVerbsLibrary, kCmLibrary));
  }
  const fs::path prefix = own_path().parent_path().parent_path();
  for (const fs::path& folder : {prefix / "lib" / "iwarp", prefix / IWARP_LIBDIR / "iwarp"}) {
    if (holds_libraries(folder)) return folder;
  }
  throw Error(
      fmt::format("{} and {} are not in {} (install libibverbs-dev and librdmacm-dev and build "
                  "again, or set IWARP_LIB_DIR)",
                  kVerbsLibrary, kCmLibrary, (prefix / "lib" / "iwarp").string()));
}

fs::path own_path() { return fs::read_symlink("/proc/self/exe"); }

}  // namespace iwarp::apps
