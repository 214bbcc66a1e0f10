// SPDX-License-Identifier: Apache-2.0
// Maker: draws the steps of a plan, which include one error of a random kind. Also prints plans.
#include "judge/generated/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "judge/generated/random.hpp"
#include "judge/tools/ends.hpp"

namespace iwarp::judge::generated {
namespace {

using Kind = Step::Kind;

constexpr std::array kOpcodes{IBV_WR_SEND,
                              IBV_WR_SEND_WITH_IMM,
                              IBV_WR_RDMA_WRITE,
                              IBV_WR_RDMA_WRITE_WITH_IMM,
                              IBV_WR_RDMA_READ,
                              IBV_WR_ATOMIC_FETCH_AND_ADD,
                              IBV_WR_ATOMIC_CMP_AND_SWP};

enum class Trouble : std::uint8_t {
  kNone,
  kLocalRegion,      // an lkey that is wrong or stale, or the wrong bounds or rights
  kRemoteRegion,     // the same for an rkey
  kMisaligned,       // an atomic operation at an odd address
  kQueuePairRights,  // the responder's queue pair does not allow the operation
  kNoReads,          // the responder's queue pair has max_dest_rd_atomic 0
  kShortReceive,
  kReceiveRegion,
  kNoReceive,
  kRefusedRequest,  // the list has an element that the call must refuse
  kRefusedReceive,
  kTooManyRequests,
  kTooManyReceives,
  kWrongState,  // a post before the queue pair is in RTS
  kError,       // one end moves to ERR; the other may post afterwards
  kDestroyed,   // the same, if one end is destroyed
  kCount
};
constexpr std::array<std::string_view, 16> kNames{"none",
                                                  "local region",
                                                  "remote region",
                                                  "misaligned",
                                                  "queue pair rights",
                                                  "no reads",
                                                  "short receive",
                                                  "receive region",
                                                  "no receive",
                                                  "refused request",
                                                  "refused receive",
                                                  "too many requests",
                                                  "too many receives",
                                                  "wrong state",
                                                  "one end in ERR",
                                                  "one end destroyed"};
static_assert(kNames.size() == static_cast<std::size_t>(Trouble::kCount));

class Maker {
 public:
  Maker(std::uint64_t seed, bool as_roce) : random_(seed) {
    plan_.seed = seed;
    plan_.as_roce = as_roce;
  }

  Plan made() {
    const auto trouble = pick();
    plan_.trouble = static_cast<std::size_t>(trouble);
    plan_.own_receive_cq = random_.one_in(2);
    for (QpOptions& options : plan_.options) {
      options.cap = {.max_send_wr = number(10, 20),
                     .max_recv_wr = number(10, 20),
                     .max_send_sge = number(1, 4),
                     .max_recv_sge = number(1, 4),
                     .max_inline_data = number(0, 64)};
      options.signal_all = random_.one_in(3);
      options.rights = kAllRights;
    }
    if (trouble == Trouble::kWrongState) {
      connect_too_late();
    } else {
      connect(trouble);
    }
    for (auto rounds = random_.below(3); rounds != 0; --rounds) {
      good_round(static_cast<int>(random_.below(2)), trouble);
    }
    make_trouble(trouble);
    settle();
    for (const int end : order()) modify(end, IBV_QPS_RESET);
    connect(Trouble::kNone);
    for (const int end : order()) good_round(end, Trouble::kNone);
    return std::move(plan_);
  }

 private:
  std::uint32_t number(std::size_t least, std::size_t most) {
    return static_cast<std::uint32_t>(random_.between(least, most));
  }
  std::array<int, 2> order() { return random_.one_in(2) ? std::array{0, 1} : std::array{1, 0}; }
  Trouble pick() {
    for (;;) {
      const auto out =
          static_cast<Trouble>(random_.below(static_cast<std::size_t>(Trouble::kCount)));
      // An RNIC accepts requests before it is connected (decision 0014), and negotiates the number
      // of Reads with its peer.
      const bool only_roce = out == Trouble::kWrongState || out == Trouble::kNoReads;
      if (plan_.as_roce || !only_roce) return out;
    }
  }

  Step& add(Kind kind, int end) { return plan_.steps.emplace_back(Step{.kind = kind, .end = end}); }
  void settle() { add(Kind::kSettle, 0); }
  void modify(int end, ibv_qp_state state) {
    Step& step = add(Kind::kModify, end);
    step.state = state;
    step.options = attributes_[static_cast<std::size_t>(end)];
  }

  // The responder is always the other end of `requester_`.
  void connect(Trouble trouble) {
    attributes_ = plan_.options;
    QpOptions& responder = attributes_[static_cast<std::size_t>(1 - requester_)];
    if (trouble == Trouble::kNoReads) responder.reads = 0;
    if (trouble == Trouble::kQueuePairRights) {
      right_ = random_.one_of(
          std::array{IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_ATOMIC});
      responder.rights &= ~static_cast<unsigned>(right_);
    }
    for (const auto state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
      for (const int end : order()) modify(end, state);
    }
  }

  // IBTA 10.3.1: nothing is posted in RESET, and no request in INIT and RTR.
  void connect_too_late() {
    attributes_ = plan_.options;
    const auto when = random_.one_of(std::array{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR});
    const auto post = [&](ibv_qp_state state) {
      if (state != when) return;
      if (state == IBV_QPS_RESET && random_.one_in(2)) {
        add(Kind::kReceive, requester_).receives = {receive(requester_, 8)};
      } else {
        add(Kind::kSend, requester_).requests = {request(requester_, IBV_WR_RDMA_WRITE, 8)};
      }
    };
    post(IBV_QPS_RESET);
    for (const auto state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
      for (const int end : order()) {
        if (end == requester_ && state == IBV_QPS_RTS) post(IBV_QPS_RTR);
        modify(end, state);
        if (end == requester_) post(state);
      }
    }
  }

  std::uint32_t place(int end, std::uint32_t length) {
    auto& next = next_[static_cast<std::size_t>(end)];
    const std::uint32_t out = next;
    next += (length + 7) / 8 * 8;
    return out;
  }
  std::vector<Sge> split(int end, std::uint32_t length, std::uint32_t most) {
    std::vector<Sge> out;
    for (std::uint32_t left = number(1, most); length != 0; --left) {
      const std::uint32_t part = left <= 1 ? length : number(0, length);
      if (part != 0 || left > 1) out.push_back({.at = place(end, part), .length = part});
      length -= part;
    }
    return out;
  }
  const ibv_qp_cap& cap(int end) const { return plan_.options[static_cast<std::size_t>(end)].cap; }
  Receive receive(int end, std::uint32_t length) {
    return {.id = ++last_id_, .sges = split(end, length, cap(end).max_recv_sge)};
  }
  Request request(int end, ibv_wr_opcode opcode, std::uint32_t length) {
    Request out{.id = ++last_id_, .opcode = opcode};
    if (is_atomic(opcode)) length = 8;
    out.sges = split(end, length, is_atomic(opcode) ? 1 : cap(end).max_send_sge);
    if (random_.one_in(2)) out.flags |= IBV_SEND_SIGNALED;
    if (random_.one_in(5)) out.flags |= IBV_SEND_FENCE;
    if (random_.one_in(5)) out.flags |= IBV_SEND_SOLICITED;
    const bool fits = length <= cap(end).max_inline_data && !is_answered(opcode);
    if (fits && random_.one_in(4)) out.flags |= IBV_SEND_INLINE;
    out.imm = static_cast<std::uint32_t>(random_.bits());
    out.remote_at = place(1 - end, length);
    out.operand = random_.bits();
    out.compare = random_.bits();
    return out;
  }
  std::uint32_t length() { return random_.one_in(8) ? number(65, 1500) : number(1, 64); }
  bool allows(ibv_wr_opcode opcode, Trouble trouble) const {
    if (trouble == Trouble::kNoReads) return !is_answered(opcode);
    if (trouble != Trouble::kQueuePairRights) return true;
    if (right_ == IBV_ACCESS_REMOTE_ATOMIC) return !is_atomic(opcode);
    if (right_ == IBV_ACCESS_REMOTE_READ) return opcode != IBV_WR_RDMA_READ;
    return opcode != IBV_WR_RDMA_WRITE && opcode != IBV_WR_RDMA_WRITE_WITH_IMM;
  }
  std::vector<Request> good_list(int end, std::size_t count, Trouble trouble) {
    std::vector<Request> out;
    while (out.size() != count) {
      const auto opcode = random_.one_of(kOpcodes);
      if (allows(opcode, trouble)) out.push_back(request(end, opcode, length()));
    }
    return out;
  }
  std::vector<Receive> receives_for(int end, const std::vector<Request>& list) {
    std::vector<Receive> out;
    for (const Request& one : list) {
      if (!consumes_receive(one.opcode)) continue;
      std::uint32_t total = is_send(one.opcode) ? static_cast<std::uint32_t>(random_.below(9)) : 0;
      if (is_send(one.opcode)) total += length_of(one.sges);
      out.push_back(receive(end, total));
    }
    return out;
  }
  void post(int end, std::vector<Request> list) {
    while (!list.empty()) {  // in one call or in several
      const auto count = random_.one_in(2) ? list.size() : random_.between(1, list.size());
      const auto cut = list.begin() + static_cast<long>(count);
      add(Kind::kSend, end).requests.assign(list.begin(), cut);
      list.erase(list.begin(), cut);
    }
  }
  void post(int end, std::vector<Receive> list) {
    if (!list.empty()) add(Kind::kReceive, end).receives = std::move(list);
  }
  void good_round(int end, Trouble trouble) {
    auto list = good_list(end, random_.between(1, 6), trouble);
    list.back().flags |= IBV_SEND_SIGNALED;  // frees the slots of the requests before it
    post(1 - end, receives_for(1 - end, list));
    post(end, std::move(list));
    settle();
  }

  Sge& some_sge(std::vector<Sge>& sges) {
    const auto it = std::ranges::find_if(sges, [](const Sge& sge) { return sge.length != 0; });
    return *it;
  }
  // Where `length` bytes begin whose last byte is beyond kShortRegion.
  static std::uint32_t across(std::uint32_t length) {
    return static_cast<std::uint32_t>(kShort) - (length - 1);
  }
  Region wrong_region(bool writes) {
    const auto out =
        random_.one_of(std::array<Region, 4>{kStale, kUnknownKey, kShortRegion, kNoLocalWrite});
    return out == kNoLocalWrite && !writes ? kStale : out;
  }

  void make_trouble(Trouble trouble) {
    const int end = requester_;
    const int other = 1 - end;
    if (trouble == Trouble::kError || trouble == Trouble::kDestroyed) return stop(trouble);
    auto list = good_list(end, random_.between(1, 6), trouble);
    const auto k = random_.below(list.size());
    Request& bad = list[k];
    switch (trouble) {
      case Trouble::kLocalRegion: {
        bad.flags &= ~static_cast<unsigned>(IBV_SEND_INLINE);
        Sge& sge = some_sge(bad.sges);
        sge.region = wrong_region(is_answered(bad.opcode));
        if (sge.region == kShortRegion) sge.at = across(sge.length);
        break;
      }
      case Trouble::kRemoteRegion: {
        while (is_send(bad.opcode)) bad = request(end, random_.one_of(kOpcodes), length());
        bad.remote_region = random_.one_of(
            std::array<Region, 4>{kStale, kUnknownKey, kShortRegion, kNoRemoteRights});
        if (bad.remote_region != kShortRegion) break;
        bad.remote_at = is_atomic(bad.opcode) ? kShort : across(length_of(bad.sges));
        break;
      }
      case Trouble::kMisaligned:
        while (!is_atomic(bad.opcode)) bad = request(end, random_.one_of(kOpcodes), 8);
        bad.remote_at += number(1, 7);
        break;
      case Trouble::kQueuePairRights:
      case Trouble::kNoReads:
        while (allows(bad.opcode, trouble)) bad = request(end, random_.one_of(kOpcodes), length());
        break;
      case Trouble::kShortReceive:
      case Trouble::kReceiveRegion:
        if (!is_send(bad.opcode)) bad = request(end, IBV_WR_SEND, number(9, 64));
        break;
      case Trouble::kNoReceive:
        if (!consumes_receive(bad.opcode)) bad = request(end, IBV_WR_SEND, length());
        break;
      case Trouble::kRefusedRequest:
        refuse(end, bad);
        break;
      case Trouble::kTooManyRequests:
        list = good_list(end, cap(end).max_send_wr + 3, trouble);
        for (Request& one : list) {
          one.flags |= IBV_SEND_SIGNALED;
          if (consumes_receive(one.opcode)) one.opcode = IBV_WR_RDMA_WRITE;
        }
        add(Kind::kSend, end).requests = list;
        return;
      default:
        break;
    }
    auto receives = receives_for(other, list);
    const auto before = std::count_if(list.begin(), list.begin() + static_cast<long>(k),
                                      [](const auto& one) { return consumes_receive(one.opcode); });
    if (trouble == Trouble::kNoReceive) receives.resize(static_cast<std::size_t>(before));
    if (trouble == Trouble::kShortReceive) {
      auto& sges = receives[static_cast<std::size_t>(before)].sges;
      sges = {Sge{.at = place(other, 8), .length = number(0, 8)}};
      list[k].sges = {Sge{.at = place(end, 80), .length = number(9, 80)}};
      list[k].flags &= ~static_cast<unsigned>(IBV_SEND_INLINE);
    }
    if (trouble == Trouble::kReceiveRegion) {
      auto& sges = receives[static_cast<std::size_t>(before)].sges;
      some_sge(sges).region = wrong_region(true);
      for (Sge& sge : sges) {
        if (sge.region == kShortRegion) sge.at = across(sge.length);
      }
    }
    if (trouble == Trouble::kRefusedReceive || trouble == Trouble::kTooManyReceives) {
      refuse_receives(other, receives, trouble);
    }
    post(other, std::move(receives));
    // Receives that remain when the queue pair leaves RTS, or when it does not.
    if (trouble != Trouble::kNoReceive && trouble != Trouble::kTooManyReceives) stray(other);
    stray(end);
    post(end, std::move(list));
  }

  void stray(int end) {
    std::vector<Receive> out;
    for (auto count = random_.below(3); count != 0; --count) out.push_back(receive(end, 8));
    post(end, std::move(out));
  }
  void refuse(int end, Request& bad) {
    switch (random_.below(3)) {
      case 0:
        bad = request(end, IBV_WR_RDMA_WRITE, 64);
        bad.flags &= ~static_cast<unsigned>(IBV_SEND_INLINE);
        bad.sges.assign(kTooManySges, Sge{.length = 1});
        break;
      case 1:
        bad = request(end, IBV_WR_RDMA_WRITE, 8);
        bad.flags |= IBV_SEND_INLINE;
        bad.sges = {Sge{.length = kTooLongInline}};
        break;
      default:
        bad.opcode = IBV_WR_DRIVER1;
    }
  }
  // The element that is refused follows those that the requests need.
  void refuse_receives(int end, std::vector<Receive>& list, Trouble trouble) {
    if (trouble == Trouble::kRefusedReceive) {
      list.push_back({.id = ++last_id_, .sges = std::vector<Sge>(kTooManySges)});
      list.push_back(receive(end, 8));
      return;
    }
    while (list.size() < cap(end).max_recv_wr + 2) list.push_back(receive(end, 8));
  }
  void stop(Trouble trouble) {
    const int end = random_.one_in(2) ? 0 : 1;
    stray(end);
    stray(1 - end);
    if (trouble == Trouble::kDestroyed) {
      add(Kind::kDestroy, end);
    } else {
      modify(end, IBV_QPS_ERR);
    }
    settle();
    // Rarely, because each of these takes two seconds (decision 0023).
    if (random_.one_in(8))
      add(Kind::kSend, 1 - end).requests = good_list(1 - end, number(1, 3), {});
  }

  // Above what the executor is granted: see ibv_qp_cap in Plan::options.
  static constexpr std::size_t kTooManySges = 17;
  static constexpr std::uint32_t kTooLongInline = 5000;

  Random random_;
  Plan plan_;
  std::array<QpOptions, 2> attributes_;
  int requester_ = 0;
  int right_ = 0;
  std::uint64_t last_id_ = 0;
  std::array<std::uint32_t, 2> next_{};
};

std::string describe(std::span<const Sge> sges) {
  std::string out;
  for (const Sge& sge : sges) {
    out += fmt::format(" {}+{}", sge.at, sge.length);
    if (sge.region != kAll) out += fmt::format("(region {})", static_cast<int>(sge.region));
  }
  return out;
}

std::string describe(const Request& request) {
  constexpr std::array kOperations{"Write", "WriteImm", "Send",     "SendImm",
                                   "Read",  "CmpSwap",  "FetchAdd", "invalid"};
  std::string out =
      fmt::format("{} {}:{}", request.id, kOperations[std::min<std::size_t>(request.opcode, 7)],
                  describe(request.sges));
  if (!is_send(request.opcode)) out += fmt::format(" at {}", request.remote_at);
  if (request.remote_region != kAll) {
    out += fmt::format("(region {})", static_cast<int>(request.remote_region));
  }
  for (const auto& [flag, word] : {std::pair{IBV_SEND_SIGNALED, " signaled"},
                                   {IBV_SEND_FENCE, " fenced"},
                                   {IBV_SEND_INLINE, " inline"}}) {
    if ((request.flags & flag) != 0) out += word;
  }
  return out;
}

}  // namespace

Plan make_plan(std::uint64_t seed, bool as_roce) { return Maker(seed, as_roce).made(); }

std::span<const std::string_view> trouble_names() { return kNames; }

std::string describe(const Step& step) {
  const char end = static_cast<char>('a' + step.end);
  std::vector<std::string> parts;
  switch (step.kind) {
    case Kind::kSend:
      for (const auto& one : step.requests) parts.push_back(describe(one));
      return fmt::format("{} posts {}", end, fmt::join(parts, "; "));
    case Kind::kReceive:
      for (const auto& one : step.receives) {
        parts.push_back(fmt::format("{}:{}", one.id, describe(one.sges)));
      }
      return fmt::format("{} posts receives {}", end, fmt::join(parts, "; "));
    case Kind::kModify:
      return fmt::format("{} moves to state {}", end, static_cast<int>(step.state));
    case Kind::kDestroy:
      return fmt::format("{} is destroyed", end);
    case Kind::kSettle:
      return "settle";
  }
  return "";
}

std::string describe(const Plan& plan) {
  std::string out = fmt::format("seed {}, {}, trouble: {}\n", plan.seed,
                                plan.as_roce ? "RoCE" : "iWARP", kNames[plan.trouble]);
  for (const QpOptions& end : plan.options) {
    out += fmt::format("  send queue {}, receive queue {}, SGEs {} and {}, inline {}{}\n",
                       end.cap.max_send_wr, end.cap.max_recv_wr, end.cap.max_send_sge,
                       end.cap.max_recv_sge, end.cap.max_inline_data,
                       end.signal_all ? ", all signaled" : "");
  }
  for (const Step& step : plan.steps) out += "  " + describe(step) + "\n";
  return out;
}

}  // namespace iwarp::judge::generated
