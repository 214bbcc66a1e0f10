// SPDX-License-Identifier: Apache-2.0
// Tests the parts of `iwarp perf` that need no connection: percentiles, intervals, the data
// pattern, and a plan from an untrusted client.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/base/error.hpp"
#include "iwarp/net/channel.hpp"
#include "measure/basics/epoll.hpp"
#include "measure/basics/histogram.hpp"
#include "measure/basics/intervals.hpp"
#include "measure/basics/pattern.hpp"
#include "measure/basics/plan.hpp"
#include "measure/basics/socket.hpp"

namespace {

using namespace iwarp::apps;           // NOLINT
using namespace iwarp::apps::measure;  // NOLINT
using std::chrono::nanoseconds;

TEST_CASE("a percentile is accurate to 3 per cent, for durations of any size") {
  for (const std::int64_t scale : {1, 7, 1000, 123'456, 9'999'999}) {
    Histogram histogram;
    for (std::int64_t i = 1; i <= 1000; ++i) histogram.add(nanoseconds(i * scale));
    CHECK(histogram.count() == 1000);
    for (const double part : {0.001, 0.5, 0.99, 0.999, 1.0}) {
      const double due = part * 1000 * static_cast<double>(scale);
      const auto is = static_cast<double>(histogram.percentile(part).count());
      CHECK(is >= due * 0.99);
      CHECK(is <= due * 1.032 + 1);
    }
  }
}

TEST_CASE("a histogram without values, of zeros, and of impossibly long times") {
  Histogram histogram;
  CHECK(histogram.percentile(0.5) == nanoseconds(0));
  CHECK(histogram.text().empty());
  histogram.add(nanoseconds(-1));
  histogram.add(nanoseconds(0));
  CHECK(histogram.percentile(1) == nanoseconds(0));
  histogram.add(nanoseconds::max());
  CHECK(histogram.percentile(1) == nanoseconds::max());
  CHECK(histogram.count() == 3);
}

TEST_CASE("a histogram has a line per power of two, and the largest class has the longest bar") {
  Histogram histogram;
  for (int i = 0; i < 100; ++i) histogram.add(nanoseconds(3000));
  histogram.add(nanoseconds(9000));
  const auto text = histogram.text();
  CHECK(text.find("<    4.1 us        100 " + std::string(50, '#') + "\n") != std::string::npos);
  CHECK(text.find("<    8.2 us          0 \n") != std::string::npos);
  CHECK(text.find("<   16.4 us          1 #\n") != std::string::npos);
}

TEST_CASE("the difference of a histogram and its former state contains the values in between") {
  Histogram histogram;
  histogram.add(nanoseconds(10));
  const auto before = histogram;
  histogram.add(nanoseconds(20));
  histogram.add(nanoseconds(20));
  CHECK((histogram - before).count() == 2);
  CHECK((histogram - before).percentile(0) == nanoseconds(20));
  CHECK((histogram - histogram).percentile(0.5) == nanoseconds(0));
}

TEST_CASE("each interval is shown with its own values when it has passed, the rest at the end") {
  using std::chrono::milliseconds;
  std::vector<Interval> shown;
  Intervals intervals(milliseconds(1000), [&](const Interval& one) { shown.push_back(one); });
  const Intervals::Time start{};
  Histogram latency;
  CHECK_FALSE(intervals.due(start + milliseconds(5000)));  // The first interval has not begun yet.
  intervals.begin(start, milliseconds(60'000));
  CHECK_FALSE(intervals.due(start + milliseconds(999)));
  REQUIRE(intervals.due(start + milliseconds(1001)));
  latency.add(nanoseconds(10));
  intervals.end_interval(start + milliseconds(1001), 1, latency);
  CHECK_FALSE(intervals.due(start + milliseconds(1999)));
  // After a pause there is one long interval, which ends with the next message. The interval after
  // that ends at a full second.
  latency.add(nanoseconds(30));
  latency.add(nanoseconds(30));
  intervals.end_interval(start + milliseconds(3500), 3, latency);
  CHECK_FALSE(intervals.due(start + milliseconds(3999)));
  CHECK(intervals.due(start + milliseconds(4000)));
  intervals.end(start + milliseconds(3700), 4, latency);
  CHECK_FALSE(intervals.due(start + milliseconds(9000)));
  REQUIRE(shown.size() == 3);
  CHECK(shown[0].to == doctest::Approx(1.001));
  CHECK(shown[0].messages == 1);
  CHECK(shown[1].from == shown[0].to);
  CHECK(shown[1].to == doctest::Approx(3.5));
  CHECK(shown[1].messages == 2);
  CHECK(shown[1].p50 == nanoseconds(30));
  CHECK(shown[2].from == shown[1].to);
  CHECK(shown[2].messages == 1);
  CHECK_FALSE(shown[0].partial);
  CHECK_FALSE(shown[1].partial);
  CHECK(shown[2].partial);  // This interval ended early, after 0.2 s.
}

TEST_CASE("a rest that is too short for an interval of its own is added to the last one") {
  using std::chrono::milliseconds;
  struct Example {
    int duration, end;           // in ms: planned duration, and actual end
    std::vector<double> bounds;  // in seconds
    bool partial;                // whether the last interval is partial
  };
  for (const auto& [duration, end, bounds, partial] :
       {Example{3000, 3004, {1, 2, 3.004}, false}, Example{3300, 3301, {1, 2, 3.301}, false},
        Example{3600, 3602, {1, 2, 3, 3.602}, true}, Example{200, 201, {0.201}, true},
        Example{60'000, 2005, {1, 2, 2.005}, true}}) {
    CAPTURE(duration);
    std::vector<Interval> shown;
    Intervals intervals(milliseconds(1000), [&](const Interval& one) { shown.push_back(one); });
    const Intervals::Time start{};
    intervals.begin(start, milliseconds(duration));
    std::uint64_t messages = 0;
    for (int ms = 1; ms < end; ++ms) {
      ++messages;
      const auto now = start + milliseconds(ms);
      if (intervals.due(now)) intervals.end_interval(now, messages, {});
    }
    intervals.end(start + milliseconds(end), messages, {});
    REQUIRE(shown.size() == bounds.size());
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      CHECK(shown[i].to == doctest::Approx(bounds[i]));
      CHECK(shown[i].partial == (partial && i + 1 == shown.size()));
      sum += shown[i].messages;
    }
    CHECK(sum == messages);
  }
}

TEST_CASE("without the option no interval is ever due") {
  Intervals none;
  none.begin({}, std::chrono::milliseconds(1000));
  CHECK_FALSE(none.due(Intervals::Time::max() - nanoseconds(1)));
  none.end(Intervals::Time(std::chrono::hours(1)), 1, {});
}

TEST_CASE("a plan arrives at the server unchanged, and one out of bounds is refused") {
  Plan plan;
  plan.test = find_test("write-bw");
  plan.size = 64;
  plan.depth = 16;
  plan.counted = {.messages = 5, .read = 0, .cpus = "same", .crc_kernel = "portable"};
  const auto json = to_json(plan);
  CHECK(to_json(plan_from_json(json)) == json);
  const auto refused = [&](auto change) {
    Plan other = plan;
    change(other);
    CHECK_THROWS_AS(plan_from_json(to_json(other)), Error);
  };
  refused([](Plan& p) { p.size = 0; });
  refused([](Plan& p) { p.depth = 0; });
  refused([](Plan& p) { p.counted.messages = 1'000'000'001; });
  refused([](Plan& p) { p.counted.read = (64 << 20) + 1; });
  refused([](Plan& p) { p.counted.cpus = "all"; });
  refused([](Plan& p) { p.counted.crc_kernel = "none"; });
  refused([](Plan& p) { p.check = true; });
  refused([](Plan& p) { p.qps = 2; });
  // Each of the two tests below is refused: read-bw because it does not use Writes, and tcp-stream
  // because the number of octets per receive call is 0.
  refused([](Plan& p) { p.test = find_test("read-bw"); });
  refused([](Plan& p) { p.test = find_test("tcp-stream"); });
}

TEST_CASE("the errors for an unknown host and for the address of another machine differ") {
  const auto soon = Clock::now() + std::chrono::seconds(5);
  CHECK_THROWS_WITH_AS(Socket::connect({"no-such-host.invalid", 1}, soon),
                       "unknown host \"no-such-host.invalid\"", Error);
  CHECK_THROWS_WITH_AS(Listener({"no-such-host.invalid", 1}),
                       "unknown host \"no-such-host.invalid\"", Error);
  CHECK_THROWS_WITH_AS(Listener({"192.0.2.1", 1}),
                       "cannot listen on 192.0.2.1:1: not an address of this machine (ip address "
                       "lists them)",
                       Error);
}

TEST_CASE("a socket reports that its peer has disconnected, or that no data is pending") {
  Listener listener({"127.0.0.1", 0});
  const auto now = Clock::now();
  CHECK_FALSE(listener.accept(now).has_value());
  auto client = Socket::connect({"127.0.0.1", listener.port()}, now + std::chrono::seconds(5));
  std::array<std::byte, 4> octets{};
  CHECK_THROWS_WITH_AS(client.receive(octets, now), "the peer did not answer in time", Error);
  {
    auto server = listener.accept(now + std::chrono::seconds(5)).value();
    server.send(octets, now + std::chrono::seconds(5));
  }
  CHECK(client.receive(octets, now + std::chrono::seconds(5)) == 4);
  CHECK_THROWS_AS(client.receive(octets, now + std::chrono::seconds(5)), PeerGone);
}

TEST_CASE("an epoll sleeps until its descriptor is ready, and no longer than its timeout") {
  iwarp::net::EventFd event;
  Epoll epoll;
  CHECK(epoll.wait(std::chrono::milliseconds(0)).empty());
  epoll.watch(event.fd(), EPOLLIN, 7);
  CHECK(epoll.wait(std::chrono::milliseconds(0)).empty());
  CHECK(epoll.wait(std::chrono::milliseconds(1)).empty());
  epoll.watch(event.fd(), EPOLLOUT, 8);
  CHECK(std::ranges::equal(epoll.wait(Epoll::kNoLimit), std::array{8U}));
  epoll.watch(event.fd(), EPOLLIN, 7);
  CHECK(epoll.wait(std::chrono::milliseconds(0)).empty());
  event.signal();
  CHECK(std::ranges::equal(epoll.wait(Epoll::kNoLimit), std::array{7U}));
  epoll.watch(event.fd(), EPOLLIN | EPOLLOUT, 9);
  CHECK(std::ranges::equal(epoll.wait(Epoll::kNoLimit), std::array{9U}));
  CHECK_THROWS_WITH_AS(epoll.watch(-1, EPOLLIN), "epoll_ctl: bad file descriptor", Error);
}

TEST_CASE("every wrong octet of a pattern is found, and every wrong message number and lane") {
  for (const std::size_t size : {1U, 2U, 8U, 9U, 17U, 64U}) {
    std::vector<std::byte> octets(size);
    fill_pattern(octets, 3, 300);
    CHECK_NOTHROW(check_pattern(octets, 3, 300));
    CHECK_THROWS_AS(check_pattern(octets, 3, 301), Error);
    if (size > 1) CHECK_THROWS_AS(check_pattern(octets, 4, 300), Error);
    CHECK(octets.back() == std::byte{300 % 256});
    for (std::size_t i = 0; i < size; ++i) {
      octets[i] ^= std::byte{1};
      CHECK_THROWS_AS(check_pattern(octets, 3, 300), Error);
      if (i == 0) CHECK_NOTHROW(check_pattern(octets, 3, 300, 1));
      octets[i] ^= std::byte{1};
    }
  }
}

}  // namespace
