// SPDX-License-Identifier: Apache-2.0
// Replaces bind(2). With InfiniBand and RoCE, a program may use one number for an RDMA port and for
// a TCP port. In iWARP an RDMA port is a TCP port, so bind() fails. This file then says why, and
// which option helps.
#include <dlfcn.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "presence/inside.hpp"
#include "presence/warn.hpp"
#include "process/next.hpp"
#include "process/used_ports.hpp"

namespace iwarp::rdma_core::presence {
namespace {

// For each port, whether an id of this process was bound to it.
std::array<std::atomic<bool>, 65536> used_by_rdma{};

std::uint16_t port_of(const sockaddr* address, socklen_t size) {
  sockaddr_in6 in{};  // the port has the same place in a sockaddr_in
  std::memcpy(&in, address, std::min<std::size_t>(size, sizeof in));
  const bool is_ip = in.sin6_family == AF_INET || in.sin6_family == AF_INET6;
  return is_ip ? ntohs(in.sin6_port) : std::uint16_t{0};
}

bool is_stream(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

/// Returns whether the caller is the libibverbs.so.1 of this project, which may try several ports.
bool is_own_library(const void* caller) {
  Dl_info about{};
  Dl_info own{};
  if (::dladdr(caller, &about) == 0 || ::dladdr(&used_by_rdma, &own) == 0) return false;
  const auto folder = [](std::string_view path) { return path.substr(0, path.rfind('/')); };
  return folder(about.dli_fname) == folder(own.dli_fname);
}

}  // namespace
}  // namespace iwarp::rdma_core::presence

// NOLINTNEXTLINE(google-build-using-namespace): the rest of this file is the C interface.
using namespace iwarp::rdma_core::presence;

extern "C" {

void iwarp_used_port(std::uint16_t tcp_port) { used_by_rdma[tcp_port] = true; }

int bind(int fd, const sockaddr* address, socklen_t size) noexcept {
  const int result = iwarp::rdma_core::call_next<"bind", int>(fd, address, size);
  if (result == 0 || errno != EADDRINUSE) return result;
  const Inside guard;  // restores errno
  const std::uint16_t port = port_of(address, size);
  if (used_by_rdma[port] && is_stream(fd) && !is_own_library(__builtin_return_address(0))) {
    or_no_memory([port] {
      warn("port_in_use",
           fmt::format("bind: TCP port {} is in use: this program uses it as an RDMA port, and "
                       "every RDMA port of iWARP is a TCP port (run both ends with --port-offset "
                       "1000)",
                       port));
    });
  }
  return result;
}

}  // extern "C"
