// SPDX-License-Identifier: Apache-2.0
// Checks the structures behind the handles. They must match what the inline functions of verbs.h
// expect, both in this program and in libraries that were compiled with these functions. Also
// checks functions that need no connection. The program is linked to the distribution's libraries
// and runs with this project's libraries.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

extern "C" {  // These functions are exported, but no header declares them.
int ibv_dontfork_range(void* base, std::size_t size);
int ibv_dofork_range(void* base, std::size_t size);
}

namespace {

struct Device {
  ibv_device** list = ibv_get_device_list(nullptr);
  ibv_context* context = list != nullptr && list[0] != nullptr ? ibv_open_device(list[0]) : nullptr;

  Device() { REQUIRE(context != nullptr); }
  ~Device() {
    ibv_close_device(context);
    ibv_free_device_list(list);
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
};

template <typename Function>
bool is_there(const Function& function) {
  return function != nullptr;
}

}  // namespace

TEST_CASE("the memory where libmlx5 looks for a provider contains zeros") {
  const Device device;
  constexpr std::size_t kLooked = 64;
  std::array<char, kLooked> behind{};
  const auto* const octets = reinterpret_cast<const char*>(device.list[0]);
  std::copy_n(octets + sizeof(ibv_device), behind.size(), behind.begin());
  CHECK(std::ranges::count(behind, '\0') == kLooked);
}

// [IBV-3, IBV-13]
TEST_CASE("the context is of the extended kind and contains its size") {
  const Device device;
  const verbs_context* const extended = verbs_get_ctx(device.context);
  REQUIRE(extended != nullptr);
  CHECK(extended->sz == sizeof(verbs_context));
  CHECK(device.context->device == device.list[0]);
  CHECK(device.context->num_comp_vectors >= 1);
}

TEST_CASE("functions that programs call without checking for them exist") {
  const Device device;
  const ibv_context_ops& ops = device.context->ops;
  CHECK(is_there(ops.poll_cq));
  CHECK(is_there(ops.req_notify_cq));
  CHECK(is_there(ops.post_send));
  CHECK(is_there(ops.post_recv));
  CHECK(is_there(ops.post_srq_recv));
  CHECK(is_there(ops.alloc_mw));
  CHECK(is_there(ops.bind_mw));
  CHECK(is_there(ops.dealloc_mw));
}

TEST_CASE("the function for the type of a GID has a private version node for every release") {
  const Device device;
  for (const int number : {25, 33, 34, 57, 59, 64, 65}) {
    const std::string node = "IBVERBS_PRIVATE_" + std::to_string(number);
    CAPTURE(node);
    using Query = int (*)(ibv_context*, std::uint8_t, unsigned, int*);
    const auto query =
        reinterpret_cast<Query>(dlvsym(RTLD_DEFAULT, "ibv_query_gid_type", node.c_str()));
    REQUIRE(is_there(query));
    int type = -1;
    CHECK(query(device.context, 1, 0, &type) == 0);
    CHECK(type == 0);
    CHECK(query(device.context, 1, 100000, &type) == -1);
    CHECK(query(device.context, 2, 0, &type) == -1);
  }
}

// [IBV-69, IBV-73]
TEST_CASE("a fork needs no preparation") {
  std::array<char, 16> memory{};
  CHECK(ibv_is_fork_initialized() == IBV_FORK_UNNEEDED);
  CHECK(ibv_fork_init() == 0);
  CHECK(ibv_dontfork_range(memory.data(), memory.size()) == 0);
  CHECK(ibv_dofork_range(memory.data(), memory.size()) == 0);
}

// [IBV-109]
TEST_CASE("a program with shorter or longer table entries gets the members that fit") {
  const Device device;
  ibv_port_attr port{};
  REQUIRE(ibv_query_port(device.context, 1, &port) == 0);
  ibv_gid_entry whole{};
  REQUIRE(ibv_query_gid_ex(device.context, 1, 0, &whole, 0) == 0);
  std::array<std::uint8_t, 2 * sizeof(ibv_gid_entry)> room{};
  auto* const entry = reinterpret_cast<ibv_gid_entry*>(room.data());
  room.fill(0xEE);
  REQUIRE(_ibv_query_gid_ex(device.context, 1, 0, entry, 0, sizeof(ibv_gid)) == 0);
  CHECK(std::memcmp(&entry->gid, &whole.gid, sizeof(ibv_gid)) == 0);
  CHECK(room[sizeof(ibv_gid)] == 0xEE);
  REQUIRE(_ibv_query_gid_ex(device.context, 1, 0, entry, 0, room.size()) == 0);
  CHECK(room[sizeof(ibv_gid_entry)] == 0);
  CHECK(room.back() == 0);
  const auto length = static_cast<std::size_t>(port.gid_tbl_len);
  std::vector<ibv_gid> gids(length);
  REQUIRE(_ibv_query_gid_table(device.context, reinterpret_cast<ibv_gid_entry*>(gids.data()),
                               length, 0, sizeof(ibv_gid)) == static_cast<ssize_t>(length));
  CHECK(std::memcmp(gids.data(), &whole.gid, sizeof(ibv_gid)) == 0);
}

// [IBV-622]
TEST_CASE("the transports and ports that the headers' helpers derive are correct") {
  CHECK(ibv_is_qpt_supported(1U << IBV_QPT_RC, IBV_QPT_RC) == 1);
  CHECK(ibv_is_qpt_supported(1U << IBV_QPT_RC, IBV_QPT_UD) == 0);
  CHECK(ibv_flow_label_to_udp_sport(0) == IB_ROCE_UDP_ENCAP_VALID_PORT_MIN);
}
