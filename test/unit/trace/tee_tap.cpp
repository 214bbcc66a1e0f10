// SPDX-License-Identifier: Apache-2.0
// Tests that every tap of a TeeTap sees every frame, in order.
#include "iwarp/trace/tee_tap.hpp"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/verbs/local_event.hpp"

namespace iwarp::test {
namespace {

class Writer final : public verbs::WireTap {
 public:
  Writer(std::string name, std::string& log) : name_(std::move(name)), log_(log) {}
  void octets(bool outbound, bytes::View octets, mpa::TimePoint now) override {
    log_ += name_ + (outbound ? ">" : "<") + std::to_string(octets.size()) + "@" +
            std::to_string(now.time_since_epoch().count()) + " ";
  }
  void closed(bool outbound, bool reset, mpa::TimePoint) override {
    log_ += name_ + (outbound ? ">" : "<") + (reset ? "reset " : "fin ");
  }

 private:
  std::string name_;
  std::string& log_;
};

TEST_CASE("a tee passes everything to each tap in turn and skips null taps") {
  std::string log;
  std::vector<std::unique_ptr<verbs::WireTap>> taps;
  taps.push_back(std::make_unique<Writer>("a", log));
  taps.push_back(nullptr);
  taps.push_back(std::make_unique<Writer>("b", log));
  trace::TeeTap tee(std::move(taps));
  const std::array<std::byte, 3> octets{};
  tee.octets(true, octets, mpa::TimePoint(mpa::Duration(7)));
  tee.closed(false, true, {});
  tee.closed(true, false, {});
  CHECK(log == "a>3@7 b>3@7 a<reset b<reset a>fin b>fin ");
}

TEST_CASE("a tee has an observer if one of its taps has one, and notifies each of them") {
  struct Count final : verbs::LocalObserver {
    void see(const verbs::LocalEvent&) override { ++seen; }
    int seen = 0;
  };
  struct Watching final : verbs::WireTap {
    explicit Watching(std::shared_ptr<Count> c) : count(std::move(c)) {}
    void octets(bool, bytes::View, mpa::TimePoint) override {}
    void closed(bool, bool, mpa::TimePoint) override {}
    std::shared_ptr<verbs::LocalObserver> observer() override { return count; }
    std::shared_ptr<Count> count;
  };
  std::string log;
  std::vector<std::unique_ptr<verbs::WireTap>> blind;
  blind.push_back(std::make_unique<Writer>("a", log));
  CHECK(trace::TeeTap(std::move(blind)).observer() == nullptr);

  const auto first = std::make_shared<Count>();
  const auto second = std::make_shared<Count>();
  std::vector<std::unique_ptr<verbs::WireTap>> taps;
  taps.push_back(std::make_unique<Watching>(first));
  taps.push_back(std::make_unique<Writer>("a", log));
  taps.push_back(std::make_unique<Watching>(second));
  const auto observer = trace::TeeTap(std::move(taps)).observer();
  REQUIRE(observer != nullptr);
  observer->see(verbs::PostsMissed{});
  CHECK(first->seen == 1);
  CHECK(second->seen == 1);
}

}  // namespace
}  // namespace iwarp::test
