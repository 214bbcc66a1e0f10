// SPDX-License-Identifier: Apache-2.0
// Links: connects the queue pairs, posts the statements of a program, and between two runs waits
// until every Write has been placed.
#include "judge/litmus/links.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace iwarp::judge::litmus {
namespace {

constexpr std::uint64_t kSettle = ~std::uint64_t{0};  // wr_id of the requests that end a run
// 0.27 s, seven times: a device in software on a busy machine may not get a processor for half a
// second.
constexpr std::uint8_t kTimeout = 16;
constexpr int kWindowRights = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

std::size_t bytes(const Location& location) { return location.words * sizeof(Word); }

}  // namespace

Links::Links(const Program& program, Judge& judge)
    : program_(program), judge_(judge), links_(program.qps.size()) {
  judge.require_needs(needs());
  options_.memory = kCacheLine;
  options_.timeout = kTimeout;
  options_.rights = kAllRights & ~IBV_ACCESS_REMOTE_ATOMIC;
  if ((needs() & kAtomics) != 0) options_.rights = kAllRights;
  if ((needs() & kWindow2) != 0) options_.rights |= IBV_ACCESS_MW_BIND;
  for (const Thread& thread : program.threads) {
    for (const Statement& each : thread.statements) {
      if (each.is_inline) options_.cap.max_inline_data = sizeof(Word);
    }
  }
  for (std::size_t host = 0; host < program.hosts.size(); ++host) {
    std::size_t size = kCacheLine;
    for (const Location& each : program.locations) {
      if (each.host == host) size = std::max(size, each.at + bytes(each));
    }
    memories_.emplace_back(size);
  }
  for (std::size_t qp = 0; qp < links_.size(); ++qp) connect(qp);
}

Needs Links::needs() const {
  Needs out = judge_.is_iwarp() ? kCm : kNothing;
  for (const Location& each : program_.locations) out |= each.is_window ? kWindow2 : kNothing;
  for (const Thread& thread : program_.threads) {
    for (const Statement& each : thread.statements) {
      if (each.op == Op::kFetchAdd || each.op == Op::kCompareSwap) out |= kAtomics;
      if (each.has_immediate) out |= kImmediate;
    }
  }
  return out;
}

void Links::connect(std::size_t qp) {
  Link& link = links_[qp];
  for (Side& side : link.sides) side = Side{};
  rdma_event_channel* const events = link.pair ? link.pair->events : nullptr;
  link.pair.reset();
  if (events != nullptr) rdma_destroy_event_channel(events);
  link.pair = std::make_unique<Pair>(judge_, options_);
  for (std::size_t end = 0; end < 2; ++end) {
    Side& side = link.sides[end];
    side.end = end == 0 ? &link.pair->a : &link.pair->b;
    side.memory = &memories_[program_.qps[qp].hosts[end]];
  }
  for (const Thread& thread : program_.threads) {
    for (const Statement& each : thread.statements) {
      if (each.qp != qp) continue;
      Side& side = link.sides[each.end];
      if (each.op == Op::kReceive) side.receives.push_back(&each);
      if (each.op >= Op::kWrite) side.is_used = true;
      link.may_fail = link.may_fail || each.may_fail;
    }
  }
  // On iWARP, the end that accepted must not send before the other end has.
  for (Side& side : link.sides) {
    begin_settling(link, side);
    finish_settling({&link, 1});
    if (side.settled != IBV_WC_SUCCESS) throw Stopped{"a new connection failed"};
  }
}

/// Posts a Read, which the peer answers after it has placed all earlier Writes of this end.
void Links::begin_settling(Link& link, Side& side) {
  const bool is_first = &side == &link.sides[0];
  const End& peer = is_first ? link.pair->b : link.pair->a;
  ibv_send_wr wr = side.end->request(kSettle, IBV_WR_RDMA_READ, peer);
  wr.send_flags |= IBV_SEND_FENCE;
  side.settled.reset();
  if (side.end->post_send(wr, 0, sizeof(Word)) != 0) throw Stopped{"ibv_post_send failed"};
}

/// Waits for the completions of the Reads and discards the others. This polls both ends, because
/// a device may move the data of a connection only while the program polls its queues.
void Links::finish_settling(std::span<Link> links) {
  const auto poll = [](Side& side) {
    ibv_wc wc{};
    if (ibv_poll_cq(side.end->send_cq.get(), 1, &wc) == 1 && wc.wr_id == kSettle) {
      side.settled = wc.status;
    }
    ibv_poll_cq(side.end->recv_cq.get(), 1, &wc);
    return side.settled.has_value();
  };
  const bool is_done = wait_until([&] {
    bool are_settled = true;
    for (Link& link : links) {
      for (Side& side : link.sides) are_settled = poll(side) && are_settled;
    }
    return are_settled;
  });
  if (!is_done) throw Stopped{"the requests of a run did not complete"};
}

void Links::settle() {
  for (Link& link : links_) {
    for (Side& side : link.sides) {
      if (side.is_used) begin_settling(link, side);
    }
  }
  finish_settling(links_);
  for (std::size_t qp = 0; qp < links_.size(); ++qp) {
    for (const Side& side : links_[qp].sides) {
      if (side.settled == IBV_WC_SUCCESS) continue;
      if (!links_[qp].may_fail) {
        throw Stopped{fmt::format("queue pair {} failed: {}", program_.qps[qp].name,
                                  ibv_wc_status_str(*side.settled))};
      }
      connect(qp);
      break;
    }
  }
}

void Links::reset() {
  for (const Location& each : program_.locations) {
    for (std::size_t i = 0; i < each.words; ++i) {
      memories_[each.host].store(each.at + i * sizeof(Word), each.initial);
    }
  }
  for (std::size_t qp = 0; qp < links_.size(); ++qp) {
    for (std::size_t end = 0; end < 2; ++end) {
      Side& side = links_[qp].sides[end];
      if (!side.mr) {
        side.mr = Mr(ibv_reg_mr(side.end->pd.get(), side.memory->word(0), side.memory->size(),
                                options_.rights));
        if (!side.mr) throw Stopped{"ibv_reg_mr failed"};
        side.rkey = side.mr->rkey;
      }
      for (const Statement* each : side.receives) post_receive(side, *each);
      bind_windows(side, program_.qps[qp].hosts[end]);
    }
  }
}

void Links::drive(std::size_t host) {
  for (std::size_t qp = 0; qp < links_.size(); ++qp) {
    for (std::size_t end = 0; end < 2; ++end) {
      const Side& side = links_[qp].sides[end];
      ibv_wc wc{};
      if (program_.qps[qp].hosts[end] == host && side.receives.empty()) {
        ibv_poll_cq(side.end->recv_cq.get(), 1, &wc);
      }
    }
  }
}

ibv_sge Links::sge(const Side& side, std::size_t location) const {
  const Location& local = program_.locations[location];
  return {.addr = reinterpret_cast<std::uint64_t>(side.memory->word(local.at)),
          .length = static_cast<std::uint32_t>(bytes(local)),
          .lkey = side.mr->lkey};
}

void Links::post_receive(const Side& side, const Statement& statement) const {
  const bool has_buffer = statement.local != kNone;
  ibv_sge list = has_buffer ? sge(side, statement.local) : ibv_sge{};
  ibv_recv_wr wr{.wr_id = 0, .next = nullptr, .sg_list = &list, .num_sge = has_buffer ? 1 : 0};
  ibv_recv_wr* bad = nullptr;
  if (ibv_post_recv(side.end->qp.get(), &wr, &bad) != 0) throw Stopped{"ibv_post_recv failed"};
}

void Links::bind_windows(Side& side, std::size_t host) {
  for (std::size_t i = 0; i < program_.locations.size(); ++i) {
    const Location& location = program_.locations[i];
    if (!location.is_window || location.host != host) continue;
    Mw& window = side.windows[i];
    window = Mw(ibv_alloc_mw(side.end->pd.get(), IBV_MW_TYPE_2));
    if (!window) throw Stopped{"ibv_alloc_mw failed"};
    const ibv_sge range = sge(side, i);
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_BIND_MW;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.bind_mw = {.mw = window.get(),
                  .rkey = ibv_inc_rkey(window->rkey),
                  .bind_info = {.mr = side.mr.get(),
                                .addr = range.addr,
                                .length = range.length,
                                .mw_access_flags = kWindowRights}};
    if (side.end->post_send(wr) != 0) throw Stopped{"posting IBV_WR_BIND_MW failed"};
    const auto wc = next(side.end->send_cq);
    if (!wc || wc->status != IBV_WC_SUCCESS) throw Stopped{"IBV_WR_BIND_MW failed"};
    window->rkey = wr.bind_mw.rkey;
  }
}

int Links::post(const Statement& statement) {
  Link& link = links_[statement.qp];
  const Side& side = link.sides[statement.end];
  const Side& peer = link.sides[1 - statement.end];
  ibv_send_wr wr{};
  ibv_sge list{};
  if (statement.op == Op::kInvalidate) {
    wr.invalidate_rkey = side.windows.at(statement.local)->rkey;
  } else {
    list = sge(side, statement.local);
    wr.sg_list = &list;
    wr.num_sge = 1;
  }
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
  if (statement.remote != kNone) {
    const Location& remote = program_.locations[statement.remote];
    address = reinterpret_cast<std::uint64_t>(peer.memory->word(remote.at));
    rkey = remote.is_window ? peer.windows.at(statement.remote)->rkey : peer.rkey;
  }
  wr.wr.rdma = {.remote_addr = address, .rkey = rkey};
  switch (statement.op) {
    case Op::kInvalidate:
      wr.opcode = IBV_WR_LOCAL_INV;
      break;
    case Op::kWrite:
      wr.opcode = statement.has_immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
      break;
    case Op::kRead:
      wr.opcode = IBV_WR_RDMA_READ;
      break;
    case Op::kSend:
      wr.opcode = statement.remote != kNone ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND;
      if (statement.remote != kNone) wr.invalidate_rkey = rkey;
      break;
    default:
      wr.opcode =
          statement.op == Op::kFetchAdd ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
      wr.wr.atomic = {.remote_addr = address,
                      .compare_add = statement.value[0],
                      .swap = statement.value[1],
                      .rkey = rkey};
  }
  if (!statement.is_unsignaled) wr.send_flags |= IBV_SEND_SIGNALED;
  if (statement.is_fenced) wr.send_flags |= IBV_SEND_FENCE;
  if (statement.is_inline) wr.send_flags |= IBV_SEND_INLINE;
  ibv_send_wr* bad = nullptr;
  return errno_of(ibv_post_send(side.end->qp.get(), &wr, &bad));
}

int Links::deregister(const Statement& statement) {
  return links_[statement.qp].sides[statement.end].mr.destroy();
}

ibv_cq* Links::send_cq(const Statement& statement) const {
  return links_[statement.qp].sides[statement.end].end->send_cq.get();
}

ibv_cq* Links::recv_cq(const Statement& statement) const {
  return links_[statement.qp].sides[statement.end].end->recv_cq.get();
}

}  // namespace iwarp::judge::litmus
