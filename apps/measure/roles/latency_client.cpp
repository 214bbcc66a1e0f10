// SPDX-License-Identifier: Apache-2.0
// The client of ping-pongs. It sends one message at a time, and the server answers with a message
// of the same size; the latency is half of the round-trip time. A Read needs no answer from the
// server's program, so its latency is the whole time until it completes.
#include <algorithm>
#include <optional>
#include <utility>

#include "command_line/stop.hpp"
#include "common/base/error.hpp"
#include "measure/basics/pattern.hpp"
#include "measure/roles/roles.hpp"
#include "measure/roles/watch.hpp"

namespace iwarp::apps::measure {

namespace {

class LatencyClient final : public ClientRole {
 public:
  LatencyClient(const Plan& plan, Endpoint& endpoint)
      : plan_(plan), endpoint_(endpoint), lane_(endpoint.lanes().front()) {
    endpoint_.on_idle([this](Clock::time_point now) { look(now); });
  }

 private:
  void begin() override {
    before_ = lane_.posted;
    endpoint_.send_signal(lane_, {.mark = Mark::kBegin});
    await_receive();
  }

  void move(const Phase& phase, Clock::time_point now) override {
    const auto end = now + phase.duration;
    while (now < end && !finish_requested()) now = exchange(now);
    repost();
    endpoint_.send_signal(lane_, {.mark = Mark::kEnd, .count = lane_.posted - before_});
    await_receive();
  }

  Observed observed() const override { return endpoint_.observed(); }

  bool is(Operation operation) const { return plan_.test->operation == operation; }

  /// Sends one message and waits for the answer. Returns the time at which the answer arrived.
  Clock::time_point exchange(Clock::time_point begun) {
    const auto number = lane_.posted;
    const auto slot = endpoint_.slot(lane_, number);
    if (plan_.check) prepare(slot, number);
    // The last byte differs from that of the previous message, so that a peer that polls memory
    // recognises a new message.
    slot.back() = static_cast<std::byte>(number);
    const auto sent = plan_.check ? Clock::now() : begun;
    endpoint_.post(lane_, 1, endpoint_.signals(number));
    repost();
    await_answer(number);
    const auto now = Clock::now();
    outcome_.latency.add((now - sent) / (is(Operation::kRead) ? 1 : 2));
    ++outcome_.messages;
    look(now);
    return now;
  }

  void prepare(bytes::Span slot, std::uint64_t number) {
    if (is(Operation::kRead)) {
      std::ranges::fill(slot, std::byte{0xFF});
    } else {
      fill_pattern(slot, lane_.index, number);
    }
  }

  void await_answer(std::uint64_t number) {
    if (is(Operation::kRead)) {
      while (endpoint_.wait().opcode != verbs::WcOpcode::kRead) {
      }
      if (plan_.check) check_pattern(endpoint_.slot(lane_, number), lane_.index, 0);
    } else if (is(Operation::kSend)) {
      const auto wc = await_receive();
      if (plan_.check) check_pattern(endpoint_.message(wc), lane_.index, number);
    } else {
      if (plan_.waiting == Waiting::kPoll) {
        await_write(number);
      } else {
        await_receive();
      }
      if (plan_.check) check_pattern(endpoint_.target(lane_), lane_.index, number);
    }
  }

  // Waits for the answer. The returned completion is valid until the next message has been sent.
  verbs::WorkCompletion await_receive() {
    for (;;) {
      const auto wc = endpoint_.wait();
      if (!is_receive(wc)) continue;
      repost();
      taken_ = wc;
      return wc;
    }
  }

  // Reposts the receive that was consumed last. This is not urgent, because other receives are
  // posted.
  void repost() {
    if (taken_) endpoint_.repost(*std::exchange(taken_, std::nullopt));
  }

  void await_write(std::uint64_t number) {
    MemoryWatch watch(endpoint_, endpoint_.target(lane_));
    while (!watch.shows(number)) endpoint_.poll();
  }

  const Plan& plan_;
  Endpoint& endpoint_;
  Lane& lane_;
  std::optional<verbs::WorkCompletion> taken_;
  std::uint64_t before_ = 0;  ///< number of messages posted before the phase
};

}  // namespace

std::unique_ptr<ClientRole> make_latency_client(const Plan& plan, Endpoint& endpoint) {
  return std::make_unique<LatencyClient>(plan, endpoint);
}

}  // namespace iwarp::apps::measure
