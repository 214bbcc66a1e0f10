// SPDX-License-Identifier: Apache-2.0
// Tests what an observer of one end sees, and that observing has no side effects.
#include <ostream>

#include "iwarp/verbs/local_event.hpp"
#include "support.hpp"

namespace iwarp::test::observed {
namespace {

using namespace verbs;

struct Events final : verbs::LocalObserver {
  void see(const LocalEvent& event) override { seen.push_back(event); }
  std::vector<LocalEvent> seen;

  template <typename Event>
  std::vector<Event> of() const {
    std::vector<Event> out;
    for (const auto& event : seen) {
      if (const auto* one = std::get_if<Event>(&event)) out.push_back(*one);
    }
    return out;
  }
  std::size_t place(const LocalEvent& event) const {
    return static_cast<std::size_t>(std::find(seen.begin(), seen.end(), event) - seen.begin());
  }
  bool has(const LocalEvent& event) const { return place(event) < seen.size(); }
};

struct Tap final : verbs::WireTap {
  explicit Tap(std::shared_ptr<Events> events) : seen(std::move(events)) {}
  void octets(bool, bytes::View, mpa::TimePoint) override {}
  void closed(bool, bool, mpa::TimePoint) override {}
  std::shared_ptr<verbs::LocalObserver> observer() override { return seen; }
  std::shared_ptr<Events> seen;
};

std::shared_ptr<Events> observe(End& end) {
  auto events = std::make_shared<Events>();
  end.tap = std::make_unique<Tap>(events);
  return events;
}

std::vector<std::string> states(const Events& events, Machine machine) {
  std::vector<std::string> out;
  for (const auto& update : events.of<StateUpdated>()) {
    if (update.machine == machine) out.emplace_back(update.now);
  }
  return out;
}
using States = std::vector<std::string>;

constexpr std::size_t kSize = 3000;

struct Memory {
  explicit Memory(Pair& pair)
      : source(pair.a->memory(kSize, Access::kLocalWrite)),
        target(pair.b->memory(kSize, kEverything)),
        inbox(pair.b->memory(kSize, Access::kLocalWrite)) {
    fill_pattern(source);
  }
  Region* source;
  Region* target;
  Region* inbox;
};

/// Two ends with an observer each, and their memory.
struct Observed {
  explicit Observed(const verbs::QpInit& init_a = {}) : pair({}, {}, {}, init_a) {
    pair.renew({}, {});  // An observer takes effect with the next connection.
  }
  Pair pair;
  const std::shared_ptr<Events> a = observe(*pair.a);
  const std::shared_ptr<Events> b = observe(*pair.b);
  const Memory m{pair};
};

/// Runs a session with a Send, a Write, a Read and an orderly close.
void short_session(Pair& pair, const Memory& m) {
  post_recv(*pair.b, 70, sge(m.inbox, 0, kSize));
  REQUIRE(pair.establish());
  post_recv(*pair.b, 71, sge(m.inbox, 0, kSize));
  post_send(*pair.a, 1, sge(m.source, 0, 40));
  post_write(*pair.a, 2, sge(m.source, 0, kSize), remote(m.target));
  post_read(*pair.a, 3, sge(m.source, 0, 100), remote(m.target, 8));
  pair.run();
  pair.a->connection->disconnect(pair.a->now);
  pair.run();
}

TEST_CASE("an observer is notified of posts, memory, completions and states of its end, in order") {
  Observed observed;
  auto& [pair, a, b, m] = observed;
  short_session(pair, m);

  CHECK(a->of<WorkPosted>().size() == 3);
  const WorkPosted write{.queue = WorkQueue::kSend,
                         .wr_id = 2,
                         .length = kSize,
                         .opcode = WrOpcode::kWrite,
                         .flags = SendFlags::kSignaled,
                         .remote = remote(m.target)};
  CHECK(a->has(write));
  const WorkCompleted written{.wr_id = 2, .opcode = WcOpcode::kWrite};
  CHECK(a->place(write) < a->place(written));
  const MemoryUsed brought{.use = MemoryUse::kReadResponse,
                           .stag = stag_of(m.source),
                           .to = remote(m.source).to,
                           .length = 100};
  const WorkCompleted read{.wr_id = 3, .opcode = WcOpcode::kRead, .length = 100};
  CHECK(a->place(brought) < a->place(read));
  CHECK(a->has(read));

  CHECK(b->of<WorkPosted>() ==
        std::vector<WorkPosted>{
            {.queue = WorkQueue::kReceive, .wr_id = 70, .length = kSize, .early = true},
            {.queue = WorkQueue::kReceive, .wr_id = 71, .length = kSize}});
  const MemoryUsed sent{.use = MemoryUse::kReceive, .length = 40};
  const WorkCompleted received{
      .queue = WorkQueue::kReceive, .wr_id = 70, .opcode = WcOpcode::kRecv, .length = 40};
  CHECK(b->place(sent) < b->place(received));
  CHECK(b->has(received));
  std::uint64_t placed = 0;
  for (const auto& use : b->of<MemoryUsed>()) {
    if (use.use == MemoryUse::kWrite) placed += use.length;
  }
  CHECK(placed == kSize);
  CHECK(b->has(MemoryUsed{.use = MemoryUse::kReadSource,
                          .stag = stag_of(m.target),
                          .to = remote(m.target, 8).to,
                          .length = 100}));
  // The peer never used this receive, so it is flushed.
  CHECK(b->has(
      WorkCompleted{.queue = WorkQueue::kReceive, .wr_id = 71, .status = WcStatus::kWrFlush}));
}

TEST_CASE("state changes of all three state machines are reported as they occur") {
  Observed observed;
  auto& [pair, a, b, m] = observed;
  short_session(pair, m);
  CHECK(states(*a, Machine::kStartup) == States{"AwaitReply", "FullOperation"});
  CHECK(states(*b, Machine::kStartup) == States{"AwaitRequest", "AwaitDecision", "FullOperation"});
  for (const auto& events : {a, b}) {
    CHECK(states(*events, Machine::kQueuePair) == States{"Idle", "RTS", "Closing", "Idle"});
    CHECK(states(*events, Machine::kStream).front() == "Rdma");
  }
  CHECK(a->of<StateUpdated>().front().before.empty());
}

TEST_CASE("a refused access is reported with its reason, and so is the effect of the Terminate") {
  Observed observed;
  auto& [pair, a, b, m] = observed;
  REQUIRE(pair.establish());
  post_write(*pair.a, 5, sge(m.source, 0, 100), remote(m.target, kSize - 99));
  post_read(*pair.a, 6, sge(m.source, 0, 100), remote(m.target));
  pair.run();
  CHECK(b->of<MemoryRefused>() ==
        std::vector<MemoryRefused>{{.use = MemoryUse::kWrite,
                                    .stag = stag_of(m.target),
                                    .to = remote(m.target, kSize - 99).to,
                                    .length = 100,
                                    .why = rdmap::AccessError::kOutOfBounds}});
  CHECK(b->of<MemoryUsed>().empty());
  CHECK(states(*b, Machine::kQueuePair) == States{"Idle", "RTS", "Terminate", "Error"});
  CHECK(a->has(WorkCompleted{.wr_id = 6, .status = WcStatus::kWrFlush}));
}

TEST_CASE("posts of one batch that completed before they were reported are counted, not invented") {
  Observed observed({.limits = {.max_send_wr = 16}});
  auto& [pair, a, b, m] = observed;
  REQUIRE(pair.establish());
  std::uint64_t reported = 0;
  for (int round = 0; round < 5; ++round) {
    for (std::uint64_t i = 0; i < 16; ++i) {
      post_write(*pair.a, i, sge(m.source, 0, 8), remote(m.target));
    }
    pair.run();
    CHECK(pair.a->completions().size() == 16);
    reported += 16;
  }
  CHECK(a->of<WorkPosted>().size() == reported);
  CHECK(a->of<PostsMissed>().empty());
}

TEST_CASE("an observer does not change the number of octets on the wire") {
  Pair plain;
  short_session(plain, Memory(plain));
  Observed observed;
  short_session(observed.pair, observed.m);
  CHECK(observed.pair.to_a.log.size() == plain.to_a.log.size());
  CHECK(observed.pair.to_b.log.size() == plain.to_b.log.size());
}

TEST_CASE("after the stream has ended the observer is not notified, and posting still works") {
  Observed observed;
  auto& [pair, a, b, m] = observed;
  short_session(pair, m);
  pair.a->tap.reset();
  const auto before = a->seen.size();
  pair.renew({}, {});
  REQUIRE(pair.establish());
  post_write(*pair.a, 9, sge(m.source, 0, 8), remote(m.target));
  pair.run();
  CHECK(a->seen.size() == before);
  CHECK(pair.a->completions().back().wr_id == 9);
}

}  // namespace
}  // namespace iwarp::test::observed
