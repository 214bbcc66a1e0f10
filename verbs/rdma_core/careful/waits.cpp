// SPDX-License-Identifier: Apache-2.0
// Finds out which descriptors an epoll instance contains. The kernel lists them in /proc.
#include "careful/waits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace iwarp::rdma_core::careful {
namespace {

constexpr int kMostNested = 4;  // the kernel nests epoll instances at most this deep

/// Returns the descriptors in the epoll instance, or none if `fd` is another file.
std::vector<int> members_of(int epoll) {
  std::vector<int> out;
  std::ifstream file(fmt::format("/proc/self/fdinfo/{}", epoll));
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    int fd = -1;
    if (words >> name >> fd && name == "tfd:") out.push_back(fd);
  }
  return out;
}

bool leads_to(int from, int fd, int depth) {
  if (from == fd) return true;
  return depth != 0 && std::ranges::any_of(members_of(from), [&](int member) {
           return leads_to(member, fd, depth - 1);
         });
}

}  // namespace

bool is_awaited(const Wait& wait, int fd) {
  const auto leads = [fd](int from) { return from >= 0 && leads_to(from, fd, kMostNested); };
  if (leads(wait.epoll)) return true;
  if (std::ranges::any_of(wait.polled, leads, &pollfd::fd)) return true;
  for (int i = 0; wait.selected != nullptr && i < wait.selected_end; ++i) {
    if (FD_ISSET(i, wait.selected) && leads(i)) return true;
  }
  return false;
}

}  // namespace iwarp::rdma_core::careful
