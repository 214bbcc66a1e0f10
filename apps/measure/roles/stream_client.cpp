// SPDX-License-Identifier: Apache-2.0
// The client of streams: keeps `depth` messages in flight on each lane. With --check, it sends RDMA
// Writes in rounds of `depth`, and waits after each round until the server has checked them. The
// client of a counted stream reads neither the clock nor the payload between its messages.
#include <algorithm>
#include <limits>
#include <numeric>

#include "command_line/stop.hpp"
#include "common/base/error.hpp"
#include "measure/basics/pattern.hpp"
#include "measure/roles/roles.hpp"

namespace iwarp::apps::measure {

namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

class StreamClient final : public ClientRole {
 public:
  StreamClient(const Plan& plan, Endpoint& endpoint)
      : plan_(plan),
        endpoint_(endpoint),
        by_rounds_(plan.check && plan.test->operation == Operation::kWrite),
        posted_at_(plan.qps * plan.depth) {
    endpoint_.on_idle([this](Clock::time_point now) { look(now); });
  }

 private:
  void begin() override {
    before_.clear();
    for (const auto& lane : lanes()) before_.push_back(lane.posted);
    endpoint_.send_signal(lanes().front(), {.mark = Mark::kBegin});
    await_replies(1);
  }

  void move(const Phase& phase, Clock::time_point now) override {
    if (plan_.is_counted()) {
      write(phase.messages);
    } else {
      stream(now + phase.duration);
    }
    for (auto& lane : lanes()) {
      const auto sent = lane.posted - before_[lane.index];
      endpoint_.send_signal(lane, {.mark = Mark::kEnd, .count = sent});
    }
    await_replies(lanes().size());
  }

  Observed observed() const override { return endpoint_.observed(); }

  std::vector<std::uint64_t> counts() const override {
    std::vector<std::uint64_t> out;
    for (const auto& lane : lanes()) out.push_back(lane.done - before_[lane.index]);
    return out;
  }

  std::vector<Lane>& lanes() const { return endpoint_.lanes(); }

  /// Sends the messages of a counted stream.
  void write(std::uint64_t messages) {
    auto& lane = lanes().front();
    const auto end = lane.posted + messages;
    while (lane.done < end) {
      while (lane.posted < end && lane.posted - lane.done < plan_.depth) {
        endpoint_.post(lane, 1, true);
      }
      const auto wc = endpoint_.wait();
      if (wc.opcode == verbs::WcOpcode::kWrite) lane.done += Endpoint::count(wc);
    }
    outcome_.messages = messages;
  }

  void stream(Clock::time_point end) {
    Clock::time_point now;
    fill_all();
    do {
      for (const auto index : to_fill_) {
        fill(lanes()[index], by_rounds_ ? round_first_[index] + plan_.depth : kUnlimited);
      }
      to_fill_.clear();
      if (by_rounds_ && all_done()) {
        finish_round();
      } else {
        handle(endpoint_.wait());
      }
      while (const auto wc = endpoint_.poll()) handle(*wc);
      now = Clock::now();
      look(now);
    } while (now < end && !finish_requested());
    while (!all_done()) handle(endpoint_.wait());
    if (by_rounds_) finish_round();
  }

  void fill_all() {
    to_fill_.resize(lanes().size());
    std::iota(to_fill_.begin(), to_fill_.end(), std::uint64_t{0});
  }

  void fill(Lane& lane, std::uint64_t limit) {
    while (lane.posted - lane.done + plan_.list <= plan_.depth && lane.posted < limit) {
      const auto count = std::min(plan_.list, limit - lane.posted);
      if (plan_.check) prepare(lane, count);
      const auto now = Clock::now();
      endpoint_.post(lane, count, true);
      posted_at_[lane.index * plan_.depth + (lane.posted - 1) % plan_.depth] = now;
    }
  }

  bool all_done() const {
    return std::ranges::all_of(lanes(), [](const Lane& l) { return l.posted == l.done; });
  }

  void finish_round() {
    std::size_t replies = 0;
    for (auto& lane : lanes()) {
      const auto first = round_first_[lane.index];
      if (first == lane.posted) continue;
      endpoint_.send_signal(lane,
                            {.mark = Mark::kRound, .first = first, .count = lane.posted - first});
      round_first_[lane.index] = lane.posted;
      ++replies;
    }
    await_replies(replies);
    fill_all();
  }

  // Prepares the buffers of the next messages: fills them with the pattern or, for Reads, clears
  // them, because the Reads will fill them.
  void prepare(Lane& lane, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto octets = endpoint_.slot(lane, lane.posted + i);
      if (plan_.test->operation == Operation::kRead) {
        std::ranges::fill(octets, std::byte{0xFF});
      } else {
        fill_pattern(octets, lane.index, lane.posted + i);
      }
    }
  }

  void handle(const verbs::WorkCompletion& wc) {
    if (wc.opcode == verbs::WcOpcode::kRecv) {
      endpoint_.repost(wc);
      ++replies_;
      return;
    }
    const auto count = Endpoint::count(wc);
    if (count == 0) return;  // the completion of a signal; a signal is not a message
    auto& lane = endpoint_.lane(wc);
    const auto last = lane.done + count - 1;
    outcome_.latency.add(Clock::now() - posted_at_[lane.index * plan_.depth + last % plan_.depth]);
    if (plan_.check && plan_.test->operation == Operation::kRead) check_reads(lane, count);
    lane.done += count;
    outcome_.messages += count;
    to_fill_.push_back(lane.index);
  }

  void check_reads(Lane& lane, std::uint64_t count) {
    for (std::uint64_t i = lane.done; i < lane.done + count; ++i) {
      check_pattern(endpoint_.slot(lane, i), lane.index, i % plan_.depth);
    }
  }

  void await_replies(std::size_t count) {
    while (replies_ < count) handle(endpoint_.wait());
    replies_ = 0;
  }

  const Plan& plan_;
  Endpoint& endpoint_;
  const bool by_rounds_;
  std::vector<Clock::time_point> posted_at_;
  std::vector<std::uint64_t> before_;  ///< number of messages posted on each lane before the phase
  std::vector<std::uint64_t> round_first_ = std::vector<std::uint64_t>(plan_.qps);
  std::vector<std::uint64_t> to_fill_;  ///< indices of lanes to fill() next; may repeat
  std::size_t replies_ = 0;
};

}  // namespace

double slowest_share(std::span<const std::uint64_t> counts) {
  const auto sum = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (sum == 0) return 0;
  return static_cast<double>(std::ranges::min(counts) * counts.size()) / static_cast<double>(sum);
}

Outcome ClientRole::run(const Phase& phase, Intervals& intervals) {
  outcome_ = {};
  intervals_ = &intervals;
  begin();
  const auto used_before = observed();
  const auto start = Clock::now();
  intervals.begin(start, phase.duration);
  try {
    move(phase, start);
  } catch (const Interrupted&) {
    outcome_.confirmed = false;
  }
  if (const auto each = counts(); !each.empty()) outcome_.slowest_share = slowest_share(each);
  const auto end = Clock::now();
  outcome_.seconds = std::chrono::duration<double>(end - start).count();
  outcome_.used = usage::difference(observed(), used_before);
  intervals.end(end, outcome_.messages, outcome_.latency);
  return outcome_;
}

std::unique_ptr<ClientRole> make_stream_client(const Plan& plan, Endpoint& endpoint) {
  return std::make_unique<StreamClient>(plan, endpoint);
}

}  // namespace iwarp::apps::measure
