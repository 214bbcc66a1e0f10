// SPDX-License-Identifier: Apache-2.0
// Tests the profiles of cards: those that are built in, and files with errors.
#include "iwarp/profiles/profile.hpp"

#include <doctest/doctest.h>

#include <string>

#include "device/limits.hpp"
#include "device/port.hpp"

using namespace iwarp;
using namespace iwarp::rdma_core;

namespace {

const std::string kValid =
    R"({"format": 1, "name": "card", "device": {"name": "card{n}", "node_type": 1, "transport": 0},
        "attributes": {"max_qp": 7, "max_sge": 1000, "vendor_id": 5}, "port": {"max_mtu": 4},
        "gids": ["ipv4 v2"]})";

/// Returns kValid with `from` replaced by `to`.
std::string changed(const std::string& from, const std::string& to) {
  std::string out = kValid;
  const auto at = out.find(from);
  REQUIRE(at != out.npos);
  return out.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("the built-in profiles are valid, and have the names by which they are chosen") {
  for (const std::string_view name : profiles::kNames) {
    CAPTURE(name);
    const auto profile = profiles::load(name);
    REQUIRE_MESSAGE(profile, profile.error());
    CHECK((*profile)->name == name);
    const bool is_iwarp = name == "iwarp" || name == "siw";
    CHECK((*profile)->is_rnic() == is_iwarp);
  }
}

TEST_CASE("a device reports the lower of the card's limit and this stack's") {
  const auto card = profiles::parse(kValid);
  REQUIRE_MESSAGE(card, card.error());
  const ibv_device_attr attr = device_attributes(*card);
  CHECK(attr.max_qp == 7);
  CHECK(attr.max_sge == kMaxSge);
  CHECK(attr.vendor_id == 5);
  CHECK(attr.max_cq == kMaxCq);
  CHECK(port_attributes(*card, Port{}).max_mtu == IBV_MTU_2048);
}

TEST_CASE("an invalid profile is refused with the name of the value") {
  struct Case {
    std::string from, to, error;
  };
  for (const auto& [from, to, error] :
       {Case{"{\"format\"", "[\"format\"", "is not JSON (at byte 10)"},
        Case{"\"format\": 1", "\"format\": 2", "format 2: must be 1"},
        Case{"\"format\": 1, ", "", "format is missing"},
        Case{"\"card{n}\"", "\"a/b\"",
             "device.name \"a/b\": must be at most 63 letters, digits, '_', '-' and '.'; "
             "{n} stands for a number and {interface} for a network interface"},
        Case{
            "\"transport\": 0", "\"transport\": 1",
            "device.node_type 1: must be 1 with transport 0 (RoCE) and 4 with transport 1 (iWARP)"},
        Case{"\"max_qp\": 7", "\"max_qp\": 0", "attributes.max_qp 0: must be at least 1"},
        Case{"\"max_qp\": 7", "\"max_qp\": -1",
             "attributes.max_qp -1: must be an integer from 0 to 2147483647"},
        Case{"\"max_qp\": 7", "\"max_qp\": \"7\"",
             "attributes.max_qp \"7\": must be an integer from 0 to 2147483647"},
        Case{"\"max_qp\"", "\"max_qps\"", "attributes.max_qps is not a known key"},
        Case{"\"max_mtu\": 4", "\"max_mtu\": 9", "port.max_mtu 9: must be an integer from 0 to 5"},
        Case{"{\"max_mtu\": 4}", "[]", "port must be an object"},
        Case{"[\"ipv4 v2\"]", "[]", "gids must be a non-empty list"},
        Case{"ipv4 v2", "mac",
             "gids \"mac\": must be link-local, ipv4 or ipv6 followed by v1 or v2, or "
             "assigned-link-local v2"}}) {
    CAPTURE(to);
    const auto profile = profiles::parse(changed(from, to));
    REQUIRE_FALSE(profile);
    CHECK(profile.error() == error);
  }
}
