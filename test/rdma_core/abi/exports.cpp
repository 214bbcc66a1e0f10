// SPDX-License-Identifier: Apache-2.0
// Looks up functions and objects of rdma-core by name as a program does. Run with this project's
// libraries preloaded.
//   abi_exports resolve LIBRARY < TABLE   checks that LIBRARY has each "NAME NODE HOW" of the table
//   abi_exports call NAME@NODE...         calls twice; prints "NAME@NODE RESULT ERRNO" each time
//   abi_exports read NAME@NODE...         prints "NAME@NODE OCTET" of each object
#include <dlfcn.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>

namespace {

struct Entry {
  std::string name;
  std::string node;
  std::string how;
};

/// Returns the path of the file that contains `symbol`.
std::string home_of(const void* symbol) {
  Dl_info info{};
  return dladdr(symbol, &info) != 0 ? info.dli_fname : "nowhere";
}

bool resolves(const Entry& entry, const std::filesystem::path& library) {
  // Some libraries, such as NCCL, look up libibverbs by name with dlopen(). Other libraries use the
  // default scope.
  const char* soname = entry.node.starts_with("RDMACM") ? "librdmacm.so.1" : "libibverbs.so.1";
  void* const handle = dlopen(soname, RTLD_NOW | RTLD_NOLOAD);
  bool good = handle != nullptr;
  for (void* const scope : {RTLD_DEFAULT, handle}) {
    const void* symbol = dlvsym(scope, entry.name.c_str(), entry.node.c_str());
    const std::string home = symbol != nullptr ? home_of(symbol) : "nowhere";
    std::error_code error;
    if (std::filesystem::equivalent(home, library, error)) continue;
    std::cout << entry.name << '@' << entry.node << " (" << entry.how << ") is in " << home
              << ", by " << (scope == RTLD_DEFAULT ? "default" : soname) << '\n';
    good = false;
  }
  return good;
}

int resolve(const char* library) {
  int bad = 0;
  int all = 0;
  for (Entry entry; std::cin >> entry.name >> entry.node >> entry.how; ++all) {
    if (!resolves(entry, library)) ++bad;
  }
  std::cout << all << " names, " << bad << " missing\n";
  return bad == 0 && all > 0 ? 0 : 1;
}

/// Looks up NAME@NODE like a program that was linked to the release with that version node.
void* find(std::string_view versioned) {
  const auto at = versioned.find('@');
  if (at == std::string_view::npos) return nullptr;
  const std::string name(versioned.substr(0, at));
  const std::string node(versioned.substr(at + 1));
  return dlvsym(RTLD_DEFAULT, name.c_str(), node.c_str());
}

int call(const char* name) {
  void* const symbol = find(name);
  if (symbol == nullptr) return 1;
  // A refused function reads none of its arguments, and returns an int, a long or a pointer. Every
  // such function can be called through this type.
  const auto function = reinterpret_cast<long (*)(long, long, long, long, long, long)>(symbol);
  for (int i = 0; i < 2; ++i) {
    errno = 0;
    const long result = function(0, 0, 0, 0, 0, 0);
    std::printf("%s %ld %d\n", name, result, errno);
  }
  return 0;
}

int read(const char* name) {
  const auto* const octet = static_cast<const unsigned char*>(find(name));
  if (octet == nullptr) return 1;
  std::printf("%s %d\n", name, *octet);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "resolve" && argc == 3) return resolve(argv[2]);
  if (what != "call" && what != "read") return 2;
  int status = 0;
  for (int i = 2; i < argc && status == 0; ++i) {
    status = what == "call" ? call(argv[i]) : read(argv[i]);
  }
  return status;
}
