// SPDX-License-Identifier: Apache-2.0
// The parts of iwarp perf that can be wrong without any connection: percentiles and the pattern.
#include <doctest/doctest.h>

#include <vector>

#include "common/error.hpp"
#include "perf/histogram.hpp"
#include "perf/pattern.hpp"

namespace {

using namespace iwarp::apps;        // NOLINT
using namespace iwarp::apps::perf;  // NOLINT
using std::chrono::nanoseconds;

TEST_CASE("a percentile is right within 3 per cent, whatever the size of the durations") {
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

TEST_CASE("a histogram of nothing, of zero, and of what no clock gives") {
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

TEST_CASE("a histogram's text has a line per power of two, the longest bar for the most") {
  Histogram histogram;
  for (int i = 0; i < 100; ++i) histogram.add(nanoseconds(3000));
  histogram.add(nanoseconds(9000));
  const auto text = histogram.text();
  CHECK(text.find("<    4.1 us        100 " + std::string(50, '#') + "\n") != std::string::npos);
  CHECK(text.find("<    8.2 us          0 \n") != std::string::npos);
  CHECK(text.find("<   16.4 us          1 #\n") != std::string::npos);
}

TEST_CASE("every wrong octet of a pattern is found, and every wrong number and lane") {
  for (const std::size_t size : {1, 2, 8, 9, 17, 64}) {
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
