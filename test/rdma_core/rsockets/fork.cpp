// SPDX-License-Identifier: Apache-2.0
// Tests that the child cannot use its parent's rsockets after fork(), and can create its own.
#include <sys/wait.h>
#include <unistd.h>

#include "sockets.hpp"

namespace {

using namespace rsockets_test;

// Runs in the child. Returns the exit status, which is the number of the statement that failed.
int in_child(int parents, std::uint16_t port) {
  if (rsend(parents, "x", 1, 0) != -1 || errno != EBADF) return 1;
  if (rclose(parents) != 0) return 2;
  const int own = rsocket(AF_INET, SOCK_STREAM, 0);
  if (own < 0) return 3;
  const auto to = loopback(port);
  if (rconnect(own, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return 4;
  if (rsend(own, "child", 5, 0) != 5) return 5;
  return rclose(own) == 0 ? 0 : 6;
}

// [RCM-390]
TEST_CASE("parent and child of a fork each have their own rsockets") {
  const Pair pair;
  const std::uint16_t port = port_of(pair.listener);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(in_child(pair.client.get(), port));
  const Socket childs(raccept(pair.listener.get(), nullptr, nullptr));
  CHECK(receive_text(childs) == "child");
  REQUIRE(rsend(pair.client.get(), "parent", 6, 0) == 6);
  CHECK(receive_text(pair.server) == "parent");
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace
