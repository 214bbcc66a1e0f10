// SPDX-License-Identifier: Apache-2.0
// Creates one object of each type, with the hooks of careful mode, the adversary and injected
// faults, all of which allocate memory for each object. If the creation of an object has failed, no
// table may still contain it: the objects that it uses can be destroyed.
#include <infiniband/verbs.h>

#include <array>
#include <cstdlib>

#include "calls.hpp"
#include "scenario.hpp"

namespace failing {
namespace {

class Objects {
 public:
  /// Returns the call that failed, or null. No exception may leave a call.
  const char* create() noexcept {
    ibv_device** const list = ibv_get_device_list(nullptr);
    if (list == nullptr) return "ibv_get_device_list";
    if (list[0] != nullptr) context_ = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    if (context_ == nullptr) return "ibv_open_device";
    if ((pd_ = ibv_alloc_pd(context_)) == nullptr) return "ibv_alloc_pd";
    if ((channel_ = ibv_create_comp_channel(context_)) == nullptr) return "ibv_create_comp_channel";
    ibv_cq_init_attr_ex of_cq{.cqe = 16, .channel = channel_};
    if ((cq_ = ibv_create_cq_ex(context_, &of_cq)) == nullptr) return "ibv_create_cq_ex";
    ibv_srq_init_attr of_srq{.srq_context = nullptr, .attr = {16, 1, 0}};
    if ((srq_ = ibv_create_srq(pd_, &of_srq)) == nullptr) return "ibv_create_srq";
    constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;
    mr_ = ibv_reg_mr(pd_, memory_.data(), memory_.size(), kAccess);
    if (mr_ == nullptr) return "ibv_reg_mr";
    if ((mw_ = ibv_alloc_mw(pd_, IBV_MW_TYPE_1)) == nullptr) return "ibv_alloc_mw";
    ibv_qp_init_attr_ex of_qp{
        .send_cq = ibv_cq_ex_to_cq(cq_),
        .recv_cq = ibv_cq_ex_to_cq(cq_),
        .srq = srq_,
        .cap = {4, 4, 1, 1, 0},
        .qp_type = IBV_QPT_RC,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .pd = pd_,
        .send_ops_flags = IBV_QP_EX_WITH_SEND,
    };
    if ((qp_ = ibv_create_qp_ex(context_, &of_qp)) == nullptr) return "ibv_create_qp_ex";
    const int changed = ibv_rereg_mr(mr_, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, memory_.data(),
                                     memory_.size() / 2, 0);
    return changed == 0 ? nullptr : "ibv_rereg_mr";
  }

  /// Returns the call that failed, or null.
  const char* destroy() {
    if (qp_ != nullptr && ibv_destroy_qp(qp_) != 0) return "ibv_destroy_qp";
    if (mw_ != nullptr && ibv_dealloc_mw(mw_) != 0) return "ibv_dealloc_mw";
    if (mr_ != nullptr && ibv_dereg_mr(mr_) != 0) return "ibv_dereg_mr";
    if (srq_ != nullptr && ibv_destroy_srq(srq_) != 0) return "ibv_destroy_srq";
    if (cq_ != nullptr && ibv_destroy_cq(ibv_cq_ex_to_cq(cq_)) != 0) return "ibv_destroy_cq";
    if (channel_ != nullptr && ibv_destroy_comp_channel(channel_) != 0) {
      return "ibv_destroy_comp_channel";
    }
    if (pd_ != nullptr && ibv_dealloc_pd(pd_) != 0) return "ibv_dealloc_pd";
    if (context_ != nullptr && ibv_close_device(context_) != 0) return "ibv_close_device";
    return nullptr;
  }

 private:
  std::array<std::byte, 8192> memory_{};
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq_ex* cq_ = nullptr;
  ibv_srq* srq_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_mw* mw_ = nullptr;
  ibv_qp* qp_ = nullptr;
};

}  // namespace

void turn_hooks_on() {
  ::setenv("IWARP_CAREFUL", "1", 1);
  ::setenv("IWARP_ADVERSARY", "1", 1);
  ::setenv("IWARP_FAULT", "/dev/null", 1);  // a plan without rules
}

Outcome creation() {
  turn_hooks_on();
  Objects objects;
  const char* const failed = objects.create();
  end();
  const char* const left = objects.destroy();
  return {.error = failed != nullptr ? failed : "", .violation = left != nullptr ? left : ""};
}

}  // namespace failing
