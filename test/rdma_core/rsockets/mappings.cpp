// SPDX-License-Identifier: Apache-2.0
// Tests memory that the peer writes directly, with riomap(), riowrite() and riounmap().
#include "sockets.hpp"

namespace {

using namespace rsockets_test;

void allow_mappings(const Socket& socket) { set_number(socket, SOL_RDMA, RDMA_IOMAPSIZE, 2); }

// [RCM-381, RCM-385, RCM-386]
TEST_CASE("the peer can write to mapped memory, up to its end") {
  const Pair pair(allow_mappings);
  std::vector<std::uint8_t> memory(200'000);
  CHECK(riomap(pair.server.get(), memory.data(), memory.size(), PROT_WRITE, 0, 1000) == 1000);
  send_all(pair.server, pattern(1));
  CHECK(receive_all(pair.client, 1) == pattern(1));
  const auto sent = pattern(memory.size());
  CHECK(riowrite(pair.client.get(), sent.data(), sent.size(), 1000, 0) == sent.size());
  send_all(pair.client, pattern(1));
  CHECK(receive_all(pair.server, 1) == pattern(1));
  CHECK(memory == sent);
  // Tells the client that the server has read the memory, so that the client may write to it again.
  send_all(pair.server, pattern(1));
  CHECK(receive_all(pair.client, 1) == pattern(1));
  CHECK(riowrite(pair.client.get(), sent.data(), 10, 1000 + 199'995, 0) == 5);
  CHECK(riowrite(pair.client.get(), sent.data(), 10, 999, 0) == 0);
  send_all(pair.client, pattern(1));
  CHECK(receive_all(pair.server, 1) == pattern(1));
  CHECK(std::equal(memory.end() - 5, memory.end(), sent.begin()));
  CHECK(riounmap(pair.server.get(), memory.data(), memory.size()) == 0);
  CHECK(error_of(riounmap(pair.server.get(), memory.data(), memory.size())) == EINVAL);
}

// [RCM-383]
TEST_CASE("the peer cannot write to memory that is mapped with PROT_NONE") {
  const Pair pair(allow_mappings);
  std::vector<std::uint8_t> memory(100);
  CHECK(riomap(pair.server.get(), memory.data(), memory.size(), PROT_NONE, 0, 1000) == 1000);
  send_all(pair.server, pattern(1));
  CHECK(receive_all(pair.client, 1) == pattern(1));
  CHECK(riowrite(pair.client.get(), pattern(100).data(), 100, 1000, 0) == 0);
  send_all(pair.client, pattern(1));
  CHECK(receive_all(pair.server, 1) == pattern(1));
  CHECK(memory == std::vector<std::uint8_t>(100));
}

// [RCM-387]
TEST_CASE("riowrite() after riounmap() ends the connection and leaves the memory unchanged") {
  const Pair pair(allow_mappings);
  std::vector<std::uint8_t> memory(100);
  CHECK(riomap(pair.server.get(), memory.data(), memory.size(), PROT_WRITE, 0, 1000) == 1000);
  send_all(pair.server, pattern(1));
  CHECK(receive_all(pair.client, 1) == pattern(1));
  CHECK(error_of(riounmap(pair.server.get(), memory.data(), 99)) == EINVAL);
  CHECK(riounmap(pair.server.get(), memory.data(), memory.size()) == 0);
  CHECK(riowrite(pair.client.get(), pattern(100).data(), 100, 1000, 0) == 100);
  std::uint8_t in = 0;
  CHECK(error_of(rrecv(pair.server.get(), &in, 1, 0)) == ECONNRESET);
  CHECK(rrecv(pair.client.get(), &in, 1, 0) == -1);
  CHECK(memory == std::vector<std::uint8_t>(100));
}

// [RCM-382, RCM-384]
TEST_CASE("the peer's table limits the number of mappings") {
  const Pair pair(allow_mappings);
  std::vector<std::uint8_t> memory(300);
  const auto map = [&](std::size_t at, int protection) {
    return riomap(pair.server.get(), memory.data() + at, 100, protection, 0, -1);
  };
  CHECK(map(0, PROT_WRITE) == static_cast<off_t>(reinterpret_cast<std::uintptr_t>(memory.data())));
  CHECK(map(100, PROT_WRITE) != -1);
  CHECK(error_of(map(200, PROT_WRITE)) == ENOMEM);
  CHECK(map(200, PROT_NONE) != -1);
  CHECK(error_of(map(200, PROT_READ)) == EINVAL);
  REQUIRE(riounmap(pair.server.get(), memory.data(), 100) == 0);
  CHECK(map(0, PROT_WRITE) != -1);
}

// [RCM-384]
TEST_CASE("mapping fails without a connection or without room") {
  std::uint8_t octet = 0;
  CHECK(error_of(riomap(make_socket().get(), &octet, 1, PROT_WRITE, 0, 0)) == EINVAL);
  const Pair pair;
  CHECK(error_of(riomap(pair.server.get(), &octet, 1, PROT_WRITE, 0, 0)) == ENOMEM);
}

}  // namespace
