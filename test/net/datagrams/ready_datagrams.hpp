// SPDX-License-Identifier: Apache-2.0
// A UD queue pair that is ready to send, for tests of the datagram driver.
#pragma once

#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <string>

#include "iwarp/net/datagram_qp.hpp"
#include "iwarp/verbs/datagram.hpp"
#include "socket_pair.hpp"

namespace iwarp::net {

inline bool is_datagram_socket(int fd) {
  int kind = 0;
  socklen_t size = sizeof kind;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 && kind == SOCK_DGRAM;
}

inline constexpr verbs::IpAddress kOwnHost{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, 1};

/// Returns the sockets of this process that are bound to UDP port `port`.
inline std::vector<int> sockets_at(std::uint16_t port) {
  std::vector<int> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    sockaddr_in6 at{};  // The port field of sockaddr_in has the same offset.
    socklen_t size = sizeof at;
    if (!is_datagram_socket(fd)) continue;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0) continue;
    if (ntohs(at.sin6_port) == port) out.push_back(fd);
  }
  return out;
}

/// Waits until the sockets bound to `port` hold at least `count` datagrams of 64 bytes. Returns
/// false if that takes too long.
inline bool holds(std::uint16_t port, std::size_t count) {
  return comes_true([&] {
    std::size_t held = 0;
    for (const int fd : sockets_at(port)) {
      std::array<std::uint32_t, SK_MEMINFO_VARS> figures{};
      socklen_t size = sizeof figures;
      if (::getsockopt(fd, SOL_SOCKET, SO_MEMINFO, figures.data(), &size) != 0) return false;
      held += figures[SK_MEMINFO_RMEM_ALLOC];
    }
    return held >= count * 64;
  });
}

/// A queue pair that is ready to send, with memory for receives. It may also send to itself.
struct ReadyDatagrams {
  explicit ReadyDatagrams(std::chrono::nanoseconds lateness = verbs::DatagramQpInit{}.lateness) {
    const verbs::DatagramQpInit init{
        .send_cq = send_cq.get(), .recv_cq = cq.get(), .lateness = lateness};
    qp = must(rnic->create_datagram_qp(*pd, {.init = init, .ports = {}, .tap = nullptr}));
    REQUIRE(!qp->set_state(verbs::DatagramState::kInit));
    REQUIRE(!qp->set_state(verbs::DatagramState::kReceiving));
    REQUIRE(!qp->set_state(verbs::DatagramState::kReady));
  }
  verbs::Sge sge(std::uint32_t length) {
    return {.address = room.data(), .length = length, .lkey = memory.stag()};
  }
  void post_receives(int count) {
    const verbs::Sge all = sge(static_cast<std::uint32_t>(room.size()));
    for (int i = 0; i != count; ++i) {
      REQUIRE_FALSE(qp->post_recv({.wr_id = 1, .sgl = std::span(&all, 1)}));
    }
  }
  /// Posts `count` datagrams as one list. Waits until the socket has accepted all of them, because
  /// the worker may send some of them after the post returns.
  void send_to(verbs::QpNum number, std::size_t count) {
    const std::uint64_t before = qp->counters().sent;
    const verbs::Sge piece = sge(64);
    const verbs::DatagramWr one{.wr_id = 2,
                                .flags = verbs::SendFlags::kSignaled,
                                .sgl = std::span(&piece, 1),
                                .to = {.path = path, .qp = number}};
    const std::vector<verbs::DatagramWr> list(count, one);
    REQUIRE_FALSE(qp->post_all(list));
    REQUIRE(comes_true([&] { return qp->counters().sent == before + count; }));
    std::vector<verbs::WorkCompletion> done(count);
    REQUIRE_EQ(send_cq->poll(done), count);
  }
  void send(std::size_t count) { send_to(qp->num(), count); }
  void send(std::size_t count, const ReadyDatagrams& to) { send_to(to.qp->num(), count); }

  std::unique_ptr<Rnic> rnic = open_rnic();
  std::unique_ptr<ProtectionDomain> pd = must(rnic->alloc_pd());
  CqHandle send_cq = must(rnic->create_cq(64));
  CqHandle cq = must(rnic->create_cq(256));
  std::unique_ptr<DatagramQp> qp;
  std::vector<std::byte> room = std::vector<std::byte>(1024);
  verbs::DatagramPath path{.own = kOwnHost, .peer = kOwnHost};
  Memory memory = must(rnic->register_memory(*pd, std::span(room), verbs::Access::kLocalWrite));
};

inline std::uint16_t port_of(const ReadyDatagrams& end) {
  return verbs::datagram_port(end.qp->num());
}

}  // namespace iwarp::net
