// SPDX-License-Identifier: Apache-2.0
// Counted streams over RDMA: a fixed number of messages is sent from one buffer and placed into one
// buffer. The ends read neither the clock nor the payload in between. tcp_roles.cpp has those over
// TCP.
#include "measure/roles/roles.hpp"

namespace iwarp::apps::measure {

namespace {

/// The client of a counted stream over RDMA. It keeps as many Writes in flight as the depth allows.
class CountedClient final : public ClientRole {
 public:
  CountedClient(const Plan& plan, Endpoint& endpoint)
      : plan_(plan), endpoint_(endpoint), lane_(endpoint.lanes().front()) {}

  Outcome run(const Phase& phase, Intervals& /*intervals*/) override {
    endpoint_.send_signal(lane_, {.mark = Mark::kBegin});
    await_reply();
    const auto start = Clock::now();
    const auto before = endpoint_.observed();
    write_all(phase.messages);
    endpoint_.send_signal(lane_, {.mark = Mark::kEnd, .count = phase.messages});
    await_reply();
    return counted_outcome(phase, endpoint_.observed(), before, start);
  }

 private:
  void write_all(std::uint64_t messages) {
    const auto end = lane_.posted + messages;
    while (lane_.done < end) {
      while (lane_.posted < end && lane_.posted - lane_.done < plan_.depth) {
        endpoint_.post(lane_, 1, true);
      }
      const auto wc = endpoint_.wait();
      if (wc.opcode == verbs::WcOpcode::kWrite) lane_.done += Endpoint::count(wc);
    }
  }

  void await_reply() {
    for (;;) {
      const auto wc = endpoint_.wait();
      if (wc.opcode != verbs::WcOpcode::kRecv) continue;
      endpoint_.repost(wc);
      return;
    }
  }

  const Plan& plan_;
  Endpoint& endpoint_;
  Lane& lane_;
};

}  // namespace

Outcome counted_outcome(const Phase& phase, const Observed& after, const Observed& before,
                        Clock::time_point start) {
  Outcome out;
  out.messages = phase.messages;
  out.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  out.used = usage::difference(after, before);
  return out;
}

std::unique_ptr<ClientRole> make_counted_client(const Plan& plan, Endpoint& endpoint) {
  return std::make_unique<CountedClient>(plan, endpoint);
}

}  // namespace iwarp::apps::measure
