// SPDX-License-Identifier: Apache-2.0
// Tests that uncertainty bands contain the prediction, are reproducible, and have the width that
// follows from the uncertainty of the parameters.
#include "iwarp/offload_model/uncertainty.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "iwarp/offload_model/cost.hpp"
#include "support.hpp"

using namespace iwarp::offload_model;
using doctest::Approx;

TEST_CASE("the same seed draws the same values, and another seed does not") {
  const auto set = preset("2007").value();
  const auto one = draw(set, 3, 7);
  CHECK(one[2].copy_rx == draw(set, 3, 7)[2].copy_rx);
  CHECK(one[2].copy_rx != draw(set, 3, 8)[2].copy_rx);
  CHECK(one[0].mss == one[1].mss);  // mss is a definition and therefore exact.
}

TEST_CASE("the band of one parameter is as wide as its uncertainty") {
  auto set = preset("2007").value();
  set.values.at("copy_rx").uncertainty = 0.2;
  const auto b = band(draw(set, 20'000, 1), [](const Parameters& p) { return p.copy_rx; });
  const auto value = set.at("copy_rx");
  constexpr double kNinetyPercent = 1.645;
  CHECK(b.median == Approx(value).epsilon(0.01));
  CHECK(b.high == Approx(value * std::pow(1.2, kNinetyPercent)).epsilon(0.02));
  CHECK(b.low == Approx(value / std::pow(1.2, kNinetyPercent)).epsilon(0.02));
}

TEST_CASE("every band contains its prediction") {
  for (const auto& name : preset_names()) {
    const auto set = preset(name).value();
    const auto drawn = draw(set);
    for (const auto mode : kModes) {
      const auto total = [mode](const Parameters& p) {
        return message_cost(mode, p, {.size = 65536}).total();
      };
      const auto b = band(drawn, total);
      CHECK(b.low < total(set.resolve()));
      CHECK(b.high > total(set.resolve()));
      CHECK(b.low > 0);
    }
  }
  CHECK(band({}, [](const Parameters&) { return 1.0; }).high == 0);
}

TEST_CASE("the band of a crossover is as wide as the uncertainty that determines it") {
  auto set = preset("2007").value();
  for (auto& [key, value] : set.values) value.uncertainty = 0;
  const Better better = [](const Parameters& p, double n) { return n >= 1e6 * p.copy_rx; };
  const auto certain = crossover_band(set, draw(set), better);
  CHECK(certain.low == certain.high);
  CHECK(certain.low == certain.estimate.octets);

  set.values.at("copy_rx").uncertainty = 0.2;
  const auto crossover = crossover_band(set, draw(set, 20'000, 1), better);
  constexpr double kNinetyPercent = 1.645;
  const auto octets = crossover.estimate.octets;
  CHECK(crossover.high == Approx(octets * std::pow(1.2, kNinetyPercent)).epsilon(0.02));
  CHECK(crossover.low == Approx(octets / std::pow(1.2, kNinetyPercent)).epsilon(0.02));
  CHECK(standing(crossover, crossover.low - 1) == Standing::kWorse);
  CHECK(standing(crossover, crossover.low) == Standing::kUndecided);
  CHECK(standing(crossover, crossover.high - 1) == Standing::kUndecided);
  CHECK(standing(crossover, crossover.high) == Standing::kBetter);
}

TEST_CASE("if a size is decided for the preset's band, the host's own values agree with it") {
  for (const auto& name : preset_names()) {
    const auto set = preset(name).value();
    const auto p = set.resolve();
    for (const auto mode : {Mode::kSockets, Mode::kToe}) {
      const auto better = cheaper(Mode::kRnic, mode, {});
      const auto crossover = crossover_band(set, draw(set), better);
      CHECK(crossover.low < crossover.high);
      double contradictions = 0;
      for (double n = 1; n < std::min<double>(2 * crossover.high, 1 << 22); ++n) {
        const auto decided = standing(crossover, n);
        if (decided == Standing::kUndecided) continue;
        contradictions += better(p, n) != (decided == Standing::kBetter);
      }
      CHECK(contradictions == 0);
    }
  }
}

TEST_CASE("a crossover that only some hosts have is neither kAlways nor kNever") {
  auto set = preset("2007").value();
  for (auto& [key, value] : set.values) value.uncertainty = 0;
  set.values.at("copy_rx").uncertainty = 0.5;
  const auto value = set.resolve().copy_rx;
  const auto drawn = draw(set);
  const auto rarely = crossover_band(
      set, drawn, [&](const Parameters& p, double) { return p.copy_rx > 1.2 * value; });
  CHECK(rarely.estimate.kind == Crossover::Kind::kNever);
  CHECK(standing(rarely, 1e6) == Standing::kUndecided);
  const auto mostly = crossover_band(
      set, drawn, [&](const Parameters& p, double) { return p.copy_rx > 0.8 * value; });
  CHECK(mostly.estimate.kind == Crossover::Kind::kAlways);
  CHECK(standing(mostly, 1e6) == Standing::kUndecided);
}

TEST_CASE("the parameter with the most influence comes first, and definitions have none") {
  const auto set = preset("100g").value();
  const auto all = sensitivity(
      set, [](const Parameters& p) { return message_cost(Mode::kRnic, p, {.size = 64}).total(); });
  REQUIRE_FALSE(all.empty());
  CHECK(all.front().key == "register");
  CHECK(all.front().low < all.front().high);
  for (const auto& s : all) CHECK(s.key != "mss");
}
