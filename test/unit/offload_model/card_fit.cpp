// SPDX-License-Identifier: Apache-2.0
// Learning a card: what was measured is reproduced, what was held back is predicted.
#include "iwarp/offload_model/card_fit.hpp"

#include <doctest/doctest.h>

namespace iwarp::offload_model {
namespace {

/// A card that needs 0.4 us for a message, 20 us for a round trip and carries 12.5 GB/s. Its host
/// needs 1 us for each message and 9 us for each wake-up of a connection that waits.
CardSample made(double size, double connections, double depth) {
  const auto time = std::max(0.4 + 20 / (connections * depth), size / 12500);
  const auto alone = std::max(0.4 + 20 / connections, size / 12500);
  return {.way = "made",
          .size = size,
          .connections = connections,
          .depth = depth,
          .rate = 1e6 / time,
          .cpu = 1 + size * 1e-4 + 9 * time / alone};
}

CardSamples grid(std::initializer_list<double> sizes, std::initializer_list<double> depths) {
  CardSamples out;
  for (const auto size : sizes) {
    for (const auto depth : depths) out.rows.push_back(made(size, 1, depth));
  }
  return out;
}

TEST_CASE("other sizes and depths of a card that follows the law are predicted") {
  const auto ways = fit_ways(grid({64, 4096, 65536}, {1, 16, 256}), {});
  REQUIRE(ways.size() == 1);
  for (const auto size : {64.0, 512.0, 8192.0, 32768.0}) {
    for (const auto depth : {1.0, 4.0, 64.0, 256.0}) {
      INFO("size ", size, ", depth ", depth);
      const auto truth = made(size, 1, depth);
      const auto p = ways[0].predict({size, 1, depth});
      CHECK(p.rate.median == doctest::Approx(truth.rate).epsilon(0.2));
      CHECK(p.cpu.median == doctest::Approx(truth.cpu).epsilon(0.2));
      CHECK(p.rate.low < p.rate.median);
      CHECK(p.rate.median < p.rate.high);
      CHECK(p.latency == doctest::Approx(depth / p.rate.median * 1e6));
    }
  }
  CHECK(ways[0].predict({65536, 1, 256}).limit == "octets");
  CHECK(ways[0].predict({64, 1, 1}).limit == "waiting");
  CHECK(ways[0].predict({64, 1, 256}).limit == "messages");
}

TEST_CASE("a measured row is predicted as it was measured, and bands grow with distance") {
  auto samples = grid({64, 65536}, {1, 256});
  samples.rows[0].rate *= 1.3;  // a card that does not follow the law
  const auto way = fit_ways(samples, {}).front();
  CHECK(way.predict({64, 1, 1}).rate.median == doctest::Approx(samples.rows[0].rate).epsilon(0.01));
  const auto width = [&](double size, double depth) {
    const auto band = way.predict({size, 1, depth}).rate;
    return band.high / band.low;
  };
  CHECK(width(64, 1) < width(512, 1));
  CHECK(width(512, 1) < width(2048, 16));
}

TEST_CASE("a row that is off by a factor of 100 moves no prediction") {
  auto samples = grid({64, 4096, 65536}, {1, 16, 256});
  const auto before = fit_ways(samples, {}).front().predict({64, 1, 256}).rate.median;
  samples.rows.push_back(made(64, 1, 512));
  samples.rows.back().rate /= 100;
  const auto way = fit_ways(samples, {}).front();
  REQUIRE(way.ignored().size() == 1);
  CHECK(way.ignored()[0].depth == 512);
  CHECK(way.predict({64, 1, 256}).rate.median == doctest::Approx(before).epsilon(0.1));
}

TEST_CASE("small messages alone do not tell the bandwidth, so the usual card's is assumed") {
  const auto way = fit_ways(grid({2, 8, 64}, {128}), {.bandwidth = 25000}).front();
  const auto p = way.predict({4096, 1, 128});
  CHECK(p.rate.median == doctest::Approx(made(64, 1, 128).rate).epsilon(0.1));
  CHECK(p.limit == "messages");
  CHECK(way.predict({1 << 20, 1, 128}).limit == "octets");
}

TEST_CASE("polling costs the same cores at every rate") {
  auto samples = grid({64, 4096, 65536}, {1, 16, 256});
  for (auto& s : samples.rows) s.cpu = 8 / s.rate * 1e6;
  const auto way = fit_ways(samples, {}).front();
  CHECK(way.polling_cores() == doctest::Approx(8));
  const auto p = way.predict({64, 1, 4});
  CHECK(p.cpu.median * p.rate.median / 1e6 == doctest::Approx(8));
}

/// ib_send_bw on a 100G RoCE card, one queue pair: message rates in million/s as posted in public
/// on GitHub ("rib_0", perftest with -a).
constexpr std::pair<double, double> kPosted[] = {
    {2, 2.850856},      {4, 2.819047},      {8, 2.822587},      {16, 2.789820},
    {32, 2.753321},     {64, 2.802276},     {128, 2.820442},    {256, 2.772903},
    {512, 2.705823},    {1024, 2.764131},   {2048, 2.739982},   {4096, 2.570454},
    {8192, 1.484812},   {16384, 0.748279},  {32768, 0.374281},  {65536, 0.187187},
    {131072, 0.092019}, {262144, 0.046393}, {524288, 0.023299}, {1048576, 0.011674}};

TEST_CASE("every second row of a published table predicts the rows between") {
  CardSamples known;
  for (std::size_t i = 0; i < std::size(kPosted); i += 2) {
    known.rows.push_back(
        {.way = "send", .size = kPosted[i].first, .depth = 128, .rate = kPosted[i].second * 1e6});
  }
  const auto way = fit_ways(known, {}).front();
  for (std::size_t i = 1; i < std::size(kPosted); i += 2) {
    CAPTURE(kPosted[i].first);
    const auto p = way.predict({kPosted[i].first, 1, 128});
    CHECK(p.rate.median == doctest::Approx(kPosted[i].second * 1e6).epsilon(0.08));
    CHECK(p.cpu.median == 0);
  }
}

/// An echo between two virtual machines of a public cloud (MANA, July 2026): kernel TCP, and rings
/// that are written by RDMA and sleep for completions. From the bench tables of the public
/// repository rust-rdma-io.
CardSamples echo() {
  CardSamples out;
  const auto add = [&](const char* way, double size, double connections, double depth, double rate,
                       double cpu) {
    out.rows.push_back({.way = way,
                        .size = size,
                        .connections = connections,
                        .depth = depth,
                        .rate = rate,
                        .cpu = cpu});
  };
  add("tcp", 64, 64, 1, 298558, 12.00);
  add("tcp", 64, 64, 64, 6293305, 5.73);
  add("tcp", 64, 64, 512, 6883099, 7.12);
  add("tcp", 64, 256, 1, 204676, 40.26);
  add("tcp", 8192, 64, 1, 257665, 17.41);
  add("tcp", 8192, 64, 64, 445947, 8.59);
  add("ring", 64, 64, 1, 238411, 19.42);
  add("ring", 64, 64, 64, 4533514, 1.39);
  add("ring", 64, 64, 512, 5080660, 1.06);
  add("ring", 64, 256, 1, 194330, 40.19);
  add("ring", 8192, 64, 1, 200083, 26.57);
  add("ring", 8192, 64, 64, 405540, 9.00);
  return out;
}

TEST_CASE("a card gains with many small messages in flight, not with one, nor with large ones") {
  const auto ways = fit_ways(echo(), {});
  REQUIRE(ways.size() == 2);
  const auto cpu = [&](const CardLoad& load) {
    return std::pair{ways[0].predict(load).cpu, ways[1].predict(load).cpu};
  };
  // Rows of the same table that were not fitted: 6.62 and 1.33 us; 9.00 and 9.27 us.
  const auto [tcp_many, ring_many] = cpu({64, 256, 64});
  CHECK(tcp_many.median == doctest::Approx(6.62).epsilon(0.15));
  CHECK(ring_many.median == doctest::Approx(1.33).epsilon(0.15));
  CHECK(ring_many.high < tcp_many.low);
  const auto [tcp_large, ring_large] = cpu({8192, 64, 512});
  CHECK(tcp_large.median == doctest::Approx(9.00).epsilon(0.15));
  CHECK(ring_large.median == doctest::Approx(9.27).epsilon(0.15));
  CHECK(ring_large.high > tcp_large.low);
  const auto [tcp_one, ring_one] = cpu({64, 128, 1});
  CHECK(ring_one.median > tcp_one.median);
}

}  // namespace
}  // namespace iwarp::offload_model
