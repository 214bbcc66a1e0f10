// SPDX-License-Identifier: Apache-2.0
// Tests address handles as objects: an invalid pointer is refused before it is dereferenced. This
// file belongs to the same program as datagrams.cpp, which runs as RoCE.
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

// [IBV-336]
TEST_CASE("an address handle must name a destination") {
  Home home;
  home.attr.grh.dgid = {};
  CHECK(error_of(ibv_create_ah(home.pd.get(), &home.attr)) == EINVAL);
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

}  // namespace
