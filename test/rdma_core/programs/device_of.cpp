// SPDX-License-Identifier: Apache-2.0
// Prints the device to which rdma_cm binds an id with the source address ADDRESS, and the device to
// which it resolves this address as a destination.
#include <netdb.h>
#include <rdma/rdma_cma.h>

#include <cstdio>
#include <cstdlib>

static void insist(bool ok, const char* what) {
  if (ok) return;
  std::perror(what);
  std::exit(1);
}

int main(int argc, char** argv) {
  const addrinfo hints{.ai_flags = AI_NUMERICHOST};
  addrinfo* at = nullptr;
  insist(argc == 2 && getaddrinfo(argv[1], "7471", &hints, &at) == 0, "usage: device_of ADDRESS");
  rdma_cm_id* bound = nullptr;
  rdma_cm_id* resolved = nullptr;
  insist(rdma_create_id(nullptr, &bound, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
  insist(rdma_bind_addr(bound, at->ai_addr) == 0, "rdma_bind_addr");
  std::printf("bound: %s\n", ibv_get_device_name(bound->verbs->device));
  insist(rdma_create_id(nullptr, &resolved, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
  insist(rdma_resolve_addr(resolved, nullptr, at->ai_addr, 1000) == 0, "rdma_resolve_addr");
  std::printf("resolved: %s\n", ibv_get_device_name(resolved->verbs->device));
  rdma_destroy_id(bound);
  rdma_destroy_id(resolved);
  freeaddrinfo(at);
  return 0;
}
