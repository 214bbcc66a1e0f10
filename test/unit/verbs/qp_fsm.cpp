// SPDX-License-Identifier: Apache-2.0
// Compares the queue pair's state machine with its committed copy, and checks that every enumerator
// has a name, and every error a text.
#include "iwarp/verbs/qp_fsm.hpp"

#include <doctest/doctest.h>

#include <fsm_snapshot.hpp>
#include <set>

#include "connection/connection_fsm.hpp"
#include "iwarp/rdmap/terminate.hpp"
#include "iwarp/verbs/datagram_fsm.hpp"
#include "iwarp/verbs/error_guide.hpp"
#include "iwarp/verbs/errors.hpp"

namespace iwarp::verbs {
namespace {

// Checks that every enumerator has a name, that the names differ, and that there are no more names
// than enumerators.
template <typename E>
void check_names(E last) {
  std::set<std::string_view> seen;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const auto name = to_string(static_cast<E>(i));
    CHECK_FALSE(name.empty());
    CHECK(name != "unknown");
    CHECK(seen.insert(name).second);
  }
  CHECK(to_string(static_cast<E>(static_cast<int>(last) + 1)) == "unknown");
}

TEST_CASE("the state machines are those in rfc-notes/fsm [VRB-5]") {
  iwarp::test::check_fsm("qp", kQpEdges);
  iwarp::test::check_fsm("connection", kConnectionEdges);
  iwarp::test::check_fsm("datagram_qp", kDatagramEdges);
}

TEST_CASE("every enumerator has a distinct name") {
  check_names(WcStatus::kFatal);
  check_names(WcOpcode::kRecvDatagramImmediate);
  check_names(QpState::kError);
  check_names(AsyncEventType::kFirstMessage);
  check_names(QpEvent::kReset);
}

TEST_CASE("every error has a distinct text, and the category has a name") {
  std::set<std::string> seen;
  for (int i = 0; i <= static_cast<int>(Errc::kCarrierFailed); ++i) {
    const auto text = std::error_code(i, verbs_category()).message();
    CHECK(text != "unknown error");
    CHECK(seen.insert(text).second);
  }
  CHECK(std::error_code(static_cast<int>(Errc::kCarrierFailed) + 1, verbs_category()).message() ==
        "unknown error");
  CHECK(std::error_code(-1, verbs_category()).message() == "unknown error");
  CHECK(std::string(verbs_category().name()) == "iwarp");
  const std::error_code error = Errc::kQueueFull;
  CHECK(error.message() == "the queue is full");
  CHECK(Errc{} != Errc::kInvalidArgument);
}

TEST_CASE("every Terminate that an RFC assigns has an explanation and advice") {
  const std::string unknown = guidance({bytes::Layer::kMpa, 9, 0x99, ""}).meaning;
  for (const auto& fault : rdmap::known_faults()) {
    CAPTURE(bytes::to_string(fault));
    const auto known = guidance(fault);
    CHECK(std::string(known.meaning) != unknown);
    CHECK_FALSE(std::string(known.meaning).empty());
    CHECK_FALSE(std::string(known.advice).empty());
  }
}

TEST_CASE("a vendor_err identifies one Terminate") {
  CHECK(vendor_error({bytes::Layer::kDdp, 2, 0x02, ""}) == 0x11202);
  for (const auto& fault : rdmap::known_faults()) {
    CHECK(fault_of_vendor_error(vendor_error(fault)) == fault);
  }
  CHECK_FALSE(fault_of_vendor_error(0).has_value());
  CHECK_FALSE(fault_of_vendor_error(kInjectedVendorError).has_value());
  CHECK_FALSE(fault_of_vendor_error(0x1011202).has_value());
}

}  // namespace
}  // namespace iwarp::verbs
