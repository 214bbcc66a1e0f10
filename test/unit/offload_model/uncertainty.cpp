// SPDX-License-Identifier: Apache-2.0
// Bands: they hold the prediction, repeat, and have the width that the uncertainty says.
#include "iwarp/offload_model/uncertainty.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "iwarp/offload_model/cost.hpp"

using namespace iwarp::offload_model;
using doctest::Approx;

TEST_CASE("the same seed draws the same; another does not") {
  const auto set = preset("2007").value();
  const auto one = draw(set, 3, 7);
  CHECK(one[2].copy_rx == draw(set, 3, 7)[2].copy_rx);
  CHECK(one[2].copy_rx != draw(set, 3, 8)[2].copy_rx);
  CHECK(one[0].mss == one[1].mss);  // a definition is certain
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

TEST_CASE("every band holds its prediction") {
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

TEST_CASE("the most decisive parameter comes first, and definitions decide nothing") {
  const auto set = preset("100g").value();
  const auto all = sensitivity(
      set, [](const Parameters& p) { return message_cost(Mode::kRnic, p, {.size = 64}).total(); });
  REQUIRE_FALSE(all.empty());
  CHECK(all.front().key == "register");
  CHECK(all.front().low < all.front().high);
  for (const auto& s : all) CHECK(s.key != "mss");
}
