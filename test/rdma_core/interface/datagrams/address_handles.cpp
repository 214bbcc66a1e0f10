// SPDX-License-Identifier: Apache-2.0
// Tests address handles as objects: an invalid pointer is refused before it is dereferenced. This
// file belongs to the same program as datagrams.cpp, which runs as RoCE.
#include <cerrno>
#include <vector>

#include "../endpoint.hpp"

namespace {

using namespace rdma_core_test;

struct Home {
  Home() {
    attr.is_global = 1;
    attr.port_num = 1;
    REQUIRE(ibv_query_gid(context.get(), 1, 0, &attr.grh.dgid) == 0);
  }
  Context context = open_device();
  Pd pd{ibv_alloc_pd(context.get())};
  ibv_ah_attr attr{};
};

// [IBV-94, IBV-333, IBV-334, IBV-335, IBV-336]
TEST_CASE("an address handle must name a GID of this port and an address of a peer") {
  const Home home;
  const auto refused = [&](auto spoil) {
    ibv_ah_attr wrong = home.attr;
    spoil(wrong);
    errno = 0;
    return ibv_create_ah(home.pd.get(), &wrong) == nullptr && errno == EINVAL;
  };
  CHECK(refused([](auto& a) { a.is_global = 0; }));
  CHECK(refused([](auto& a) { a.port_num = 2; }));
  CHECK(refused([](auto& a) { a.grh.sgid_index = 200; }));
  CHECK(refused([](auto& a) { a.grh.dgid = {}; }));
}

// [IBV-116, IBV-118, IBV-331, IBV-332]
TEST_CASE("an address handle belongs to its domain, has a number, and can be destroyed once") {
  Home home;
  ibv_ah* const first = ibv_create_ah(home.pd.get(), &home.attr);
  ibv_ah* const second = ibv_create_ah(home.pd.get(), &home.attr);
  REQUIRE(first != nullptr);
  REQUIRE(second != nullptr);
  CHECK(first->pd == home.pd.get());
  CHECK(ibv_dealloc_pd(home.pd.get()) == EBUSY);
  CHECK(first->handle != 0);
  CHECK(first->handle != second->handle);
  ibv_ah copy = *first;
  CHECK(ibv_destroy_ah(&copy) == ENOENT);
  CHECK(ibv_destroy_ah(first) == 0);
  CHECK(ibv_destroy_ah(first) == ENOENT);
  CHECK(ibv_destroy_ah(second) == 0);
}

TEST_CASE("an address handle needs an existing protection domain") {
  Home home;
  ibv_pd copy = *home.pd;
  CHECK(error_of(ibv_create_ah(&copy, &home.attr)) == ENOENT);
  ibv_wc wc{};
  wc.wc_flags = IBV_WC_GRH;
  ibv_grh grh{};
  CHECK(error_of(ibv_create_ah_from_wc(&copy, &wc, &grh, 1)) == ENOENT);
}

// [IBV-41]
TEST_CASE("a device has max_ah address handles, and destroying one makes room") {
  Home home;
  ibv_device_attr device{};
  REQUIRE(ibv_query_device(home.context.get(), &device) == 0);
  REQUIRE(device.max_ah == 32767);
  std::vector<ibv_ah*> all;
  for (int i = 0; i != device.max_ah; ++i) {
    all.push_back(ibv_create_ah(home.pd.get(), &home.attr));
    if (all.back() == nullptr) break;
  }
  REQUIRE(all.back() != nullptr);
  for (int round = 0; round != 2; ++round) {
    CHECK(error_of(ibv_create_ah(home.pd.get(), &home.attr)) == ENOMEM);
    CHECK(ibv_destroy_ah(all.back()) == 0);
    all.back() = ibv_create_ah(home.pd.get(), &home.attr);
    REQUIRE(all.back() != nullptr);
  }
  for (ibv_ah* const one : all) REQUIRE(ibv_destroy_ah(one) == 0);
}

}  // namespace
