// SPDX-License-Identifier: Apache-2.0
// In the child of a fork the parent's objects are dead, and new ones can be made.
#include <sys/wait.h>
#include <unistd.h>

#include "support.hpp"

using namespace data;

namespace {

// It does not follow a program of several threads through fork().
#ifdef __SANITIZE_THREAD__
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

/// 0, or the number of the first statement that went wrong. doctest is the parent's.
int as_child(Pair& pair) {
  ibv_wc wc{};
  if (ibv_poll_cq(pair.a.cq, 1, &wc) != 0) return 1;
  ibv_sge sge = pair.a.sge(0, 8);
  ibv_send_wr wr{.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(pair.a.qp, &wr, &bad) == 0 || bad != &wr) return 2;
  if (ibv_destroy_qp(pair.a.qp) != 0) return 3;
  if (ibv_dereg_mr(pair.a.mr) != 0) return 4;
  if (ibv_destroy_cq(pair.a.cq) != 0) return 5;
  if (ibv_destroy_comp_channel(pair.a.channel) != 0) return 6;
  if (ibv_dealloc_pd(pair.a.pd) != 0) return 7;
  if (ibv_close_device(pair.a.context) != 0) return 8;
  ibv_device** list = ibv_get_device_list(nullptr);
  ibv_context* context = ibv_open_device(list[0]);
  if (context == nullptr) return 9;
  ibv_pd* pd = ibv_alloc_pd(context);
  ibv_cq* cq = ibv_create_cq(context, 4, nullptr, nullptr, 0);
  if (pd == nullptr || cq == nullptr) return 10;
  ibv_qp_init_attr attr{.send_cq = cq,
                        .recv_cq = cq,
                        .cap = {.max_send_wr = 1, .max_recv_wr = 1},
                        .qp_type = IBV_QPT_RC};
  ibv_qp* qp = ibv_create_qp(pd, &attr);
  if (qp == nullptr) return 11;
  if (ibv_destroy_qp(qp) != 0 || ibv_destroy_cq(cq) != 0) return 12;
  return 0;
}

}  // namespace

TEST_CASE("a child destroys what it inherited without harm to the parent" *
          doctest::skip(kThreadSanitizer)) {
  Pair pair;
  pair.settle();
  const pid_t child = fork();
  if (child == 0) _exit(as_child(pair));
  REQUIRE_GT(child, 0);
  int status = 0;
  REQUIRE_EQ(waitpid(child, &status, 0), child);
  REQUIRE(WIFEXITED(status));
  CHECK_EQ(WEXITSTATUS(status), 0);
  pair.settle();  // The parent's connection is as it was.
}
