// SPDX-License-Identifier: Apache-2.0
// Tests a program that forks while it is connected. The child closes its descriptors and the parent
// continues. When the parent closes a connection, the connection ends although the child is still
// running.
#include "iwarp/net/fork.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "iwarp/net/bound_socket.hpp"
#include "raw_peer.hpp"
#include "socket_pair.hpp"

using namespace iwarp;
using namespace iwarp::net;

namespace {

/// A child process that closes its copies of all descriptors and runs until this object is
/// destroyed. Its exit status is the number of `descriptors` that were still open.
class Child {
 public:
  explicit Child(const std::vector<int>& descriptors) {
    REQUIRE_EQ(::pipe(ready_.data()), 0);
    REQUIRE_EQ(::pipe(stay_.data()), 0);
    pid_ = ::fork();
    REQUIRE_GE(pid_, 0);
    if (pid_ == 0) run_child(descriptors);
    char done = 0;
    REQUIRE_EQ(::read(ready_[0], &done, 1), 1);
  }
  ~Child() {
    ::close(stay_[1]);
    int status = 0;
    CHECK_EQ(::waitpid(pid_, &status, 0), pid_);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    for (const int fd : {ready_[0], ready_[1], stay_[0]}) ::close(fd);
  }

 private:
  // The child takes no locks, because another thread of the parent may have held them during
  // fork().
  [[noreturn]] void run_child(const std::vector<int>& descriptors) {
    close_inherited();
    int open = 0;
    for (const int fd : descriptors) open += ::fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    ::close(stay_[1]);
    char end = 0;
    const bool released = ::write(ready_[1], &end, 1) == 1 && ::read(stay_[0], &end, 1) == 0;
    ::_exit(released ? open : 99);
  }

  std::array<int, 2> ready_{};
  std::array<int, 2> stay_{};
  pid_t pid_ = -1;
};

}  // namespace

TEST_CASE("a connection continues in the parent of a fork, and ends there while the child runs") {
  Established pair;
  const auto bound = must(bind_tcp({"127.0.0.1", 0}));
  const Child child(
      {pair.a.cm->fd(), pair.a.channel->fd(), pair.rnic->async_events().fd(), bound.fd()});
  pair.b.post_recv(0, 4096);
  pair.a.perform(WrOpcode::kSend, 0, 4096);
  pair.b.expect_success();
  CHECK(std::equal(pair.a.buffer.begin(), pair.a.buffer.begin() + 4096, pair.b.buffer.begin()));
  // The kernel sends a reset when the last copy of the socket's descriptor is closed.
  REQUIRE_FALSE(pair.a.qp->abort());
  pair.expect_disconnected();
  REQUIRE_FALSE(pair.a.qp->reset());
  REQUIRE_FALSE(pair.b.qp->reset());
  pair.connect();
}

TEST_CASE("a child process does not hide a peer's close or a listener's end from other processes") {
  RawListener server;
  Pair pair;
  REQUIRE_FALSE(pair.rnic->connect(*pair.a.qp, server.address(), {}, *pair.a.cm));
  auto peer = server.accept();
  const Child child({});
  peer.close();
  // The initiator retries with MPA revision 1.
  peer = server.accept();
  peer.close();
  expect(*pair.a.cm, Type::kConnectFailed);
  const auto at = pair.listener->local();
  pair.listener.reset();
  CHECK(bind_tcp(at).has_value());
}
