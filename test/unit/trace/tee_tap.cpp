// SPDX-License-Identifier: Apache-2.0
// TeeTap: all taps see all, in order.
#include "iwarp/trace/tee_tap.hpp"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

TEST_CASE("a tee hands everything to each tap in turn and leaves out those that are null") {
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

}  // namespace
}  // namespace iwarp::test
