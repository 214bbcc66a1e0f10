// SPDX-License-Identifier: Apache-2.0
// Whom the kernel wakes when a datagram comes: the worker, unless somebody polls for it.
#include <sys/socket.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>

#include "iwarp/net/datagram_qp.hpp"
#include "support.hpp"

using namespace iwarp;
using namespace iwarp::net;

namespace {

namespace fs = std::filesystem;

bool is_datagram_socket(int fd) {
  int kind = 0;
  socklen_t size = sizeof kind;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 && kind == SOCK_DGRAM;
}

/// Of this process, in all of its epoll sets.
int watched_datagram_sockets() {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream in(entry.path());
    constexpr std::string_view kWatched = "tfd:";
    for (std::string line; std::getline(in, line);) {
      if (!line.starts_with(kWatched)) continue;
      const auto at = line.find_first_not_of(' ', kWatched.size());
      int fd = -1;
      std::from_chars(line.data() + at, line.data() + line.size(), fd);
      if (is_datagram_socket(fd)) ++count;
    }
  }
  return count;
}

bool comes_true(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kLimit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("while somebody polls, the kernel wakes no worker for a datagram") {
  const auto rnic = open_rnic();
  const auto pd = must(rnic->alloc_pd());
  const auto cq = must(rnic->create_cq(16));
  const auto qp = must(rnic->create_datagram_qp(
      *pd, {.init = {.send_cq = cq.get(), .recv_cq = cq.get()}, .ports = {}, .tap = nullptr}));
  std::vector<std::byte> room(1024);
  const auto memory = must(rnic->register_memory(*pd, std::span(room), verbs::Access::kLocalWrite));
  REQUIRE(!qp->set_state(verbs::DatagramState::kInit));
  const verbs::Sge sge{.address = room.data(),
                       .length = static_cast<std::uint32_t>(room.size()),
                       .lkey = memory.stag()};
  REQUIRE_FALSE(qp->post_recv({.wr_id = 1, .sgl = std::span(&sge, 1)}));
  REQUIRE(!qp->set_state(verbs::DatagramState::kReceiving));
  CHECK(comes_true([] { return watched_datagram_sockets() == 1; }));
  for (int round = 0; round != 3; ++round) {
    CHECK(comes_true([&] {
      verbs::WorkCompletion wc;
      for (int i = 0; i != 100; ++i) REQUIRE_EQ(cq->poll(std::span(&wc, 1)), 0);
      return watched_datagram_sockets() == 0;
    }));
    // Nobody polls any more, and the worker takes over.
    CHECK(comes_true([] { return watched_datagram_sockets() == 1; }));
  }
}
