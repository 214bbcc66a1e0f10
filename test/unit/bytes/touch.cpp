// SPDX-License-Identifier: Apache-2.0
// Tests how a page fault in the program's memory is caught. The tests perform the signal handler's
// steps themselves.
#include "iwarp/bytes/touch.hpp"

#include <doctest/doctest.h>

using namespace iwarp::bytes;

namespace {

const std::byte octet{};

void fault() {
  begin_touch();
  REQUIRE(is_touching());
  leave_touch(&octet);
}

}  // namespace

TEST_CASE("work that does not fault is done, and no recovery point remains") {
  bool done = false;
  CHECK(guarded([&] {
    begin_touch();
    done = is_touching();
    end_touch();
    CHECK_FALSE(is_touching());
  }));
  CHECK(done);
  begin_touch();
  CHECK_FALSE(is_touching());  // no recovery point is set
  end_touch();
}

TEST_CASE("a fault ends the innermost guard, which returns the address of the fault") {
  bool inner = true;
  bool went_on = false;
  CHECK(guarded([&] {
    inner = guarded([&] {
      fault();
      went_on = true;
    });
    CHECK_FALSE(is_touching());
  }));
  CHECK_FALSE(inner);
  CHECK_FALSE(went_on);
  CHECK_EQ(touching.address, &octet);
  CHECK_FALSE(guarded([] {
    CHECK(guarded([] {}));
    fault();
  }));
}
