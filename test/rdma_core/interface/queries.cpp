// SPDX-License-Identifier: Apache-2.0
// Tests the queries of device and port that these manual pages describe: ibv_get_device_guid(3),
// ibv_get_device_index(3), ibv_query_gid(3), ibv_query_gid_ex(3), ibv_query_gid_table(3) and
// ibv_query_pkey(3). Also tests the functions that return texts. These cases run in two programs,
// as an RNIC and as a RoCE adapter.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <net/if.h>

#include <array>
#include <cerrno>

#include "endpoint.hpp"

namespace {

using namespace rdma_core_test;

constexpr std::uint16_t kDefaultPkey = 0xFFFF;
constexpr int kSysfsRoceV2 = 1;

ibv_port_attr port_of(ibv_context* context) {
  ibv_port_attr port{};
  REQUIRE(ibv_query_port(context, 1, &port) == 0);
  return port;
}

bool equal(const ibv_gid& a, const ibv_gid& b) {
  return std::equal(std::begin(a.raw), std::end(a.raw), std::begin(b.raw));
}

// [IBV-10, IBV-11]
TEST_CASE("the GUID of the device equals its attribute, and the index counts from 0") {
  const Context context = open_device();
  ibv_device_attr attr{};
  REQUIRE(ibv_query_device(context.get(), &attr) == 0);
  CHECK(ibv_get_device_guid(context->device) == attr.node_guid);
  CHECK(attr.node_guid != 0);
  CHECK(ibv_get_device_index(context->device) >= 0);
}

// The tests of ibv_modify_qp() show that the device does what it announces. [IBV-50, IBV-54]
TEST_CASE("the device announces steps with a condition, and no alternate paths") {
  const Context context = open_device();
  ibv_device_attr attr{};
  REQUIRE(ibv_query_device(context.get(), &attr) == 0);
  CHECK((attr.device_cap_flags & IBV_DEVICE_CURR_QP_STATE_MOD) != 0);
  CHECK((attr.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG) == 0);
}

// [RCM-19]
TEST_CASE("the connection manager lists the same device") {
  int count = 0;
  const std::unique_ptr<ibv_context*, Destroyer> list(rdma_get_devices(&count));
  REQUIRE(list);
  CHECK(count == 1);
  CHECK(std::string(ibv_get_device_name(list.get()[0]->device)) == "iwarp0");
  CHECK(list.get()[1] == nullptr);
}

// [IBV-86, IBV-110, IBV-111, IBV-112]
TEST_CASE("there is one P_Key; another index or port returns -1 and sets errno") {
  const Context context = open_device();
  CHECK(port_of(context.get()).pkey_tbl_len == 1);
  __be16 pkey = 0;
  CHECK(ibv_query_pkey(context.get(), 1, 0, &pkey) == 0);
  CHECK(ntohs(pkey) == kDefaultPkey);
  CHECK(ibv_get_pkey_index(context.get(), 1, htons(kDefaultPkey)) == 0);
  CHECK(ibv_get_pkey_index(context.get(), 1, htons(0x7FFF)) == -1);
  CHECK(ibv_get_pkey_index(context.get(), 2, htons(kDefaultPkey)) == -1);
  for (const auto& [port, index] : {std::pair{1, 1}, {1, -1}, {0, 0}, {2, 0}}) {
    CAPTURE(port);
    CAPTURE(index);
    errno = 0;
    CHECK(error_of(ibv_query_pkey(context.get(), static_cast<std::uint8_t>(port), index, &pkey)) ==
          EINVAL);
  }
}

// [IBV-85, IBV-97, IBV-99, IBV-100, IBV-101, IBV-105, IBV-115]
TEST_CASE("a GID is the same when queried by index, with its properties, and in the table") {
  const Context context = open_device();
  const auto length = static_cast<std::size_t>(port_of(context.get()).gid_tbl_len);
  REQUIRE(length > 0);
  std::vector<ibv_gid_entry> table(length);
  REQUIRE(ibv_query_gid_table(context.get(), table.data(), length, 0) ==
          static_cast<ssize_t>(length));
  const bool roce = context->device->transport_type == IBV_TRANSPORT_IB;
  using QueryType = int(ibv_context*, std::uint8_t, unsigned, int*);
  auto* const query_type = reinterpret_cast<QueryType*>(
      ::dlvsym(RTLD_DEFAULT, "ibv_query_gid_type", "IBVERBS_PRIVATE_34"));
  REQUIRE((query_type != nullptr));
  for (std::uint32_t index = 0; index < length; ++index) {
    CAPTURE(index);
    ibv_gid gid{};
    REQUIRE(ibv_query_gid(context.get(), 1, static_cast<int>(index), &gid) == 0);
    ibv_gid_entry entry{};
    REQUIRE(ibv_query_gid_ex(context.get(), 1, index, &entry, 0) == 0);
    CHECK(equal(entry.gid, gid));
    CHECK(entry.gid_index == index);
    CHECK(entry.port_num == 1);
    CHECK(equal(table[index].gid, gid));
    CHECK(table[index].gid_index == index);
    CHECK(table[index].gid_type == entry.gid_type);
    std::array<char, IF_NAMESIZE> name{};
    CHECK((::if_indextoname(entry.ndev_ifindex, name.data()) != nullptr) == roce);
    CHECK(table[index].ndev_ifindex == entry.ndev_ifindex);
    int type = -1;
    CHECK(query_type(context.get(), 1, index, &type) == 0);
    CHECK((type == kSysfsRoceV2) == roce);
    CHECK((entry.gid_type == IBV_GID_TYPE_ROCE_V2) == roce);
  }
}

// [IBV-85, IBV-97, IBV-102, IBV-104, IBV-106, IBV-107, IBV-108]
TEST_CASE("a missing GID returns -1, an errno, or a negative errno, depending on the call") {
  const Context context = open_device();
  const int length = port_of(context.get()).gid_tbl_len;
  ibv_gid gid{};
  for (const int index : {length, -1}) {
    CHECK(error_of(ibv_query_gid(context.get(), 1, index, &gid)) == EINVAL);
  }
  CHECK(ibv_query_gid(context.get(), 2, 0, &gid) == -1);
  ibv_gid_entry entry{};
  CHECK(ibv_query_gid_ex(context.get(), 1, static_cast<std::uint32_t>(length), &entry, 0) ==
        EINVAL);
  CHECK(ibv_query_gid_ex(context.get(), 2, 0, &entry, 0) == EINVAL);
  CHECK(ibv_query_gid_ex(context.get(), 1, 0, &entry, 1) == EOPNOTSUPP);
  CHECK(ibv_query_gid_table(context.get(), &entry, 0, 0) == -EINVAL);
  CHECK(ibv_query_gid_table(context.get(), &entry, 1, 1) == -EOPNOTSUPP);
}

// [IBV-109]
TEST_CASE("a program with shorter or longer table entries gets the members that fit") {
  const Context context = open_device();
  ibv_gid_entry whole{};
  REQUIRE(ibv_query_gid_ex(context.get(), 1, 0, &whole, 0) == 0);
  std::array<std::uint8_t, 2 * sizeof(ibv_gid_entry)> room{};
  auto* const entry = reinterpret_cast<ibv_gid_entry*>(room.data());
  room.fill(0xEE);
  REQUIRE(_ibv_query_gid_ex(context.get(), 1, 0, entry, 0, sizeof(ibv_gid)) == 0);
  CHECK(equal(entry->gid, whole.gid));
  CHECK(room[sizeof(ibv_gid)] == 0xEE);
  REQUIRE(_ibv_query_gid_ex(context.get(), 1, 0, entry, 0, room.size()) == 0);
  CHECK(room[sizeof(ibv_gid_entry)] == 0);
  CHECK(room.back() == 0);
  const auto length = static_cast<std::size_t>(port_of(context.get()).gid_tbl_len);
  std::vector<ibv_gid> gids(length);
  REQUIRE(_ibv_query_gid_table(context.get(), reinterpret_cast<ibv_gid_entry*>(gids.data()), length,
                               0, sizeof(ibv_gid)) == static_cast<ssize_t>(length));
  CHECK(equal(gids[0], whole.gid));
}

// [IBV-622]
TEST_CASE("the transports and ports that the headers' helpers derive are correct") {
  CHECK(ibv_is_qpt_supported(1U << IBV_QPT_RC, IBV_QPT_RC) == 1);
  CHECK(ibv_is_qpt_supported(1U << IBV_QPT_RC, IBV_QPT_UD) == 0);
  CHECK(ibv_flow_label_to_udp_sport(0) == IB_ROCE_UDP_ENCAP_VALID_PORT_MIN);
}

}  // namespace
