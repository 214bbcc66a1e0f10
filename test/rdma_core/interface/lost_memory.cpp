// SPDX-License-Identifier: Apache-2.0
// Tests a program that frees a buffer before it deregisters the buffer, as many programs do. With a
// hardware adapter this does no harm.
#include "captured_stderr.hpp"
#include "endpoint.hpp"

using namespace rdma_core_test;  // NOLINT

TEST_CASE("a Write to a freed buffer ends the connection, not the program") {
  constexpr std::size_t kSize = 65536;
  constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  Pair pair;
  Buffer source(pair.client.pd.get(), kSize);
  void* const at =
      ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(at != MAP_FAILED);
  ibv_mr* const mr = ibv_reg_mr(pair.server.pd.get(), at, kSize, kAccess);
  REQUIRE(mr != nullptr);
  REQUIRE(::mprotect(at, kSize, PROT_NONE) == 0);  // Keeps other code from reusing the address.
  const iwarp::test::CapturedStderr said;
  ibv_sge sge = source.sge();
  ibv_send_wr wr{.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};
  wr.wr.rdma = {.remote_addr = reinterpret_cast<std::uint64_t>(at), .rkey = mr->rkey};
  REQUIRE(post_send(pair.client.id->qp, wr) == 0);
  expect(pair.channel, RDMA_CM_EVENT_DISCONNECTED);
  expect(pair.server_channel, RDMA_CM_EVENT_DISCONNECTED);
  const auto text = said.text();
  CHECK(text.starts_with("iwarp: registered memory at 0x"));
  CHECK(text.find("registered memory", text.find('\n')) == std::string::npos);
  CHECK(::munmap(at, kSize) == 0);
  CHECK(ibv_dereg_mr(mr) == 0);
}
