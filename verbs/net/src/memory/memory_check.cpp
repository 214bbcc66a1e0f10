// SPDX-License-Identifier: Apache-2.0
// is_mapped(): looks up the range in /proc/self/maps, which shows the access rights without an
// access to the memory. If /proc is not mounted, msync(2) at least reports whether all pages exist.
#include "memory/memory_check.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <memory>

namespace iwarp::net {
namespace {

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

bool pages_exist(std::span<const std::byte> octets) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto into = reinterpret_cast<std::uintptr_t>(octets.data()) % page;
  // msync(2) requires a page-aligned address. With MS_ASYNC it changes nothing.
  auto* first = const_cast<std::byte*>(octets.data() - into);
  return ::msync(first, octets.size() + into, MS_ASYNC) == 0;
}

}  // namespace

bool is_mapped(std::span<const std::byte> octets, bool writable) {
  const auto begin = reinterpret_cast<std::uintptr_t>(octets.data());
  const auto end = begin + octets.size();
  if (octets.empty() || end < begin) return false;
  const std::unique_ptr<std::FILE, Closer> maps(std::fopen("/proc/self/maps", "re"));
  if (maps == nullptr) return pages_exist(octets);
  auto next = begin;  // the octets before this address are known to be accessible
  char* line = nullptr;
  std::size_t capacity = 0;
  while (next < end && ::getline(&line, &capacity, maps.get()) > 0) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    char rights[5] = {};
    if (std::sscanf(line, "%zx-%zx %4s", &from, &to, rights) != 3) continue;
    if (to <= next) continue;
    if (from > next || rights[0] != 'r' || (writable && rights[1] != 'w')) break;
    next = to;  // Mappings are listed in ascending order.
  }
  std::free(line);
  return next >= end;
}

}  // namespace iwarp::net
