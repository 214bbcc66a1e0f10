// SPDX-License-Identifier: Apache-2.0
// Extended completion queues. The program polls one completion at a time, and reads each field of
// it with a function such as ibv_wc_read_byte_len(). Only the fields of IBV_WC_STANDARD_FLAGS are
// supported. Time stamps, VLANs and tags are not supported.
#include "objects/calls.hpp"
#include "objects/objects.hpp"
#include "objects/work_completion.hpp"
#include "process/call_site.hpp"
#include "process/errno_table.hpp"
#include "process/refusal.hpp"

namespace iwarp::rdma_core {
namespace {

// [IBV-246, IBV-247, IBV-248, IBV-249, IBV-250]
void check(const ibv_cq_init_attr_ex& attr) {
  if ((attr.wc_flags & ~std::uint64_t{IBV_WC_STANDARD_FLAGS}) != 0) {
    fail(refused("a flag in wc_flags outside IBV_WC_STANDARD_FLAGS",
                 "completions have no time stamps, VLANs or tags"));
  }
  if ((attr.comp_mask & ~static_cast<std::uint32_t>(IBV_CQ_INIT_ATTR_MASK_FLAGS)) != 0) {
    fail(refused("IBV_CQ_INIT_ATTR_MASK_PD", "this device has no parent domains"));
  }
  const bool flags = (attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0;
  if (flags &&
      (attr.flags & ~static_cast<std::uint32_t>(IBV_CREATE_CQ_ATTR_SINGLE_THREADED)) != 0) {
    fail(refused("IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN",
                 "a full completion queue never overwrites completions"));
  }
}

const verbs::WorkCompletion& current(ibv_cq_ex* cq) { return Cq::of(cq).wc; }

void end_poll(ibv_cq_ex* cq) { Cq::of(cq).poller.give(); }

// [IBV-257, IBV-259, IBV-260, IBV-261, IBV-262, IBV-263, IBV-264, IBV-265]
void fill_calls(ibv_cq_ex& cq) {
  cq.start_poll = start_poll;
  cq.next_poll = next_poll;
  cq.end_poll = end_poll;
  cq.read_opcode = [](ibv_cq_ex* of) { return wc_opcode(current(of)); };
  cq.read_vendor_err = read_vendor_err;
  cq.read_byte_len = [](ibv_cq_ex* of) { return wc_byte_len(current(of)); };
  cq.read_imm_data = [](ibv_cq_ex* of) { return __be32{wc_data(current(of))}; };
  cq.read_qp_num = [](ibv_cq_ex* of) { return current(of).qp_num; };
  cq.read_src_qp = [](ibv_cq_ex* of) { return current(of).source_qp; };
  cq.read_wc_flags = [](ibv_cq_ex* of) { return wc_flags(current(of)); };
  cq.read_slid = [](ibv_cq_ex*) { return std::uint32_t{0}; };
  cq.read_sl = [](ibv_cq_ex* of) { return wc_sl(current(of)); };
  cq.read_dlid_path_bits = [](ibv_cq_ex*) { return std::uint8_t{0}; };
}

}  // namespace

// [IBV-254, IBV-256]
int next_poll(ibv_cq_ex* handle) {
  Cq& cq = Cq::of(handle);
  const bool found = cq.context.alive() && cq.core->poll(std::span(&cq.wc, 1)) == 1;
  yield_after_poll(found);
  if (cq.is_watched.load(std::memory_order_relaxed)) notify_watcher(cq);
  if (!found) return ENOENT;
  report_failure(cq.context.core, cq.wc);
  handle->wr_id = cq.wc.wr_id;
  handle->status = wc_status(cq.wc.status);
  return 0;
}

// Locks out other threads until ibv_end_poll(), because the object has room for only one completion
// (Cq::wc) from which the program reads fields. [IBV-252, IBV-253, IBV-255, IBV-270]
int start_poll(ibv_cq_ex* handle, ibv_poll_cq_attr* attr) {
  if (attr != nullptr && attr->comp_mask != 0) return EINVAL;
  Cq& cq = Cq::of(handle);
  cq.poller.take();
  const int code = next_poll(handle);
  if (code != 0) cq.poller.give();
  return code;
}

// [IBV-258]
std::uint32_t read_vendor_err(ibv_cq_ex* cq) {
  return wc_vendor_err(Cq::of(cq).context.core, current(cq));
}

// [IBV-244, IBV-245, IBV-251]
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr) {
  const CallSite here(__builtin_return_address(0), "ibv_create_cq_ex");
  return guarded_pointer<ibv_cq_ex>([&] {
    check(*attr);
    auto cq = create_cq(Context::of(context), attr->cqe, attr->cq_context, attr->channel,
                        attr->comp_vector);
    fill_calls(cq->abi);
    if (Hooks* const hooks = cq->context.hooks) hooks->made_extended(*cq);
    return &cq.release()->abi;
  });
}

}  // namespace iwarp::rdma_core
