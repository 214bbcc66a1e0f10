// SPDX-License-Identifier: Apache-2.0
// The client and the server over RDMA. The client of a stream keeps `depth` messages in flight on
// each lane. With --check, it sends RDMA Writes in rounds of `depth`, and waits after each round
// until the server has checked them. In a ping-pong, the server answers each message with one of
// the same size, and the latency is half of the round-trip time. The stack serves Writes and Reads
// without the server's code.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "command_line/stop.hpp"
#include "common/base/error.hpp"
#include "measure/basics/pattern.hpp"
#include "measure/roles/roles.hpp"

namespace iwarp::apps::measure {

namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

bool is_receive(const verbs::WorkCompletion& wc) {
  return wc.opcode == verbs::WcOpcode::kRecv || wc.opcode == verbs::WcOpcode::kRecvImmediate;
}

class RdmaClient final : public ClientRole {
 public:
  RdmaClient(const Plan& plan, const std::string& host, Control& control)
      : ClientRole(plan), endpoint_(plan, Endpoint::Side::kClient) {
    endpoint_.connect({.host = host, .port = control.receive_port()}, control);
    endpoint_.on_idle([this](Clock::time_point now) { look(now); });
  }

  std::string congestion() const override { return endpoint_.congestion(); }
  void disconnect() override { endpoint_.disconnect(); }

 private:
  void begin() override {
    endpoint_.send_signal(lanes_.front(), {.mark = Mark::kBegin});
    await_replies(1);
  }

  void move(const Phase& phase, Clock::time_point now) override {
    const auto end = now + phase.duration;
    if (plan_.is_counted()) {
      write(lanes_.front(), phase.messages);
    } else if (!plan_.is_latency()) {
      stream(end);
    } else {
      while (now < end && !finish_requested()) now = exchange(lanes_.front(), now);
      repost();
    }
    for (auto& lane : lanes_) {
      endpoint_.send_signal(lane, {.mark = Mark::kEnd, .count = counts_[lane.index]});
    }
    await_replies(lanes_.size());
  }

  Observed observed() const override { return endpoint_.observed(); }

  /// Sends the messages of a counted stream. Between them, reads neither the clock nor the payload.
  void write(Lane& lane, std::uint64_t messages) {
    const auto end = lane.posted + messages;
    while (lane.done < end) {
      while (lane.posted < end && lane.posted - lane.done < plan_.depth) {
        endpoint_.post(lane, 1);
      }
      const auto wc = endpoint_.wait();
      if (wc.opcode == verbs::WcOpcode::kWrite) lane.done += Endpoint::count(wc);
    }
    counts_.front() = messages;
  }

  void stream(Clock::time_point end) {
    Clock::time_point now;
    fill_all();
    do {
      for (const auto index : to_fill_) {
        fill(lanes_[index], by_rounds_ ? round_first_[index] + plan_.depth : kUnlimited);
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
    to_fill_.resize(plan_.carriers());
    std::iota(to_fill_.begin(), to_fill_.end(), std::uint64_t{0});
  }

  void fill(Lane& lane, std::uint64_t limit) {
    while (lane.posted - lane.done + plan_.list <= plan_.depth && lane.posted < limit) {
      const auto count = std::min(plan_.list, limit - lane.posted);
      for (std::uint64_t i = 0; plan_.check && i < count; ++i) prepare(lane, lane.posted + i);
      const auto now = Clock::now();
      endpoint_.post(lane, count);
      posted_at_[lane.index * plan_.depth + (lane.posted - 1) % plan_.depth] = now;
    }
  }

  bool all_done() const {
    return std::ranges::all_of(lanes_, [](const Lane& l) { return l.posted == l.done; });
  }

  void finish_round() {
    std::size_t replies = 0;
    for (auto& lane : lanes_) {
      const auto first = std::exchange(round_first_[lane.index], lane.posted);
      if (first == lane.posted) continue;
      endpoint_.send_signal(lane,
                            {.mark = Mark::kRound, .first = first, .count = lane.posted - first});
      ++replies;
    }
    await_replies(replies);
    fill_all();
  }

  // Prepares the buffer of a message: fills it with the pattern or, for a Read, clears it, because
  // the Read will fill it.
  void prepare(Lane& lane, std::uint64_t number) {
    const auto octets = endpoint_.slot(lane, number);
    if (plan_.is(Operation::kRead)) {
      std::ranges::fill(octets, std::byte{0xFF});
    } else {
      fill_pattern(octets, lane.index, number);
    }
  }

  void check_read(Lane& lane, std::uint64_t number) {
    check_pattern(endpoint_.slot(lane, number), lane.index, number % plan_.depth);
  }

  void handle(const verbs::WorkCompletion& wc) {
    if (is_receive(wc)) {
      endpoint_.repost(wc);
      ++replies_;
      return;
    }
    const auto count = Endpoint::count(wc);
    // A signal is not a message. The messages of a ping-pong count when their answer arrives.
    if (count == 0 || plan_.is_latency()) return;
    auto& lane = endpoint_.lane(wc);
    const auto last = lane.done + count - 1;
    outcome_.latency.add(Clock::now() - posted_at_[lane.index * plan_.depth + last % plan_.depth]);
    for (auto i = lane.done; plan_.check && plan_.is(Operation::kRead) && i <= last; ++i) {
      check_read(lane, i);
    }
    lane.done += count;
    counts_[lane.index] += count;
    to_fill_.push_back(lane.index);
  }

  void await_replies(std::size_t count) {
    while (replies_ < count) handle(endpoint_.wait());
    replies_ = 0;
  }

  /// Sends one message of a ping-pong and waits for the answer. Returns the time at which the
  /// answer arrived.
  Clock::time_point exchange(Lane& lane, Clock::time_point begun) {
    const auto number = lane.posted;
    if (plan_.check) prepare(lane, number);
    // The last byte differs from that of the previous message, so that a peer that polls memory
    // recognises a new message.
    endpoint_.slot(lane, number).back() = static_cast<std::byte>(number);
    const auto sent = plan_.check ? Clock::now() : begun;
    endpoint_.post(lane, 1);
    repost();
    await_answer(lane, number);
    const auto now = Clock::now();
    outcome_.latency.add((now - sent) / (plan_.is(Operation::kRead) ? 1 : 2));
    ++counts_.front();
    look(now);
    return now;
  }

  // Waits for the answer. A Read needs none from the server's program, so it only has to complete.
  void await_answer(Lane& lane, std::uint64_t number) {
    if (plan_.is(Operation::kRead)) {
      while (endpoint_.wait().opcode != verbs::WcOpcode::kRead) {
      }
      if (plan_.check) check_read(lane, number);
      return;
    }
    if (plan_.polls_memory()) {
      while (!endpoint_.has_arrived(lane, number)) endpoint_.poll();
    } else {
      do taken_ = endpoint_.wait();
      while (!is_receive(*taken_));
    }
    if (!plan_.check) return;
    const bytes::View answer =
        plan_.is(Operation::kSend) ? endpoint_.message(*taken_) : endpoint_.target(lane);
    check_pattern(answer, lane.index, number);
  }

  // Reposts the receive of the last answer. This is not urgent, because other receives are posted.
  void repost() {
    if (taken_) endpoint_.repost(*std::exchange(taken_, std::nullopt));
  }

  Endpoint endpoint_;
  std::vector<Lane>& lanes_ = endpoint_.lanes();
  const bool by_rounds_ = plan_.check && plan_.is(Operation::kWrite) && !plan_.is_latency();
  std::vector<Clock::time_point> posted_at_ =
      std::vector<Clock::time_point>(plan_.qps * plan_.depth);
  std::vector<std::uint64_t> round_first_ = std::vector<std::uint64_t>(plan_.qps);
  std::vector<std::uint64_t> to_fill_;  ///< indices of lanes to fill() next; may repeat
  std::size_t replies_ = 0;
  std::optional<verbs::WorkCompletion> taken_;  ///< ping-pong: the receive of the last answer
};

class RdmaServer final : public ServerRole {
 public:
  RdmaServer(const Plan& plan, const std::string& host, Control& control)
      : ServerRole(plan), endpoint_(plan, Endpoint::Side::kServer) {
    for (auto& lane : endpoint_.lanes()) {
      for (std::uint64_t i = 0; plan_.is(Operation::kRead) && i < plan_.depth; ++i) {
        fill_pattern(endpoint_.slot(lane, i), lane.index, i);
      }
    }
    endpoint_.accept(host, control);
  }

 private:
  void move(const Phase& /*phase*/) override {
    for (auto& lane : endpoint_.lanes()) lane.begun = lane.received;
    auto& lane = endpoint_.lanes().front();
    for (ended_ = 0; ended_ != endpoint_.lanes().size();) {
      if (!plan_.polls_memory()) {
        handle(endpoint_.wait());
      } else if (endpoint_.has_arrived(lane, lane.received)) {
        answer(lane);
      } else if (const auto wc = endpoint_.poll()) {
        handle(*wc);
      }
    }
  }

  void handle(const verbs::WorkCompletion& wc) {
    if (!is_receive(wc)) return;
    auto& lane = endpoint_.lane(wc);
    if (wc.solicited) {
      const auto signal = endpoint_.signal(wc);
      endpoint_.repost(wc);
      act_on(lane, signal);
      return;
    }
    const bool is_send = plan_.is(Operation::kSend) && wc.opcode == verbs::WcOpcode::kRecv;
    const bool is_write = wc.opcode == verbs::WcOpcode::kRecvImmediate;
    if (!is_send && !(is_write && plan_.is_write_ping_pong())) {
      throw Error("the client sent a message of a kind that this test does not use");
    }
    if (is_send && wc.byte_len != plan_.size) {
      throw Error(fmt::format("the client sent a message of {} bytes instead of {}", wc.byte_len,
                              plan_.size));
    }
    if (is_send && plan_.check) check_pattern(endpoint_.message(wc), lane.index, lane.received);
    if (plan_.is_latency()) {
      answer(lane);  // answer before doing anything else, because the peer is waiting
    } else {
      ++lane.received;
    }
    endpoint_.repost(wc);
  }

  // Answers a ping-pong message.
  void answer(Lane& lane) {
    const auto number = lane.received++;
    const auto slot = endpoint_.slot(lane, number);
    if (plan_.check) {
      if (plan_.is(Operation::kWrite)) check_pattern(endpoint_.target(lane), lane.index, number);
      fill_pattern(slot, lane.index, number);
    }
    slot.back() = static_cast<std::byte>(number);
    endpoint_.post(lane, 1);
  }

  void act_on(Lane& lane, const Signal& signal) {
    switch (signal.mark) {
      case Mark::kBegin:
        before_ = endpoint_.observed();
        break;
      case Mark::kRound:
        if (signal.count > plan_.depth)
          throw Error("the client asks the server to check more messages than --depth allows");
        for (auto i = signal.first; i < signal.first + signal.count; ++i) {
          check_pattern(endpoint_.slot(lane, i), lane.index, i);
        }
        break;
      case Mark::kEnd:
        check_count(lane, signal.count);
        if (++ended_ == endpoint_.lanes().size()) after_ = endpoint_.observed();
        break;
      default:
        throw Error("the client sent an unknown control message");
    }
    endpoint_.send_signal(lane, signal);
  }

  void check_count(const Lane& lane, std::uint64_t sent) const {
    const bool counts = plan_.is(Operation::kSend) || plan_.is_write_ping_pong();
    const auto received = lane.received - lane.begun;
    if (!counts || received == sent) return;
    throw Error(fmt::format("the client sent {} messages, but {} arrived", sent, received));
  }

  Endpoint endpoint_;
  std::size_t ended_ = 0;  ///< number of lanes whose phase has ended
};

}  // namespace

std::unique_ptr<ClientRole> make_rdma_client(const Plan& plan, const std::string& host,
                                             Control& control) {
  return std::make_unique<RdmaClient>(plan, host, control);
}

std::unique_ptr<ServerRole> make_rdma_server(const Plan& plan, const std::string& host,
                                             Control& control) {
  return std::make_unique<RdmaServer>(plan, host, control);
}

}  // namespace iwarp::apps::measure
