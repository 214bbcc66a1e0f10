// SPDX-License-Identifier: Apache-2.0
// Executes the steps of a plan on a device and in the model at the same time. The first difference
// ends the plan.
#include "judge/generated/execute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "judge/tools/ends.hpp"

namespace iwarp::judge::generated {
namespace {

constexpr std::uint64_t kMarker = 1'000'000;  // greater than the wr_ids of plans
constexpr std::uint32_t kScratch = kMemory - 64;

char letter(int end) { return static_cast<char>('a' + end); }

void require(bool holds, std::string what, std::string line) {
  if (!holds) throw Difference{.what = std::move(what), .line = std::move(line)};
}
void require_none(int end, const std::string& difference, std::string line) {
  require(difference.empty(), fmt::format("{}: {}", letter(end), difference), std::move(line));
}

EndOptions shape(const Plan& plan, const QpOptions& options) {
  EndOptions out;
  out.cap = options.cap;
  out.cqe = 256;
  out.signal_all = options.signal_all;
  out.shares_cq = !plan.own_receive_cq;
  out.memory = kMemory;
  out.rnr_retry = 0;
  out.timeout = 20;  // 4.096 us x 2^20, eight times
  return out;
}

/// An end, with a region for each enumerator of Region.
class Side : public End {
 public:
  /// Sets the capacities in `chosen` to those that the device grants.
  Side(Judge& of, const Plan& plan, QpOptions& chosen, std::uint64_t seed)
      : End(of, shape(plan, chosen)) {
    const auto region = [&](std::size_t length, int access) {
      regions_.emplace_back(ibv_reg_mr(pd.get(), memory(), length, access));
      judge.require("ibv_reg_mr", errno_of(regions_.back().get()));
    };
    region(kMemory, kAllRights);
    region(kMemory, IBV_ACCESS_LOCAL_WRITE);
    region(kMemory, IBV_ACCESS_REMOTE_READ);
    region(kShort, kAllRights);
    region(kMemory, kAllRights);
    stale_ = *regions_.back().get();
    regions_.pop_back();
    for (std::size_t i = 0; i < kMemory; ++i) {
      *memory(i) = static_cast<char>((i * 131 + (i >> 8) * 17) ^ seed);
    }
    ibv_qp_attr now{};
    ibv_qp_init_attr init{};
    judge.require("ibv_query_qp", errno_of(ibv_query_qp(qp.get(), &now, IBV_QP_CAP, &init)));
    chosen.cap = init.cap;
  }

  std::uint32_t lkey(Region region) const { return key(region, &ibv_mr::lkey); }
  std::uint32_t rkey(Region region) const { return key(region, &ibv_mr::rkey); }
  std::vector<ibv_sge> list(const std::vector<Sge>& sges) const {
    std::vector<ibv_sge> out;
    out.reserve(sges.size());
    for (const Sge& sge : sges) out.push_back({address(sge.at), sge.length, lkey(sge.region)});
    return out;
  }
  ibv_cq* queue(bool is_receive) const {
    return is_receive && recv_cq ? recv_cq.get() : send_cq.get();
  }
  std::span<const std::uint8_t> bytes() {
    return {reinterpret_cast<const std::uint8_t*>(memory()), kMemory};
  }
  int move(ibv_qp_state to, const Side& peer, const QpOptions& chosen) {
    attr.qp_access_flags = chosen.rights;
    attr.max_dest_rd_atomic = chosen.reads;
    if (to == IBV_QPS_INIT) return to_init();
    if (to == IBV_QPS_RTR) return to_rtr(peer.qp->qp_num);
    return to == IBV_QPS_RTS ? to_rts() : modify(to);
  }

 private:
  std::uint32_t key(Region region, std::uint32_t ibv_mr::* which) const {
    if (region == kStale) return stale_.*which;
    return region == kUnknownKey ? regions_[kAll].get()->*which ^ 0xFF00
                                 : regions_[region].get()->*which;
  }

  std::vector<Mr> regions_;
  ibv_mr stale_{};  ///< copy of a region that is gone
};

class Run {
 public:
  Run(Judge& judge, const Plan& plan)
      : judge_(judge),
        plan_(plan),
        options_(plan.options),
        model_(plan.as_roce),
        ends_{Side(judge, plan, options_[0], plan.seed),
              Side(judge, plan, options_[1], ~plan.seed)} {
    for (const int end : {0, 1}) {
      model_.create(end, options_[static_cast<std::size_t>(end)]);
      const auto bytes = of(end).bytes();
      model_.memory(end).assign(bytes.begin(), bytes.end());
    }
  }

  void all() {
    for (const Step& step : plan_.steps) {
      ++step_;
      perform(step);
    }
    for (const int end : {0, 1}) take_events(end, true);
  }

 private:
  Side& of(int end) { return ends_[static_cast<std::size_t>(end)]; }

  void perform(const Step& step) {
    switch (step.kind) {
      case Step::Kind::kSend:
        return send(step.end, step.requests);
      case Step::Kind::kReceive:
        return receive(step.end, step.receives);
      case Step::Kind::kModify:
        return modify(step);
      case Step::Kind::kDestroy:
        take_events(step.end, true);
        of(step.end).replace();
        return model_.destroy(step.end);
      case Step::Kind::kSettle:
        return settle();
    }
  }

  /// The C program does not post what settle() posts.
  std::string own_line(const std::string& line) const {
    return plan_.steps[step_ - 1].kind == Step::Kind::kSettle ? "" : line;
  }

  void same(const PostResult& expected, int code, std::ptrdiff_t bad) const {
    const auto result = [](int returned, std::ptrdiff_t element) {
      return returned == 0 ? "0" : fmt::format("{} at element {}", returned, element);
    };
    require(
        code == expected.code && (code == 0 || bad == static_cast<std::ptrdiff_t>(expected.bad)),
        fmt::format("the call returns {}, expected {}", result(code, bad),
                    result(expected.code, static_cast<std::ptrdiff_t>(expected.bad))),
        own_line(fmt::format("step {}: returns {}", step_, code)));
  }

  void send(int end, const std::vector<Request>& list) {
    std::vector<std::vector<ibv_sge>> sges;
    std::vector<ibv_send_wr> wrs(list.size());
    for (const Request& one : list) {
      ibv_send_wr& wr = wrs[sges.size()];
      sges.push_back(of(end).list(one.sges));
      wr = {.wr_id = one.id,
            .next = sges.size() != list.size() ? &wr + 1 : nullptr,
            .sg_list = sges.back().data(),
            .num_sge = static_cast<int>(sges.back().size()),
            .opcode = one.opcode,
            .send_flags = one.flags};
      wr.imm_data = one.imm;
      const auto address = of(1 - end).address(one.remote_at);
      const auto rkey = of(1 - end).rkey(one.remote_region);
      if (one.opcode >= IBV_WR_ATOMIC_CMP_AND_SWP) {
        const bool swaps = one.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
        wr.wr.atomic = {.remote_addr = address,
                        .compare_add = swaps ? one.compare : one.operand,
                        .swap = one.operand,
                        .rkey = rkey};
      } else {
        wr.wr.rdma = {.remote_addr = address, .rkey = rkey};
      }
    }
    ibv_send_wr* bad = wrs.data();
    const PostResult expected = model_.post_send(end, list);
    const int code = ibv_post_send(of(end).qp.get(), wrs.data(), &bad);
    same(expected, code, bad - wrs.data());
  }

  void receive(int end, const std::vector<Receive>& list) {
    std::vector<std::vector<ibv_sge>> sges;
    std::vector<ibv_recv_wr> wrs(list.size());
    for (const Receive& one : list) {
      ibv_recv_wr& wr = wrs[sges.size()];
      sges.push_back(of(end).list(one.sges));
      wr = {.wr_id = one.id,
            .next = sges.size() != list.size() ? &wr + 1 : nullptr,
            .sg_list = sges.back().data(),
            .num_sge = static_cast<int>(sges.back().size())};
    }
    ibv_recv_wr* bad = wrs.data();
    const PostResult expected = model_.post_recv(end, list);
    const int code = ibv_post_recv(of(end).qp.get(), wrs.data(), &bad);
    same(expected, code, bad - wrs.data());
  }

  void modify(const Step& step) {
    Side& own = of(step.end);
    if (step.state == IBV_QPS_RESET) {
      poll_all(step.end);
      require_state(step.end);
    }
    const int code = own.move(step.state, of(1 - step.end), step.options);
    if (code != 0 && judge_.is_iwarp() && step.state == IBV_QPS_RTR) {
      judge_.not_applicable("ibv_modify_qp() does not connect queue pairs of this iWARP device");
    }
    require(code == 0, fmt::format("ibv_modify_qp returns {}", code),
            fmt::format("step {}: returns {}", step_, code));
    model_.modify(step.end, step.state, step.options);
    require_state(step.end);
    if (step.state == IBV_QPS_RESET) take_events(step.end, true);
  }

  // Polls until all has come that must come, and then compares states, events and memory.
  void settle() {
    for (const int end : {0, 1}) {
      // The answer proves that the peer has carried out all earlier requests. Without it, a request
      // that is not signaled, and as an RNIC any Write, may not be placed yet.
      if (const auto opcode = model_.barrier(end)) {
        Request barrier{.id = ++marker_, .opcode = *opcode, .flags = IBV_SEND_SIGNALED};
        barrier.sges = {{.at = kScratch, .length = 8}};
        barrier.remote_at = kScratch + 8;
        if (model_.is_full(end)) await(end, false);
        send(end, {barrier});
      }
    }
    for (const int end : {0, 1}) await(end);
    for (const int end : {0, 1}) {
      require(wait_for([&] { return has_left(end); }, kLongest),
              fmt::format("{} stays in RTS, expected ERR", letter(end)),
              fmt::format("step {}: {} state {}", step_, letter(end), +IBV_QPS_RTS));
      if (model_.state(end) == IBV_QPS_ERR) drain(end);
    }
    for (const int end : {0, 1}) {
      if (!wait_for([&] { return has_events(end); }, kLongest)) throw_missing_event(end);
      // The answer to a Write does not say that its octets are visible.
      std::optional<std::size_t> place;
      const auto is_same = [&] {
        place = model_.differs(end, of(end).bytes());
        return !place;
      };
      if (wait_for(is_same, kLatestPlacement)) continue;
      throw Difference{
          .what = fmt::format("memory of {} at offset {}: {:02x}, expected {:02x}", letter(end),
                              *place, of(end).bytes()[*place], model_.memory(end)[*place]),
          .line =
              fmt::format("{} memory {}: {:02x}", letter(end), *place, of(end).bytes()[*place])};
    }
  }

  bool has_left(int end) {
    require_state(end);
    return !model_.is_leaving(end);
  }
  bool has_events(int end) {
    take_events(end, false);
    return model_.events(end).empty();
  }
  // Posts one more request and one more receive in ERR. When they are flushed, nothing else can
  // come (IBTA 10.3.1.5).
  void drain(int end) {
    send(end, {Request{.id = ++marker_, .flags = IBV_SEND_SIGNALED}});
    receive(end, {Receive{.id = ++marker_ + kMarker}});
    await(end);
  }
  void await(int end) {
    for (const bool is_receive : {false, true}) await(end, is_receive);
  }

  void await(int end, bool is_receive) {
    const auto is_all_there = [&] {
      poll_all(end);
      return model_.awaited(end, is_receive) == nullptr;
    };
    if (wait_for(is_all_there, kLongest)) return;
    const auto id = model_.awaited(end, is_receive)->id;
    throw Difference{.what = fmt::format("{}: no completion {}", letter(end), id),
                     .line = fmt::format("{} completion {}: ", letter(end), id),
                     .is_missing = true};
  }

  void poll_all(int end) {
    ibv_wc wc{};
    for (const bool is_second : {false, true}) {
      while (ibv_poll_cq(of(end).queue(is_second), 1, &wc) == 1) {
        const bool is_receive = receives(end, wc.wr_id);
        if (model_.may_leave(end)) require_state(end);  // The state precedes what is flushed.
        require_none(end, model_.completed(end, is_receive, wc),
                     wc.wr_id > kMarker ? "" : fmt::format("{} {}", letter(end), line_of(wc)));
        require(wc.qp_num == of(end).qp->qp_num,
                "a completion has the qp_num of another queue pair", "");
      }
    }
  }

  // Returns whether the wr_id is that of a receive.
  bool receives(int end, std::uint64_t id) const {
    if (id > kMarker) return id > 2 * kMarker;
    return std::ranges::any_of(plan_.steps, [&](const Step& step) {
      return step.end == end &&
             std::ranges::any_of(step.receives, [&](const Receive& one) { return one.id == id; });
    });
  }

  void require_state(int end) {
    const ibv_qp_state state = of(end).state();
    require_none(end, model_.observed(end, state),
                 fmt::format("step {}: {} state {}", step_, letter(end), +state));
  }

  // Both ends have one context, so an event may be that of the other end.
  void take_events(int end, bool is_last) {
    while (const auto event = next_event(judge_.context(), {})) {
      const auto type = event->event_type;
      const int owner = event->element.qp == of(1).qp.get() ? 1 : 0;
      require_none(owner, model_.reported(owner, type),
                   fmt::format("{} event {}", letter(owner), +type));
    }
    if (is_last && !model_.events(end).empty()) throw_missing_event(end);
  }

  [[noreturn]] void throw_missing_event(int end) const {
    const auto type = model_.events(end).front();
    throw Difference{
        .what = fmt::format("{}: no event \"{}\"", letter(end), ibv_event_type_str(type)),
        .line = fmt::format("{} event {}", letter(end), +type),
        .is_missing = true};
  }

  static constexpr std::chrono::seconds kLongest{60};
  static constexpr std::chrono::seconds kLatestPlacement{2};

  Judge& judge_;
  const Plan& plan_;
  std::array<QpOptions, 2> options_;
  Model model_;
  std::array<Side, 2> ends_;
  std::uint64_t marker_ = kMarker;
  std::size_t step_ = 0;
};

}  // namespace

std::optional<Difference> execute(Judge& judge, const Plan& plan) {
  try {
    Run(judge, plan).all();
  } catch (const Difference& difference) {
    return difference;
  }
  return std::nullopt;
}

std::string line_of(const ibv_wc& wc) {
  std::string out = fmt::format("completion {}: status {}", wc.wr_id, +wc.status);
  if (wc.status != IBV_WC_SUCCESS) return out;
  out += fmt::format(" opcode {}", +wc.opcode);
  if ((wc.opcode & IBV_WC_RECV) == 0) return out;
  out += fmt::format(" bytes {}", wc.byte_len);
  if ((wc.wc_flags & IBV_WC_WITH_IMM) != 0) out += fmt::format(" imm {}", wc.imm_data);
  return out;
}

}  // namespace iwarp::judge::generated
