// SPDX-License-Identifier: Apache-2.0
// Runs generated plans at two queue pairs of this process through the C interface, and compares
// each return value, completion, state, event and byte of memory with the model. At the first
// difference, prints the plan and the difference, and exits with status 1.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string_view>
#include <thread>

#include "../rdma_core/support/verbs_end.hpp"
#include "plan.hpp"

namespace {

using namespace iwarp::sequences;  // NOLINT: this file only runs plans
using rdma_core_test::check;
using rdma_core_test::must;
using rdma_core_test::VerbsEnd;

constexpr std::uint64_t kShortRun = 300;
constexpr std::uint64_t kLongRun = 3'000;
constexpr std::uint64_t kMarker = 1'000'000;  // greater than the wr_ids of plans
constexpr std::uint32_t kScratch = kMemory - 64;

char letter(int end) { return static_cast<char>('a' + end); }

struct Difference {
  std::string what;
};

void require(bool holds, std::string what) {
  if (!holds) throw Difference{std::move(what)};
}
void require_none(int end, const std::string& difference) {
  require(difference.empty(), fmt::format("{}: {}", letter(end), difference));
}

/// The device of one end. It remains open, so that each plan only makes queues.
struct Device {
  ibv_context* context = rdma_core_test::first_device();
  ibv_pd* pd = must(ibv_alloc_pd(context));
  Device() { check(fcntl(context->async_fd, F_SETFL, O_NONBLOCK) == 0, "O_NONBLOCK"); }
};

rdma_core_test::EndOptions shape(const Plan& plan, const EndOptions& options,
                                 const Device& device) {
  rdma_core_test::EndOptions out;
  out.cap = options.cap;
  out.signal_all = options.signal_all ? 1 : 0;
  out.own_receive_cq = plan.own_receive_cq;
  out.memory = kMemory;
  out.context = device.context;
  out.pd = device.pd;
  return out;
}

/// An end, with a region for each enumerator of Region.
struct End : VerbsEnd {
  End(const Plan& plan, EndOptions& options, const Device& device, std::uint64_t seed)
      : VerbsEnd(shape(plan, options, device)), shape_(shape(plan, options, device)) {
    const auto region = [&](std::size_t length, int access) {
      return regions_.emplace_back(must(ibv_reg_mr(pd, memory, length, access)));
    };
    region(kMemory, rdma_core_test::kAllRights);
    region(kMemory, IBV_ACCESS_LOCAL_WRITE);
    region(kMemory, IBV_ACCESS_REMOTE_READ);
    region(kShort, rdma_core_test::kAllRights);
    ibv_mr* const stale = must(ibv_reg_mr(pd, memory, kMemory, rdma_core_test::kAllRights));
    stale_ = stale->rkey;
    check(ibv_dereg_mr(stale) == 0, "ibv_dereg_mr");
    for (std::size_t i = 0; i < kMemory; ++i) {
      memory[i] = static_cast<char>((i * 131 + (i >> 8) * 17) ^ seed);
    }
    read_capacities(options);
  }
  ~End() {
    for (ibv_mr* const one : regions_) ibv_dereg_mr(one);
    if (!destroy()) std::fputs("an object of an end cannot be destroyed\n", stderr);
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  void read_capacities(EndOptions& options) const {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    check(ibv_query_qp(qp, &attr, IBV_QP_CAP, &init) == 0, "ibv_query_qp");
    options.cap = init.cap;
  }
  std::uint32_t key(Region region) const {
    if (region == kStale) return stale_;
    return region == kUnknownKey ? regions_[kAll]->lkey ^ 0xFF00 : regions_[region]->lkey;
  }
  std::vector<ibv_sge> list(const std::vector<Sge>& sges) const {
    std::vector<ibv_sge> out;
    for (const Sge& sge : sges) out.push_back({remote(sge.at), sge.length, key(sge.region)});
    return out;
  }
  ibv_cq* queue(bool is_receive) const {
    return is_receive && receive_cq != nullptr ? receive_cq : cq;
  }
  std::span<const std::uint8_t> bytes() const {
    return {reinterpret_cast<const std::uint8_t*>(memory), kMemory};
  }
  void replace() {
    check(ibv_destroy_qp(qp) == 0, "ibv_destroy_qp");
    qp = make_qp(shape_);
  }

 private:
  rdma_core_test::EndOptions shape_;
  std::vector<ibv_mr*> regions_;
  std::uint32_t stale_ = 0;
};

class Run {
 public:
  Run(Plan& plan, std::array<Device, 2>& devices, bool verbose)
      : plan_(plan),
        verbose_(verbose),
        model_(plan.as_roce),
        ends_{End(plan, plan.options[0], devices[0], plan.seed),
              End(plan, plan.options[1], devices[1], ~plan.seed)} {
    for (const int end : {0, 1}) {
      model_.create(end, plan.options[static_cast<std::size_t>(end)]);
      const auto bytes = of(end).bytes();
      model_.memory(end).assign(bytes.begin(), bytes.end());
    }
  }

  std::uint64_t all() {
    for (const Step& step : plan_.steps) {
      if (verbose_) fmt::print("{}\n", describe(step));
      perform(step);
    }
    for (const int end : {0, 1}) take_events(end, true);
    return completions_;
  }

 private:
  End& of(int end) { return ends_[static_cast<std::size_t>(end)]; }

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

  void same(const Result& expected, int code, std::ptrdiff_t bad) const {
    const std::string refused = code == 0 ? "" : fmt::format(" at element {}", bad);
    require(
        code == expected.code && (code == 0 || bad == static_cast<std::ptrdiff_t>(expected.bad)),
        fmt::format("the call returns {}{}, expected {} at element {}", code, refused,
                    expected.code, expected.bad));
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
      const auto address = of(1 - end).remote(one.remote_at);
      const auto rkey = of(1 - end).key(one.remote_region);
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
    const Result expected = model_.post_send(end, list);
    const int code = ibv_post_send(of(end).qp, wrs.data(), &bad);
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
    const Result expected = model_.post_recv(end, list);
    const int code = ibv_post_recv(of(end).qp, wrs.data(), &bad);
    same(expected, code, bad - wrs.data());
  }

  void modify(const Step& step) {
    End& own = of(step.end);
    ibv_qp_attr attr{.qp_state = step.state};
    int mask = IBV_QP_STATE;
    if (step.state == IBV_QPS_INIT || step.state == IBV_QPS_RTR || step.state == IBV_QPS_RTS) {
      attr =
          rdma_core_test::rc_attributes(own.context, of(1 - step.end).qp, step.options.rights, 4);
      attr.qp_state = step.state;
      attr.max_dest_rd_atomic = step.options.reads;
      attr.ah_attr.is_global = 1;
      check(ibv_query_gid(own.context, 1, 0, &attr.ah_attr.grh.dgid) == 0, "ibv_query_gid");
      attr.timeout = kTimeout;
      attr.retry_cnt = kRetries;
      mask = step.state == IBV_QPS_INIT  ? rdma_core_test::kToInit
             : step.state == IBV_QPS_RTR ? rdma_core_test::kToRtr
                                         : rdma_core_test::kToRts;
    }
    if (step.state == IBV_QPS_RESET) {
      poll_all(step.end);
      require_state(step.end);
    }
    require(ibv_modify_qp(own.qp, &attr, mask) == 0, "ibv_modify_qp fails");
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
      wait([&] { return has_left(end); }, "the queue pair does not leave RTS");
      if (model_.state(end) == IBV_QPS_ERR) drain(end);
    }
    for (const int end : {0, 1}) {
      wait([&] { return has_events(end); }, "no event comes");
      const auto place = model_.differs(end, of(end).bytes());
      if (!place) continue;
      throw Difference{fmt::format("memory of {} at {}: {:02x}, expected {:02x}", letter(end),
                                   *place, of(end).bytes()[*place], model_.memory(end)[*place])};
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
    wait(
        [&] {
          poll_all(end);
          return model_.awaited(end, is_receive) == nullptr;
        },
        "no completion");
  }

  template <typename Holds>
  static void wait(Holds holds, const char* otherwise) {
    const auto until = std::chrono::steady_clock::now() + rdma_core_test::kLimit;
    while (!holds()) {
      require(std::chrono::steady_clock::now() < until, otherwise);
      std::this_thread::yield();
    }
  }

  void poll_all(int end) {
    ibv_wc wc{};
    for (const bool is_second : {false, true}) {
      while (ibv_poll_cq(of(end).queue(is_second), 1, &wc) == 1) {
        ++completions_;
        const bool is_receive = receives(end, wc.wr_id);
        if (model_.may_leave(end)) require_state(end);  // The state precedes what is flushed.
        if (verbose_) {
          fmt::print("    {}: {} {}: {}\n", letter(end), is_receive ? "receive" : "request",
                     wc.wr_id, ibv_wc_status_str(wc.status));
        }
        require_none(end, model_.completed(end, is_receive, wc));
        require(wc.qp_num == of(end).qp->qp_num,
                "a completion has the number of another queue pair");
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

  void require_state(int end) { require_none(end, model_.observed(end, of(end).state())); }

  void take_events(int end, bool is_last) {
    ibv_async_event event{};
    while (ibv_get_async_event(of(end).context, &event) == 0) {
      const auto type = event.event_type;
      ibv_ack_async_event(&event);
      const bool is_of_port = type == IBV_EVENT_GID_CHANGE || type == IBV_EVENT_PORT_ERR ||
                              type == IBV_EVENT_PORT_ACTIVE;
      if (is_of_port) continue;
      if (verbose_) fmt::print("    {}: event {}\n", letter(end), ibv_event_type_str(type));
      require_none(end, model_.told(end, type));
    }
    if (is_last && !model_.events(end).empty()) {
      throw Difference{
          fmt::format("no event \"{}\"", ibv_event_type_str(model_.events(end).front()))};
    }
  }

  static constexpr std::uint8_t kTimeout = 20;  // 4.096 us x 2^20, eight times
  static constexpr std::uint8_t kRetries = 7;

  Plan& plan_;
  const bool verbose_;
  Model model_;
  std::array<End, 2> ends_;
  std::uint64_t marker_ = kMarker;
  std::uint64_t completions_ = 0;
};

struct Arguments {
  std::uint64_t first = 1;
  std::uint64_t last = kShortRun;
  bool verbose = false;
  bool all = false;
  std::string_view trouble;  ///< only plans with this error
};

std::optional<Arguments> parse(std::span<char*> words) {
  Arguments out;
  const char* const long_run = std::getenv("IWARP_LONG");
  if (long_run != nullptr && std::string_view(long_run) == "1") out.last = kLongRun;
  const auto number = [](std::string_view text, std::uint64_t& to) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    return error == std::errc{} && end == text.data() + text.size();
  };
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const std::string_view value = i + 1 < words.size() ? words[i + 1] : "";
    if (word == "--verbose") {
      out.verbose = true;
    } else if (word == "--all") {
      out.all = true;
    } else if (word == "--trouble" && !value.empty()) {
      out.trouble = value;
      ++i;
    } else if (word == "--seed" && number(value, out.first)) {
      out.last = out.first;
      ++i;
    } else if (word == "--seeds" && number(value, out.last)) {
      ++i;
    } else {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = parse({argv, static_cast<std::size_t>(argc)});
  if (!arguments) {
    std::fputs("usage: sequences [--seeds COUNT | --seed N] [--verbose] [--all] [--trouble NAME]\n",
               stderr);
    return 2;
  }
  setenv("IWARP_LOG", "off", 0);
  setenv("IWARP_RECEIVE_HOLD", "20", 0);
  const char* const persona = std::getenv("IWARP_AS");
  const bool as_roce = persona != nullptr && std::string_view(persona) == "roce";
  std::array<Device, 2> devices;
  std::map<std::string, unsigned> troubles;
  std::uint64_t completions = 0;
  unsigned differences = 0;
  for (std::uint64_t seed = arguments->first; seed <= arguments->last; ++seed) {
    Plan plan = make_plan(seed, as_roce);
    if (!arguments->trouble.empty() && plan.trouble != arguments->trouble) continue;
    ++troubles[plan.trouble];
    try {
      completions += Run(plan, devices, arguments->verbose).all();
    } catch (const Difference& difference) {
      ++differences;
      if (!arguments->all) fmt::print("{}", describe(plan));
      fmt::print("seed {}, {}: difference: {}\n", seed, plan.trouble, difference.what);
      if (!arguments->all) return 1;
    }
  }
  if (differences != 0) return 1;
  fmt::print("{} seeds as {}, {} completions: no difference from the model\n",
             arguments->last - arguments->first + 1, as_roce ? "RoCE" : "iWARP", completions);
  for (const auto& [trouble, count] : troubles) fmt::print("  {:5} {}\n", count, trouble);
  return 0;
}
