// SPDX-License-Identifier: Apache-2.0
// Tests that the child cannot use its parent's objects after fork(). interface/processes.cpp tests
// the objects that a child creates.
#include <sys/wait.h>
#include <unistd.h>

#include "support.hpp"

using namespace data;

namespace {

/// Makes the calls with which a program in the child would use the parent's objects. Returns 0, or
/// the number of the first call that did not fail.
int as_user(Pair& pair) {
  End& end = pair.a;
  const auto is_eio = [](const void* made) { return made == nullptr && errno == EIO; };
  const auto is_refused = [](const void* made) { return made == nullptr && errno == EINVAL; };
  void* const at = end.buffer.data();
  const int rights = IBV_ACCESS_LOCAL_WRITE;
  if (!is_eio(ibv_alloc_pd(end.context))) return 101;
  if (!is_eio(ibv_reg_mr(end.pd, at, 8, rights))) return 102;
  if (!is_eio(ibv_alloc_mw(end.pd, IBV_MW_TYPE_1))) return 103;
  if (ibv_rereg_mr(end.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, rights) !=
      IBV_REREG_MR_ERR_CMD) {
    return 104;
  }
  if (!is_refused(ibv_create_cq(end.context, 4, nullptr, nullptr, 0))) return 105;
  ibv_srq_init_attr srq{.attr = {.max_wr = 1, .max_sge = 1}};
  if (!is_refused(ibv_create_srq(end.pd, &srq))) return 106;
  ibv_qp_init_attr init{.send_cq = end.cq, .recv_cq = end.cq, .qp_type = IBV_QPT_RC};
  if (!is_refused(ibv_create_qp(end.pd, &init))) return 107;
  ibv_qp_attr attr{.qp_state = IBV_QPS_ERR};
  if (ibv_modify_qp(end.qp, &attr, IBV_QP_STATE) != EIO) return 108;
  if (ibv_query_qp(end.qp, &attr, IBV_QP_STATE, &init) != EIO) return 109;
  if (ibv_req_notify_cq(end.cq, 0) != EIO || ibv_resize_cq(end.cq, 8) != EIO) return 110;
  ibv_recv_wr recv{};
  ibv_recv_wr* bad = nullptr;
  if (ibv_post_recv(end.qp, &recv, &bad) == 0 || bad != &recv) return 111;
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  if (ibv_get_cq_event(end.channel, &cq, &context) != -1) return 112;
  ibv_async_event event{};
  return ibv_get_async_event(end.context, &event) == -1 ? 0 : 113;
}

/// Runs in the child. Returns 0, or the number of the first statement that failed, because
/// doctest's macros work only in the parent.
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
  return ibv_close_device(pair.a.context) == 0 ? 0 : 8;
}

}  // namespace

// ThreadSanitizer does not support fork() in a multithreaded program. [IBV-75]
TEST_CASE("a child cannot use inherited objects, and destroying them does not affect the parent" *
          doctest::skip(kThreadSanitizer)) {
  SettledPair pair;
  const pid_t child = fork();
  if (child == 0) {
    alarm(static_cast<unsigned>(std::chrono::seconds(kLimit).count()));
    const int used = as_user(pair);
    _exit(used != 0 ? used : as_child(pair));
  }
  REQUIRE_GT(child, 0);
  int status = 0;
  REQUIRE_EQ(waitpid(child, &status, 0), child);
  REQUIRE(WIFEXITED(status));
  CHECK_EQ(WEXITSTATUS(status), 0);
  pair.settle();  // The parent's connection still works.
}
