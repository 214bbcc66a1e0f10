// SPDX-License-Identifier: Apache-2.0
// Functions of class RSocket for options and addresses. As in the original rsockets, an unknown
// option fails with ENOTSUP.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/rsocket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "rsockets/streams/rsocket.hpp"

namespace iwarp::rdma_core::rsockets {
namespace {

/// A numeric option that has no effect, and is only stored so that rgetsockopt() can return it.
struct Kept {
  int level;
  int name;
  int Options::* number;
};

constexpr std::array kKept{
    Kept{SOL_SOCKET, SO_KEEPALIVE, &Options::keep_alive},
    Kept{SOL_SOCKET, SO_OOBINLINE, &Options::out_of_band_inline},
    Kept{SOL_SOCKET, SO_REUSEADDR, &Options::reuse_address},
    Kept{IPPROTO_TCP, TCP_NODELAY, &Options::no_delay},
    Kept{IPPROTO_TCP, TCP_KEEPIDLE, &Options::keep_alive_seconds},
    Kept{IPPROTO_IP, IP_TOS, &Options::type_of_service},
    Kept{IPPROTO_IPV6, IPV6_V6ONLY, &Options::v6_only},
};

/// Options for TCP itself or for devices, which are accepted and ignored.
constexpr std::array<std::pair<int, int>, 4> kIgnored{{{IPPROTO_TCP, TCP_KEEPCNT},
                                                       {IPPROTO_TCP, TCP_KEEPINTVL},
                                                       {IPPROTO_TCP, TCP_MAXSEG},
                                                       {IPPROTO_TCP, TCP_CONGESTION}}};

const Kept* kept(int level, int name) {
  const auto it = std::ranges::find_if(
      kKept, [=](const Kept& option) { return option.level == level && option.name == name; });
  return it != kKept.end() ? &*it : nullptr;
}

}  // namespace

int RSocket::local_address(sockaddr* out, socklen_t* length) {
  const Lock lock(mutex_);
  if (closed_) return EBADF;
  copy_address(reinterpret_cast<const sockaddr&>(own_address_), out, length);
  return 0;
}

void RSocket::note_address() { own_address_ = id_->route.addr.src_storage; }

int RSocket::peer_address(sockaddr* out, socklen_t* length) {
  const Lock lock(mutex_);
  if (closed_) return EBADF;
  copy_address(*rdma_get_peer_addr(id_), out, length);
  return 0;
}

// [RCM-376, RCM-377, RCM-378]
int RSocket::set_own_option(int level, int name, const void* value, socklen_t length,
                            std::optional<int> number) {
  if (level == SOL_SOCKET && name == SO_LINGER) {
    options_.linger_is_set = read_value(options_.linger_for, value, length);
    return options_.linger_is_set ? 0 : EINVAL;
  }
  if (std::ranges::find(kIgnored, std::pair(level, name)) != kIgnored.end()) return 0;
  if (!number) return EINVAL;
  if (level == SOL_SOCKET && (name == SO_RCVBUF || name == SO_SNDBUF)) return 0;
  const Kept* const option = kept(level, name);
  if (option == nullptr) return ENOTSUP;
  if (option->number == &Options::keep_alive_seconds && *number <= 0) return EINVAL;
  if (option->number == &Options::v6_only &&
      rdma_set_option(id_, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &*number, sizeof *number) != 0) {
    return errno;
  }
  options_.*option->number = *number;
  const bool about_keeping_alive =
      option->number == &Options::keep_alive || option->number == &Options::keep_alive_seconds;
  if (about_keeping_alive) next_keepalive_ = {};
  return 0;
}

int RSocket::get_own_option(int level, int name, void* value, socklen_t* length) {
  if (const Kept* const option = kept(level, name)) {
    return write_value(options_.*option->number, value, length);
  }
  const auto number = [&](int what) { return write_value(what, value, length); };
  if (std::ranges::find(kIgnored, std::pair(level, name)) != kIgnored.end()) {
    constexpr int kSegment = 2048;
    return number(name == TCP_MAXSEG ? kSegment : 1);
  }
  if (level == IPPROTO_TCP && name == TCP_INFO) {
    tcp_info info{};
    info.tcpi_state = is_connected() ? TCP_ESTABLISHED : TCP_CLOSE;
    info.tcpi_snd_cwnd = options_.sizes.send_requests;
    return write_value(info, value, length);
  }
  if (level != SOL_SOCKET) return ENOTSUP;
  switch (name) {
    case SO_ERROR:
      return number(std::exchange(options_.error, 0));
    case SO_LINGER:
      return write_value(options_.linger_for, value, length);
    case SO_TYPE:
      return number(SOCK_STREAM);
    case SO_DOMAIN:
      return number(options_.family);
    case SO_PROTOCOL:
      return number(IPPROTO_TCP);
    case SO_ACCEPTCONN:
      return number(phase_ == Phase::kListening ? 1 : 0);
    default:
      return ENOTSUP;
  }
}

}  // namespace iwarp::rdma_core::rsockets
