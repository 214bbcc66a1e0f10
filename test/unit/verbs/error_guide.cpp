// SPDX-License-Identifier: Apache-2.0
#include "iwarp/verbs/error_guide.hpp"

#include <doctest/doctest.h>

#include <string>

#include "iwarp/rdmap/terminate.hpp"

using namespace iwarp;  // NOLINT

TEST_CASE("every Terminate that an RFC assigns has an explanation and advice") {
  const std::string unknown = verbs::guidance({bytes::Layer::kMpa, 9, 0x99, ""}).meaning;
  for (const auto& fault : rdmap::known_faults()) {
    CAPTURE(bytes::to_string(fault));
    const auto known = verbs::guidance(fault);
    CHECK(std::string(known.meaning) != unknown);
    CHECK_FALSE(std::string(known.meaning).empty());
    CHECK_FALSE(std::string(known.advice).empty());
  }
}

TEST_CASE("a vendor_err identifies one Terminate") {
  CHECK(verbs::vendor_error({bytes::Layer::kDdp, 2, 0x02, ""}) == 0x11202);
  for (const auto& fault : rdmap::known_faults()) {
    CHECK(verbs::fault_of_vendor_error(verbs::vendor_error(fault)) == fault);
  }
  CHECK_FALSE(verbs::fault_of_vendor_error(0).has_value());
  CHECK_FALSE(verbs::fault_of_vendor_error(verbs::kInjectedVendorError).has_value());
  CHECK_FALSE(verbs::fault_of_vendor_error(0x1011202).has_value());
}
