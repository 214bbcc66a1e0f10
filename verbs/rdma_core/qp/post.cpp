// SPDX-License-Identifier: Apache-2.0
// Posts lists of requests and lists of receives. The core checks each element of a list, and stops
// at the first one that it refuses.
#include <algorithm>
#include <cstddef>

#include "objects/calls.hpp"
#include "objects/objects.hpp"
#include "process/call_site.hpp"
#include "process/errno_table.hpp"
#include "process/refusal.hpp"
#include "qp/batch.hpp"
#include "qp/calls.hpp"
#include "qp/rc.hpp"
#include "qp/send_request.hpp"

namespace iwarp::rdma_core {
namespace {

/// Returns the errno for the `error` of a refused post. If the peer does not support the request,
/// also logs which feature it lacks. `requests` contains the refused request.
int why_not(const std::error_code& error, std::span<const verbs::SendWr> requests) {
  const auto is_send = [](const verbs::SendWr& wr) {
    return wr.opcode == verbs::WrOpcode::kSendImmediate;
  };
  if (error == verbs::Errc::kNotAgreed) {
    if (std::ranges::any_of(requests, is_send)) {
      return refused("a Send with immediate data and payload to this peer",
                     "the peer is another iWARP stack, and RFC 7306 allows immediate data only "
                     "alone or after a Write (post the payload as a separate Send or Write)");
    }
    return refused("an atomic operation or immediate data with this peer",
                   "the peer did not agree to use RFC 7306 (atomics and immediate data)");
  }
  return to_errno(error);
}

// Posts the request that binds a window of type 1. The program may bind the window again without
// unbinding it first. A bind of length 0 unbinds the window. [IBV-189, IBV-191, IBV-208]
int post_bind(RcQp& qp, ibv_mw& mw, const ibv_mw_bind& bind) {
  const std::uint32_t rkey = ibv_inc_rkey(mw.rkey);
  verbs::SendWr wr{.wr_id = bind.wr_id, .flags = to_flags(bind.send_flags)};
  if (const int code = make_bind(wr, mw, rkey, bind.bind_info)) return code;
  wr.bind.type_1 = true;
  if (const auto error = qp.sender().post_send(wr)) return why_not(error, {&wr, 1});
  if (bind.bind_info.length != 0) bind_posted(mw, rkey);
  return 0;
}

}  // namespace

// [RCM-274, RCM-275, RCM-334]
int RcQp::post(ibv_send_wr*& wr) {
  if (!takes_requests()) return EINVAL;
  return post_in_batches<verbs::SendWr>(
      wr,
      [this](auto& out, const auto& from, auto sges) {
        return make_request(*this, out, from, sges);
      },
      [this](std::span<const verbs::SendWr> requests, std::size_t& posted) {
        const auto error = sender().post_send(requests, posted);
        return error ? why_not(error, requests.subspan(posted, 1)) : 0;
      });
}

int RcQp::receive(ibv_recv_wr*& wr) { return takes_receives() ? post_receives(*core, wr) : EINVAL; }

int RcQp::bind(ibv_mw& mw, const ibv_mw_bind& bind) {
  return takes_requests() ? post_bind(*this, mw, bind) : EINVAL;
}

// [IBV-574]
int RcQp::post_staged() {
  if (!takes_requests()) return EINVAL;
  const auto error = sender().post_all(staged->ready);
  return error ? why_not(error, staged->ready) : 0;
}

// [RCM-271, RCM-272, RCM-273, RCM-276, RCM-277, RCM-278, RCM-279, RCM-280, RCM-281, RCM-282,
// RCM-283, RCM-284]
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  Qp& self = Qp::of(qp);
  const int code = self.context.alive() ? guarded([&] { return self.post(wr); }) : EIO;
  if (code == 0) return 0;
  *bad_wr = wr;
  explain_send(self, wr, code, __builtin_return_address(0));
  return code;
}

// [RCM-31, RCM-266, RCM-268, RCM-270]
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  Qp& self = Qp::of(qp);
  const int code = self.context.alive() ? guarded([&] { return self.receive(wr); }) : EIO;
  if (code == 0) return 0;
  *bad_wr = wr;
  explain_receive(self, wr, code, __builtin_return_address(0));
  return code;
}

// [RCM-269]
// [IBV-367, IBV-368]
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  Srq& self = Srq::of(srq);
  const int code =
      self.pd.context.alive() ? guarded([&] { return post_receives(*self.core, wr); }) : EIO;
  if (code == 0) return 0;
  *bad_wr = wr;
  explain_receive(self, wr, code, __builtin_return_address(0));
  return code;
}

// [IBV-198]
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
  const CallSite here(__builtin_return_address(0), "ibv_bind_mw");
  Qp& self = Qp::of(qp);
  if (!self.context.alive()) return EIO;
  return guarded_call([&] { return self.bind(*mw, *bind); });
}

}  // namespace iwarp::rdma_core
