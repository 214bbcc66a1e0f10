// SPDX-License-Identifier: Apache-2.0
// The builders: functions such as ibv_wr_send() and ibv_wr_set_sge(), with which a program builds
// requests between ibv_wr_start() and ibv_wr_complete(). The builders store the requests in
// Qp::staged. ibv_wr_complete() then posts all of them, or none if one is invalid. No mutex stays
// locked between these calls.
#include <cstring>

#include "device/limits.hpp"
#include "objects/objects.hpp"
#include "process/call_site.hpp"
#include "process/errno_table.hpp"
#include "process/refusal.hpp"
#include "qp/calls.hpp"
#include "qp/rc.hpp"
#include "qp/send_request.hpp"
#include "qp/ud.hpp"

namespace iwarp::rdma_core {

void Qp::Staged::clear() {
  requests.clear();
  sges.clear();
  inline_data.clear();
  error = 0;
}

std::span<verbs::Sge> Qp::Staged::buffers_of(const Request& request) {
  const auto count = static_cast<std::size_t>(request.wr.num_sge);
  const auto out = std::span(sges).subspan(request.first_sge, count);
  const bool is_inline = (request.wr.send_flags & IBV_SEND_INLINE) != 0;
  if (is_inline && !out.empty() && out[0].address == nullptr) {
    out[0].address = inline_data.data() + request.inline_at;
  }
  return out;
}

namespace {

using Request = Qp::Staged::Request;

Qp::Staged& staged(ibv_qp_ex* qp) { return *Qp::of(qp).staged; }

// Runs `function`, and stores its errno in Staged::error unless an earlier builder has failed. A
// builder returns void, so only ibv_wr_complete() can report that errno.
template <typename Function>
void build(ibv_qp_ex* qp, Function function) {
  Qp::Staged& s = staged(qp);
  const int code = guarded([&] { return function(s); });
  if (s.error == 0) s.error = code;
}

// [IBV-550]
template <typename Fill>
void add(ibv_qp_ex* qp, ibv_wr_opcode opcode, Fill fill) {
  build(qp, [&](Qp::Staged& s) {
    if (s.requests.size() == kMaxWr) return ENOMEM;
    ibv_send_wr& wr = s.requests.emplace_back().wr;
    wr.wr_id = qp->wr_id;
    wr.send_flags = qp->wr_flags;
    wr.opcode = opcode;
    fill(wr);
    return 0;
  });
}

// [IBV-553]
void wr_send(ibv_qp_ex* qp) {
  add(qp, IBV_WR_SEND, [](ibv_send_wr&) {});
}

// [IBV-554]
void wr_send_imm(ibv_qp_ex* qp, __be32 imm_data) {
  add(qp, IBV_WR_SEND_WITH_IMM, [=](ibv_send_wr& wr) { wr.imm_data = imm_data; });
}

// [IBV-555]
void wr_send_inv(ibv_qp_ex* qp, std::uint32_t rkey) {
  add(qp, IBV_WR_SEND_WITH_INV, [=](ibv_send_wr& wr) { wr.invalidate_rkey = rkey; });
}

// [IBV-562]
void wr_local_inv(ibv_qp_ex* qp, std::uint32_t rkey) {
  add(qp, IBV_WR_LOCAL_INV, [=](ibv_send_wr& wr) { wr.invalidate_rkey = rkey; });
}

// [IBV-561]
void wr_bind_mw(ibv_qp_ex* qp, ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info* info) {
  add(qp, IBV_WR_BIND_MW, [=](ibv_send_wr& wr) {
    wr.bind_mw.mw = mw;
    wr.bind_mw.rkey = rkey;
    wr.bind_mw.bind_info = *info;
  });
}

// [IBV-556, IBV-558]
template <ibv_wr_opcode kOpcode>
void wr_tagged(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote_addr) {
  add(qp, kOpcode, [=](ibv_send_wr& wr) {
    wr.wr.rdma.rkey = rkey;
    wr.wr.rdma.remote_addr = remote_addr;
  });
}

// [IBV-557]
void wr_rdma_write_imm(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote_addr,
                       __be32 imm_data) {
  add(qp, IBV_WR_RDMA_WRITE_WITH_IMM, [=](ibv_send_wr& wr) {
    wr.wr.rdma.rkey = rkey;
    wr.wr.rdma.remote_addr = remote_addr;
    wr.imm_data = imm_data;
  });
}

// [IBV-559]
void wr_atomic_cmp_swp(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote_addr,
                       std::uint64_t compare, std::uint64_t swap) {
  add(qp, IBV_WR_ATOMIC_CMP_AND_SWP, [=](ibv_send_wr& wr) {
    wr.wr.atomic.rkey = rkey;
    wr.wr.atomic.remote_addr = remote_addr;
    wr.wr.atomic.compare_add = compare;
    wr.wr.atomic.swap = swap;
  });
}

// [IBV-560]
void wr_atomic_fetch_add(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote_addr,
                         std::uint64_t value) {
  add(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, [=](ibv_send_wr& wr) {
    wr.wr.atomic.rkey = rkey;
    wr.wr.atomic.remote_addr = remote_addr;
    wr.wr.atomic.compare_add = value;
  });
}

// [IBV-563]
void wr_send_tso(ibv_qp_ex* qp, void*, std::uint16_t, std::uint16_t) {
  build(qp, [](Qp::Staged&) {
    return refused("ibv_wr_send_tso", "iWARP sends no raw packets that need segmentation");
  });
}

// [IBV-568]
void wr_set_ud_addr(ibv_qp_ex* qp, ibv_ah* ah, std::uint32_t qpn, std::uint32_t qkey) {
  build(qp, [&](Qp::Staged& s) {
    if (s.requests.empty() || qp->qp_base.qp_type != IBV_QPT_UD) return EINVAL;
    auto& ud = s.requests.back().wr.wr.ud;
    ud.ah = ah;
    ud.remote_qpn = qpn;
    ud.remote_qkey = qkey;
    return 0;
  });
}

// [IBV-569]
void wr_set_xrc_srqn(ibv_qp_ex* qp, std::uint32_t) {
  build(qp, [](Qp::Staged&) { return EINVAL; });
}

// Buffers of the current request ------------------------------------------------------------------

// [IBV-564, IBV-567]
void wr_set_sge_list(ibv_qp_ex* qp, std::size_t count, const ibv_sge* list) {
  build(qp, [&](Qp::Staged& s) {
    if (s.requests.empty() || count > kMaxSge) return EINVAL;
    Request& request = s.requests.back();
    request.first_sge = s.sges.size();
    request.wr.num_sge = static_cast<int>(count);
    for (std::size_t i = 0; i < count; ++i) s.sges.push_back(to_sge(list[i]));
    return 0;
  });
}

void wr_set_sge(ibv_qp_ex* qp, std::uint32_t lkey, std::uint64_t address, std::uint32_t length) {
  const ibv_sge sge{.addr = address, .length = length, .lkey = lkey};
  wr_set_sge_list(qp, 1, &sge);
}

// Copies the payload now, because the program may overwrite its buffers before ibv_wr_complete().
// [IBV-565, IBV-566]
void wr_set_inline_data_list(ibv_qp_ex* qp, std::size_t count, const ibv_data_buf* list) {
  const std::size_t limit = Qp::of(qp).cap.max_inline_data;
  build(qp, [&](Qp::Staged& s) {
    if (s.requests.empty()) return EINVAL;
    Request& request = s.requests.back();
    request.inline_at = s.inline_data.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (list[i].length > limit - (s.inline_data.size() - request.inline_at)) return EINVAL;
      const auto* from = static_cast<const std::byte*>(list[i].addr);
      s.inline_data.insert(s.inline_data.end(), from, from + list[i].length);
    }
    request.wr.send_flags |= IBV_SEND_INLINE;
    request.first_sge = s.sges.size();
    request.wr.num_sge = 1;
    s.sges.push_back(
        {.length = static_cast<std::uint32_t>(s.inline_data.size() - request.inline_at)});
    return 0;
  });
}

void wr_set_inline_data(ibv_qp_ex* qp, void* address, std::size_t length) {
  const ibv_data_buf buffer{.addr = address, .length = length};
  wr_set_inline_data_list(qp, 1, &buffer);
}

// Start and end -----------------------------------------------------------------------------------

// [IBV-552]
void wr_start(ibv_qp_ex* qp) {
  Qp::of(qp).builder.take();
  // Removes the requests of an earlier ibv_wr_start() that the program has not completed.
  staged(qp).clear();
}

// [IBV-547]
void wr_abort(ibv_qp_ex* qp) {
  staged(qp).clear();
  Qp::of(qp).builder.give();
}

/// Converts all staged requests, and stores them in `ready`.
template <typename Wr, typename Make>
int convert(Qp::Staged& s, std::vector<Wr>& ready, Make make) {
  ready.clear();
  for (const Request& request : s.requests) {
    const auto sges = s.buffers_of(request);
    Wr& out = begin_request(ready.emplace_back(), request.wr, sges);
    if (const int code = make(out, request.wr, sges)) return code;
  }
  return 0;
}

/// Converts all staged requests and posts them, or posts none if any of them is invalid. [IBV-545,
/// IBV-546, IBV-548, IBV-549, IBV-551, IBV-572]
int commit(Qp& qp) {
  Qp::Staged& s = *qp.staged;
  if (s.error != 0) return s.error;
  if (!qp.context.alive()) return EIO;
  if (const int code = qp.convert_staged()) return code;
  Hooks* const hooks = qp.context.hooks;
  const int code = hooks != nullptr ? hooks->post_built(qp) : qp.post_staged();
  if (code != 0) return code;
  for (const Request& request : s.requests) was_posted(request.wr);
  return 0;
}

/// Logs why ibv_wr_complete(), called from `place`, has failed with `code`.
[[gnu::cold]] void explain_built(const Qp& qp, int code, const void* place) {
  const CallSite here(place, "ibv_wr_complete");
  Qp::Staged& s = *qp.staged;
  if (s.error != 0) {
    (void)refused(
        code,
        "a request could not be built: cap.max_send_sge is {}, cap.max_inline_data is {}, "
        "and each ibv_wr_set_*() must follow the call that begins the request",
        qp.cap.max_send_sge, qp.cap.max_inline_data);
  }
  for (const Request& request : s.requests) {
    if (!CallSite::is_explained()) explain_request(qp, request.wr, s.buffers_of(request), code);
  }
  explain_failure(code);
}

}  // namespace

int RcQp::convert_staged() {
  return convert(*staged, staged->ready, [this](auto& out, const auto& from, auto sges) {
    return make_request(*this, out, from, sges);
  });
}

int UdQp::convert_staged() {
  return convert(*staged, staged->ready_datagrams,
                 [](auto& out, const auto& from, auto) { return make_request(out, from); });
}

int wr_complete(ibv_qp_ex* handle) {
  Qp& qp = Qp::of(handle);
  const int code = guarded([&] { return commit(qp); });
  if (code != 0) explain_built(qp, code, __builtin_return_address(0));
  wr_abort(handle);
  return code;
}

void enable_builders(Qp& qp) {
  qp.staged = std::make_unique<Qp::Staged>();
  ibv_qp_ex& abi = qp.abi;
  abi.wr_start = wr_start;
  abi.wr_complete = wr_complete;
  abi.wr_abort = wr_abort;
  abi.wr_send = wr_send;
  abi.wr_send_imm = wr_send_imm;
  abi.wr_send_inv = wr_send_inv;
  abi.wr_send_tso = wr_send_tso;
  abi.wr_rdma_write = wr_tagged<IBV_WR_RDMA_WRITE>;
  abi.wr_rdma_write_imm = wr_rdma_write_imm;
  abi.wr_rdma_read = wr_tagged<IBV_WR_RDMA_READ>;
  abi.wr_atomic_cmp_swp = wr_atomic_cmp_swp;
  abi.wr_atomic_fetch_add = wr_atomic_fetch_add;
  abi.wr_local_inv = wr_local_inv;
  abi.wr_bind_mw = wr_bind_mw;
  abi.wr_set_sge = wr_set_sge;
  abi.wr_set_sge_list = wr_set_sge_list;
  abi.wr_set_inline_data = wr_set_inline_data;
  abi.wr_set_inline_data_list = wr_set_inline_data_list;
  abi.wr_set_ud_addr = wr_set_ud_addr;
  abi.wr_set_xrc_srqn = wr_set_xrc_srqn;
}

// [IBV-409, IBV-571]
extern "C" ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  Qp& self = Qp::of(qp);
  return self.staged != nullptr ? &self.abi : nullptr;
}

}  // namespace iwarp::rdma_core
