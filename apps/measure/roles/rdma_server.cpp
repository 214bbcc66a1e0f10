// SPDX-License-Identifier: Apache-2.0
// The server over RDMA: answers signals, checks the data that precedes them, receives Sends, and
// returns the messages of a ping-pong. The stack serves Writes and Reads without this code.
#include <fmt/format.h>

#include "common/base/error.hpp"
#include "measure/basics/pattern.hpp"
#include "measure/roles/roles.hpp"
#include "measure/roles/watch.hpp"

namespace iwarp::apps::measure {

namespace {

class RdmaServer final : public ServerRole {
 public:
  RdmaServer(const Plan& plan, Endpoint& endpoint) : plan_(plan), endpoint_(endpoint) {
    if (!is(Operation::kRead)) return;
    for (auto& lane : endpoint_.lanes()) {
      for (std::uint64_t i = 0; i < plan_.depth; ++i) {
        fill_pattern(endpoint_.slot(lane, i), lane.index, i);
      }
    }
  }

  Observed serve(const Phase& /*phase*/) override {
    ended_ = 0;
    begun_.assign(endpoint_.lanes().size(), 0);
    for (auto& lane : endpoint_.lanes()) begun_[lane.index] = lane.received;
    const bool by_memory =
        plan_.is_latency() && is(Operation::kWrite) && plan_.waiting == Waiting::kPoll;
    if (by_memory) {
      watch_memory(endpoint_.lanes().front());
    } else {
      while (!over()) handle(endpoint_.wait());
    }
    return usage::difference(after_, before_);
  }

 private:
  bool is(Operation operation) const { return plan_.test->operation == operation; }
  bool over() const { return ended_ == endpoint_.lanes().size(); }

  void watch_memory(Lane& lane) {
    while (!over()) {
      MemoryWatch watch(endpoint_, endpoint_.target(lane));
      while (!over() && !watch.shows(lane.received)) {
        if (const auto wc = endpoint_.poll()) handle(*wc);
      }
      if (!over()) answer(lane);
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
    const bool is_send = is(Operation::kSend) && wc.opcode == verbs::WcOpcode::kRecv;
    const bool is_write = is(Operation::kWrite) && wc.opcode == verbs::WcOpcode::kRecvImmediate;
    if (!plan_.is_latency() ? !is_send : !is_send && !is_write) {
      throw Error("the client sent a kind of message that the test does not use");
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
      if (is(Operation::kWrite)) check_pattern(endpoint_.target(lane), lane.index, number);
      fill_pattern(slot, lane.index, number);
    }
    slot.back() = static_cast<std::byte>(number);
    endpoint_.post(lane, 1, endpoint_.signals(number));
  }

  void act_on(Lane& lane, const Signal& signal) {
    switch (signal.mark) {
      case Mark::kBegin:
        before_ = endpoint_.observed();
        break;
      case Mark::kRound:
        check_round(lane, signal);
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

  void check_round(Lane& lane, const Signal& signal) {
    if (signal.count > plan_.depth)
      throw Error("the client asks to check more messages than --depth allows");
    for (auto i = signal.first; i < signal.first + signal.count; ++i) {
      check_pattern(endpoint_.slot(lane, i), lane.index, i);
    }
  }

  void check_count(const Lane& lane, std::uint64_t sent) const {
    const bool counts = is(Operation::kSend) || (plan_.is_latency() && is(Operation::kWrite));
    const auto received = lane.received - begun_[lane.index];
    if (!counts || received == sent) return;
    throw Error(fmt::format("the client sent {} messages, but {} arrived", sent, received));
  }

  const Plan& plan_;
  Endpoint& endpoint_;
  std::size_t ended_ = 0;
  std::vector<std::uint64_t> begun_;  ///< number of messages received on each lane before the phase
  Observed before_;
  Observed after_;
};

}  // namespace

std::unique_ptr<ServerRole> make_rdma_server(const Plan& plan, Endpoint& endpoint) {
  return std::make_unique<RdmaServer>(plan, endpoint);
}

}  // namespace iwarp::apps::measure
