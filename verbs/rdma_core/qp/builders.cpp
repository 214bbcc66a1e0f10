// SPDX-License-Identifier: Apache-2.0
// Requests built call by call, ibv_wr_start() to ibv_wr_complete(). They are put aside with the
// queue pair and posted by the last call, all or none. In between no lock is held.
#include <arpa/inet.h>

#include <cstring>

#include "device/limits.hpp"
#include "objects/address_handle.hpp"
#include "objects/objects.hpp"
#include "process/errno_table.hpp"
#include "process/refusal.hpp"
#include "qp/calls.hpp"
#include "qp/datagrams.hpp"
#include "qp/queue_pair.hpp"
#include "qp/send_request.hpp"

namespace iwarp::rdma_core {

struct Qp::Staged {
  struct Request {
    verbs::SendWr wr;  ///< `sgl` is set when all are there
    std::size_t first_sge = 0;
    std::size_t sge_count = 0;
    std::size_t inline_at = 0;  ///< kInline: its payload
    /// Of what can be checked only when the buffers are known.
    enum class Immediate : std::uint8_t { kNone, kSend, kWrite } immediate = Immediate::kNone;
    std::uint32_t imm_data = 0;
    ibv_ah* ah = nullptr;  ///< UD, and the two below
    std::uint32_t remote_qpn = 0;
    std::uint32_t remote_qkey = 0;
    ibv_mw* window = nullptr;  ///< kBindWindow
    std::uint32_t rkey = 0;
  };
  std::vector<Request> requests;
  std::vector<verbs::Sge> sges;
  std::vector<std::byte> inline_data;
  std::vector<verbs::SendWr> ready;
  std::vector<verbs::DatagramWr> datagrams;
  int error = 0;  ///< the first of a builder, for ibv_wr_complete()

  void clear() {
    requests.clear();
    sges.clear();
    inline_data.clear();
    error = 0;
  }
};

namespace {

using Request = Qp::Staged::Request;
using verbs::SendFlags;
using verbs::WrOpcode;

Qp::Staged& staged(ibv_qp_ex* qp) { return *Qp::of(qp).staged; }

// Builders return nothing: what is wrong is told by ibv_wr_complete().
template <typename Function>
void build(ibv_qp_ex* qp, Function function) {
  Qp::Staged& s = staged(qp);
  const int code = guarded([&] { return function(s); });
  if (s.error == 0) s.error = code;
}

template <typename Fill>
void add(ibv_qp_ex* qp, WrOpcode opcode, Fill fill) {
  build(qp, [&](Qp::Staged& s) {
    if (s.requests.size() == kMaxWr) return ENOMEM;
    Request& request = s.requests.emplace_back();
    request.wr.wr_id = qp->wr_id;
    request.wr.flags = to_flags(qp->wr_flags);
    request.wr.opcode = opcode;
    return fill(request);
  });
}

int nothing_more(Request&) { return 0; }

void wr_send(ibv_qp_ex* qp) { add(qp, WrOpcode::kSend, nothing_more); }

void wr_send_imm(ibv_qp_ex* qp, __be32 imm_data) {
  add(qp, WrOpcode::kSend, [imm_data](Request& request) {
    request.immediate = Request::Immediate::kSend;
    request.imm_data = imm_data;
    return 0;
  });
}

void wr_send_inv(ibv_qp_ex* qp, std::uint32_t rkey) {
  add(qp, WrOpcode::kSendInvalidate, [rkey](Request& request) {
    request.wr.invalidate = verbs::Stag{rkey};
    return 0;
  });
}

void wr_local_inv(ibv_qp_ex* qp, std::uint32_t rkey) {
  add(qp, WrOpcode::kLocalInvalidate, [rkey](Request& request) {
    make_invalidate(request.wr, rkey);
    return 0;
  });
}

void wr_bind_mw(ibv_qp_ex* qp, ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info* info) {
  add(qp, WrOpcode::kBindWindow, [&](Request& request) {
    request.window = mw;
    request.rkey = rkey;
    return make_bind(request.wr, *mw, rkey, *info);
  });
}

template <WrOpcode kOpcode>
void wr_tagged(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote_addr) {
  add(qp, kOpcode, [&](Request& request) {
    request.wr.remote = {.rkey = verbs::Stag{rkey}, .to = remote_addr};
    return 0;
  });
}

void wr_rdma_write_imm(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote_addr,
                       __be32 imm_data) {
  add(qp, WrOpcode::kWriteImmediate, [&](Request& request) {
    request.wr.remote = {.rkey = verbs::Stag{rkey}, .to = remote_addr};
    request.immediate = Request::Immediate::kWrite;
    request.imm_data = imm_data;
    return 0;
  });
}

void wr_atomic_cmp_swp(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote_addr,
                       std::uint64_t compare, std::uint64_t swap) {
  add(qp, WrOpcode::kCmpSwap, [&](Request& request) {
    request.wr.remote = {.rkey = verbs::Stag{rkey}, .to = remote_addr};
    request.wr.atomic.compare = compare;
    request.wr.atomic.add_or_swap = swap;
    return 0;
  });
}

void wr_atomic_fetch_add(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote_addr,
                         std::uint64_t value) {
  add(qp, WrOpcode::kFetchAdd, [&](Request& request) {
    request.wr.remote = {.rkey = verbs::Stag{rkey}, .to = remote_addr};
    request.wr.atomic.add_or_swap = value;
    return 0;
  });
}

void wr_send_tso(ibv_qp_ex* qp, void*, std::uint16_t, std::uint16_t) {
  build(qp, [](Qp::Staged&) { return refused("ibv_wr_send_tso", "there are no packets to cut"); });
}

void wr_set_ud_addr(ibv_qp_ex* qp, ibv_ah* ah, std::uint32_t qpn, std::uint32_t qkey) {
  build(qp, [&](Qp::Staged& s) {
    if (s.requests.empty() || Qp::of(qp).datagrams == nullptr) return EINVAL;
    Request& request = s.requests.back();
    request.ah = ah;
    request.remote_qpn = qpn;
    request.remote_qkey = qkey;
    return 0;
  });
}

void wr_set_xrc_srqn(ibv_qp_ex* qp, std::uint32_t) {
  build(qp, [](Qp::Staged&) { return EINVAL; });
}

// Buffers, of the request that was begun last -----------------------------------------------------

void wr_set_sge_list(ibv_qp_ex* qp, std::size_t count, const ibv_sge* list) {
  build(qp, [&](Qp::Staged& s) {
    if (s.requests.empty() || count > kMaxSge) return EINVAL;
    Request& request = s.requests.back();
    request.first_sge = s.sges.size();
    request.sge_count = count;
    for (std::size_t i = 0; i < count; ++i) s.sges.push_back(to_sge(list[i]));
    return 0;
  });
}

void wr_set_sge(ibv_qp_ex* qp, std::uint32_t lkey, std::uint64_t address, std::uint32_t length) {
  const ibv_sge sge{.addr = address, .length = length, .lkey = lkey};
  wr_set_sge_list(qp, 1, &sge);
}

// Copied here, as the program may reuse its buffers at once.
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
    request.wr.flags = request.wr.flags | SendFlags::kInline;
    request.first_sge = s.sges.size();
    request.sge_count = 1;
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

void wr_start(ibv_qp_ex* qp) {
  Qp::of(qp).builder.take();
  staged(qp).clear();  // Perhaps somebody began, and never ended.
}

void wr_abort(ibv_qp_ex* qp) {
  staged(qp).clear();
  Qp::of(qp).builder.give();
}

std::span<verbs::Sge> find_buffers(Qp::Staged& s, Request& request) {
  verbs::SendWr& wr = request.wr;
  const auto sges = std::span(s.sges).subspan(request.first_sge, request.sge_count);
  wr.sgl = sges;
  if (has(wr.flags, SendFlags::kInline) && !sges.empty() && sges[0].address == nullptr) {
    sges[0].address = s.inline_data.data() + request.inline_at;
  }
  return sges;
}

int finish(Qp::Staged& s, Request& request) {
  verbs::SendWr& wr = request.wr;
  const auto sges = find_buffers(s, request);
  switch (wr.opcode) {
    case WrOpcode::kLocalInvalidate:
    case WrOpcode::kBindWindow:
      wr.sgl = {};
      return 0;
    case WrOpcode::kFetchAdd:
    case WrOpcode::kCmpSwap:
      return sges.size() == 1 ? make_atomic(wr, sges[0]) : EINVAL;
    default:
      break;
  }
  if (request.immediate == Request::Immediate::kSend)
    return make_send_immediate(wr, request.imm_data);
  if (request.immediate == Request::Immediate::kWrite) {
    return make_write_immediate(wr, request.imm_data);
  }
  return 0;
}

template <typename Wr>
int post(Qp& qp, std::span<const Wr> wrs) {
  Hooks* const hooks = qp.context.core.hooks();
  return hooks != nullptr ? hooks->post_built(qp, wrs) : post_built(qp, wrs);
}

int commit_datagrams(Qp& qp, Qp::Staged& s) {
  s.datagrams.clear();
  for (Request& request : s.requests) {
    const bool has_immediate = request.immediate == Request::Immediate::kSend;
    if (request.wr.opcode != WrOpcode::kSend || request.ah == nullptr) return EINVAL;
    find_buffers(s, request);
    auto& out = s.datagrams.emplace_back();
    out.wr_id = request.wr.wr_id;
    out.flags = request.wr.flags;
    out.sgl = request.wr.sgl;
    if (has_immediate) out.immediate = ntohl(request.imm_data);
    out.to = {
        .path = Ah::of(request.ah).path, .qp = request.remote_qpn, .q_key = request.remote_qkey};
  }
  return post<verbs::DatagramWr>(qp, s.datagrams);
}

int commit(Qp& qp) {
  Qp::Staged& s = *qp.staged;
  if (s.error != 0) return s.error;
  if (!qp.context.core.alive()) return EIO;
  if (qp.datagrams != nullptr) return commit_datagrams(qp, s);
  s.ready.clear();
  for (Request& request : s.requests) {
    if (const int code = finish(s, request)) return code;
    if (is_too_long(request.wr)) return EINVAL;
    s.ready.push_back(request.wr);
  }
  if (const int code = post<verbs::SendWr>(qp, s.ready)) return code;
  for (const Request& request : s.requests) {
    if (request.window != nullptr) bind_posted(*request.window, request.rkey);
  }
  return 0;
}

}  // namespace

int wr_complete(ibv_qp_ex* handle) {
  Qp& qp = Qp::of(handle);
  const int code = guarded([&] { return commit(qp); });
  wr_abort(handle);
  return code;
}

void enable_builders(Qp& qp) {
  qp.staged = {new Qp::Staged, [](Qp::Staged* gone) { delete gone; }};
  ibv_qp_ex& abi = qp.abi;
  abi.wr_start = wr_start;
  abi.wr_complete = wr_complete;
  abi.wr_abort = wr_abort;
  abi.wr_send = wr_send;
  abi.wr_send_imm = wr_send_imm;
  abi.wr_send_inv = wr_send_inv;
  abi.wr_send_tso = wr_send_tso;
  abi.wr_rdma_write = wr_tagged<WrOpcode::kWrite>;
  abi.wr_rdma_write_imm = wr_rdma_write_imm;
  abi.wr_rdma_read = wr_tagged<WrOpcode::kRead>;
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

}  // namespace iwarp::rdma_core

using namespace iwarp::rdma_core;  // NOLINT(google-build-using-namespace): the C interface's half

extern "C" ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  Qp& self = Qp::of(qp);
  return self.staged != nullptr ? &self.abi : nullptr;
}
