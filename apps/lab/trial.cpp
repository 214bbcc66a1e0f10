// SPDX-License-Identifier: Apache-2.0
// Computes an FNV-1a hash of the results of random sessions. Limits a random number with the
// operator %, because std::uniform_int_distribution gives different numbers in different C++
// libraries.
#include "lab/trial.hpp"

#include <random>

#include "lab/capture.hpp"
#include "lab/history.hpp"

namespace iwarp::apps::lab {
namespace {

constexpr std::uint32_t kExplainEvery = 64;
constexpr std::uint32_t kMostActions = 24;

class Digest {
 public:
  void add(bytes::View octets) {
    for (const std::byte octet : octets) step(std::to_integer<std::uint8_t>(octet));
  }
  void add(std::string_view text) {
    for (const char c : text) step(static_cast<std::uint8_t>(c));
  }
  std::uint64_t value() const { return value_; }

 private:
  void step(std::uint8_t octet) { value_ = (value_ ^ octet) * 0x100000001B3; }
  std::uint64_t value_ = 0xCBF29CE484222325;
};

class Trial {
 public:
  explicit Trial(std::uint32_t seed) : random_(seed), session_(settings(seed)) {
    (void)session_.apply({.verb = Verb::kConnect});
    deliver(kAll);
    for (auto left = pick(kMostActions); left > 0; --left) act();
    deliver(kAll);
  }
  Session& session() { return session_; }

 private:
  static constexpr std::uint32_t kAll = 1000;

  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

  Settings settings(std::uint32_t seed) {
    return {.seed = seed,
            .revision = 1 + pick(2),
            .crc = static_cast<Ends>(pick(4)),
            .markers = static_cast<Ends>(pick(4)),
            .rtr = static_cast<mpa::Rtr>(pick(4)),
            .ulpdu = pick(2) * (128 + pick(512)),
            .receives = pick(9)};
  }

  void deliver(std::uint32_t segments) {
    for (; segments > 0; --segments) {
      const auto due = session_.due();
      if (!due) return;
      auto octets = static_cast<std::uint32_t>(due->octets);
      if (octets > 1 && pick(4) == 0) octets = 1 + pick(octets);
      if (!session_.apply({.numbers = {octets, 0}})) return;
    }
  }

  void act() {
    constexpr auto kVerbs = static_cast<std::uint32_t>(Verb::kWait) + 1;
    Action action{.verb = static_cast<Verb>(pick(kVerbs)),
                  .end = pick(2) == 0 ? Side::kNear : Side::kFar,
                  .target = pick(8) == 0 ? static_cast<Target>(pick(4)) : Target::kWindow,
                  .numbers = {pick(End::kWindow), pick(End::kWindow / 2)}};
    switch (action.verb) {
      case Verb::kDeliver:
        deliver(1 + pick(8));
        return;
      case Verb::kSend:
      case Verb::kInvalidate:
        if (pick(8) != 0) action.numbers[0] %= End::kReceive;
        break;
      case Verb::kFlip:
        if (pick(4) != 0) return;
        action.numbers[0] += static_cast<std::uint32_t>(session_.link().arrived(action.end));
        break;
      case Verb::kClose:
      case Verb::kCut:
        if (pick(8) != 0) return;
        break;
      default:
        break;
    }
    (void)session_.apply(action);
  }

  std::mt19937 random_;
  Session session_;
};

void add(Digest& digest, Session& session, bool with_explanation) {
  digest.add(pcap_of(session));
  for (const Side side : {Side::kNear, Side::kFar}) {
    for (const auto& memory : session.end(side).memory()) digest.add(memory.octets);
    for (const auto& event : session.end(side).log()) digest.add(event.text);
  }
  if (!with_explanation) return;
  digest.add(explained(session));
  digest.add(state_json(session));
}

}  // namespace

std::uint64_t digest_of_trials(std::uint32_t seed, std::uint32_t count) {
  Digest digest;
  for (std::uint32_t i = 0; i < count; ++i) {
    Trial trial(seed + i);
    add(digest, trial.session(), i % kExplainEvery == 0);
  }
  return digest.value();
}

}  // namespace iwarp::apps::lab
