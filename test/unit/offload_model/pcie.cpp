// SPDX-License-Identifier: Apache-2.0
// The traffic on PCI Express, compared with the published model of Neugebauer et al. (SIGCOMM 2018,
// repository pcie-bench/pcie-model at 40703cf), whose results for three cards are given below.
#include "iwarp/offload_model/pcie.hpp"

#include <doctest/doctest.h>

#include <sstream>

namespace iwarp::offload_model {
namespace {

/// What the model says, in Gb/s. For a link: generation, lanes, largest payload and largest
/// request, and its usable rate. Then for packets of four sizes (octets without FCS): memory
/// written, read and both; then, for each card, both directions, from the host and to the host.
constexpr auto kPublished = R"(
3 8 256 512 57.88
60 41.35 43.41 32.16 12.58 20.67 19.73 17.63 23.23 27.16 20.65 35.30 28.01
252 52.85 53.63 48.62 31.17 40.52 39.64 37.50 42.71 45.60 40.50 50.23 46.16
253 52.87 53.64 48.65 31.23 40.57 39.69 37.56 42.76 45.64 40.54 50.26 46.20
1496 52.80 53.59 50.58 46.06 50.82 50.00 48.08 51.38 51.43 48.86 52.98 51.55
1 8 128 512 12.14
60 8.67 9.10 6.74 2.64 4.33 4.14 3.70 4.84 5.70 4.33 7.33 5.87
252 10.20 10.47 9.44 6.22 8.05 7.80 7.41 8.44 8.89 7.96 9.82 9.00
253 10.20 10.48 9.45 6.23 8.06 7.81 7.42 8.45 8.90 7.97 9.83 9.01
1496 10.18 10.46 9.78 8.97 9.95 9.68 9.34 10.05 9.93 9.48 10.34 9.95
2 4 256 512 14.44
60 10.32 10.83 8.02 3.14 5.16 4.92 4.40 5.80 6.78 5.15 8.81 6.99
252 13.19 13.38 12.13 7.78 10.11 9.89 9.36 10.66 11.38 10.10 12.53 11.52
253 13.19 13.39 12.14 7.79 10.12 9.90 9.37 10.67 11.39 10.12 12.54 11.53
1496 13.18 13.37 12.62 11.49 12.68 12.48 12.00 12.82 12.83 12.19 13.22 12.86
4 16 512 4096 229.25
60 163.75 171.94 127.36 49.84 81.87 78.15 70.05 92.31 107.56 82.07 140.53 110.93
252 209.31 212.39 192.57 123.44 160.47 156.98 148.76 169.41 180.60 160.65 199.29 182.82
253 209.38 212.45 192.69 123.67 160.66 157.18 148.96 169.59 180.75 160.84 199.40 182.96
1496 218.72 220.41 215.42 194.86 208.61 206.60 204.10 211.05 212.77 207.65 217.90 213.28
5 16 256 512 454.80
60 324.86 341.10 252.67 98.87 162.43 155.05 138.55 182.53 213.40 162.24 277.39 220.06
252 415.25 421.36 382.03 244.89 318.36 311.44 294.66 335.61 358.30 318.18 394.70 362.69
253 415.40 421.48 382.27 245.34 318.74 311.83 295.07 335.95 358.60 318.56 394.90 362.98
1496 414.87 421.03 397.42 361.90 399.28 392.83 377.79 403.67 404.06 383.92 416.29 404.99
6 16 256 512 873.29
60 623.78 654.97 485.16 189.85 311.89 297.71 266.04 350.49 409.76 311.52 532.63 422.56
252 797.35 809.08 733.57 470.23 611.30 598.02 565.80 644.42 687.99 610.96 757.88 696.42
253 797.63 809.31 734.03 471.09 612.03 598.76 566.59 645.09 688.56 611.69 758.28 696.98
1496 796.61 808.44 763.11 694.92 766.69 754.30 725.42 775.11 775.86 737.19 799.35 777.65
)";

/// What drivers and cards of the model do for each packet: how many packets share a step.
struct Driver {
  double doorbells, fetches, write_backs, refills, head_reads, interrupts;
};
constexpr Driver kSimple{1, 1, 0, 1, 1, 1};
constexpr Driver kKernel{1, 40, 8, 32, 8, 32};
constexpr Driver kDpdk{32, 40, 8, 32, 0, 0};

/// The processor reads a register of `octets` of the card, and waits for it.
PcieTraffic host_reads(double octets) { return {24, 20 + octets}; }

PcieTraffic sends(const PcieLink& link, const Driver& d, double size) {
  auto out = 1 / d.doorbells * host_writes(link, 4);
  out += 1 / d.fetches * card_reads(link, 16 * d.fetches);
  out += card_reads(link, size);
  if (d.write_backs > 0) out += 1 / d.write_backs * card_writes(link, 16 * d.write_backs);
  if (d.interrupts > 0) {
    out += 1 / d.interrupts * card_writes(link, 4);
    out += 1 / d.doorbells * host_reads(4);
  }
  return out;
}

PcieTraffic receives(const PcieLink& link, const Driver& d, double size) {
  auto out = 1 / d.refills * host_writes(link, 4);
  // The published program drops the request for a descriptor (it assigns instead of adding).
  out += {card_reads(link, 16).to_card, 0};
  out += card_writes(link, size);
  out += card_writes(link, 16);
  if (d.interrupts > 0) {
    out += 1 / d.interrupts * card_writes(link, 4);
    out += 1 / d.head_reads * host_reads(4);
  }
  return out;
}

TEST_CASE("rates on PCI Express equal those of the published model") {
  const auto near = [](double value) { return doctest::Approx(value).epsilon(0.002); };
  std::istringstream published(kPublished);
  PcieLink link;
  double usable = 0;
  int links = 0;
  while (published >> link.generation >> link.lanes >> link.payload >> link.read_request >>
         usable) {
    ++links;
    CAPTURE(link.generation);
    CHECK(pcie_gbps(link) == near(usable));
    for (int packet = 0; packet < 4; ++packet) {
      double size = 0;
      published >> size;
      CAPTURE(size);
      const auto check = [&](const PcieTraffic& traffic) {
        double expected = 0;
        REQUIRE(static_cast<bool>(published >> expected));
        CHECK(pcie_rate(link, traffic) * size * 8 / 1000 == near(expected));
      };
      auto both = card_writes(link, size);
      check(both);
      check(card_reads(link, size));
      both += card_reads(link, size);
      check(both);
      for (const auto& driver : {kSimple, kKernel, kDpdk}) {
        CAPTURE(driver.fetches);
        auto all = sends(link, driver, size);
        all += receives(link, driver, size);
        check(all);
        check(sends(link, driver, size));
        check(receives(link, driver, size));
      }
    }
  }
  CHECK(links == 6);
}

TEST_CASE("a work request costs least traffic inlined, in lists and unsignalled") {
  const PcieLink link;
  const auto rate = [&](const RnicMessage& m) { return pcie_rate(link, rnic_sends(link, m)); };
  const RnicMessage plain{.size = 16};
  auto inlined = plain;
  inlined.inlined = true;
  CHECK(rate(inlined) > rate(plain));
  auto list = plain;
  list.list = 32;
  CHECK(rate(list) > rate(plain));
  auto quiet = plain;
  quiet.signalled = 0;
  CHECK(rnic_sends(link, quiet).to_host == doctest::Approx(rnic_sends(link, plain).to_host - 88));
  auto interrupts = plain;
  interrupts.interrupts = 1;
  CHECK(rnic_sends(link, interrupts).to_host ==
        doctest::Approx(rnic_sends(link, plain).to_host + 28));
  // A Write consumes no receive and completes nothing at the target: only its payload crosses.
  auto write = plain;
  write.consumes_receive = false;
  CHECK(rnic_receives(link, write).to_card == 0);
  CHECK(rnic_receives(link, write).to_host == 24 + 16);
}

}  // namespace
}  // namespace iwarp::offload_model
