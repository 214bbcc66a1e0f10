// SPDX-License-Identifier: Apache-2.0
// Tests the identities of the LAWS model over a grid of ratios, and compares the ratios of a host
// with its throughput.
#include "iwarp/offload_model/laws.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "support.hpp"

using namespace iwarp::offload_model;
using doctest::Approx;

namespace {

template <typename F>
void for_grid(F f) {
  for (const double alpha : {0.25, 0.5, 1.0, 2.0, 4.0}) {
    for (const double gamma : {0.05, 0.5, 1.0, 3.0}) {
      for (const double sigma : {0.1, 0.5, 1.0, 2.0, 5.0}) {
        for (const double beta : {0.1, 0.4, 1.0}) f(Laws{alpha, gamma, sigma, beta, 1});
      }
    }
  }
}

}  // namespace

TEST_CASE("the gain is max(sigma, 1 + gamma) / max(sigma, gamma, alpha beta) - 1") {
  for_grid([](const Laws& l) {
    CHECK(gain(l) ==
          Approx(std::max(l.sigma, 1 + l.gamma) / std::max({l.sigma, l.gamma, l.alpha * l.beta}) -
                 1));
  });
}

TEST_CASE("the gain is at most 1 / gamma") {
  for_grid([](const Laws& l) { CHECK(gain(l) <= 1 / l.gamma + 1e-12); });
}

TEST_CASE("the gain peaks at gamma = max(sigma, alpha beta)") {
  for_grid([](Laws l) {
    auto peak = l;
    peak.gamma = std::max(l.sigma, l.alpha * l.beta);
    CHECK(gain(l) <= gain(peak) + 1e-12);
  });
}

TEST_CASE("there is a loss exactly when alpha beta > max(sigma, 1 + gamma)") {
  for_grid([](const Laws& l) {
    CHECK((gain(l) < 0) == (l.alpha * l.beta > std::max(l.sigma, 1 + l.gamma)));
  });
}

TEST_CASE("the best split is (gamma + beta) / (beta (1 + alpha))") {
  for_grid([](Laws l) {
    l.sigma = 0;
    l.offloaded = best_split(l);
    const auto best = gain(l);
    for (double p = 0; p <= 1; p += 0.05) {
      l.offloaded = p;
      CHECK(gain(l) <= best + 1e-12);
    }
  });
  CHECK(best_split({.alpha = 3, .gamma = 0.5, .beta = 1}) == Approx(1.5 / 4));
  CHECK(best_split({.alpha = 0.1, .gamma = 2, .beta = 1}) == 1);
}

TEST_CASE("worked examples") {
  CHECK(gain({.alpha = 2, .gamma = 0.5, .sigma = 0.2, .beta = 1}) == Approx(-0.25));
  CHECK(gain({.alpha = 2, .gamma = 0.5, .sigma = 0.2, .beta = 0.4}) == Approx(0.875));
  CHECK(gain({.alpha = 0.1, .gamma = 0.5, .sigma = 0.5, .beta = 1}) == Approx(2));
}

TEST_CASE("a TOE has a larger structural ratio than an RNIC on every preset host") {
  for (const auto& name : preset_names()) {
    const auto p = preset_parameters(name.c_str());
    const Workload w{.size = 65536, .hit_rate = 1};
    const auto toe = ratios(Mode::kToe, p, w, 0.1);
    const auto rnic = ratios(Mode::kRnic, p, w, 0.1);
    CHECK(toe.beta > rnic.beta);
    // FPDU headers use only a small part of the link, so TOE and RNIC differ little.
    CHECK(toe.sigma == Approx(rnic.sigma).epsilon(0.05));
    CHECK(toe.gamma > 0);
    CHECK(toe.offloaded < rnic.offloaded);
  }
}

TEST_CASE("the gain from the ratios equals the gain from the throughput: one card, one link") {
  for (const auto& name : preset_names()) {
    for (const double size : {64.0, 4096.0, 65536.0, 1048576.0}) {
      for (const auto mode : {Mode::kToe, Mode::kRnic}) {
        CAPTURE(name);
        CAPTURE(size);
        CAPTURE(to_string(mode));
        auto p = preset_parameters(name.c_str());
        p.memory_bus = 1e6;  // LAWS does not model the memory bus, so it must not be the limit.
        const Workload w{.size = size, .hit_rate = 1};
        const auto before = throughput(Mode::kSockets, p, w, 1, 0.1);
        const auto after = throughput(mode, p, w, 1, 0.1);
        const auto cost = message_cost(Mode::kSockets, p, w);
        const bool receiver = cost.rx.total() >= cost.tx.total();
        if (after.limit == (receiver ? "sender's processor" : "receiver's processor")) continue;
        CHECK(gain(ratios(mode, p, w, 0.1)) == Approx(after.gbps / before.gbps - 1).epsilon(0.03));
      }
    }
  }
}
