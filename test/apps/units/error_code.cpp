// SPDX-License-Identifier: Apache-2.0
// The entries that iwarp explain-error finds for a status, a vendor_err, a Terminate and an errno
// of a call, and whether every error has an entry.
#include "explain_error/error_code.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "explain_error/call_errors.hpp"
#include "iwarp/rdmap/terminate.hpp"
#include "iwarp/verbs/error_guide.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::apps;  // NOLINT

namespace {

std::string title_of(std::string_view word) {
  const auto found = find_error_code(word);
  return found ? found->title : "none";
}

}  // namespace

TEST_CASE("a status is found by its names, its text or its number") {
  const std::string flushed = "IBV_WC_WR_FLUSH_ERR (5), \"Work Request Flushed Error\"";
  for (const auto* word :
       {"IBV_WC_WR_FLUSH_ERR", "wr_flush_err", "5", "0x5", "work request flushed error"}) {
    CHECK(title_of(word) == flushed);
  }
}

TEST_CASE("a Terminate is found by its layer, type and code, or by its vendor_err, known or not") {
  const std::string no_buffer =
      "vendor_err 0x11202: Terminate 1/2/02 no buffer for this MSN, detected by DDP";
  for (const auto* word : {"1/2/02", "1/2/2", "0x11202", "0X11202", "70146"}) {
    CHECK(title_of(word) == no_buffer);
  }
  CHECK(title_of("2/0/77") ==
        "vendor_err 0x12077: Terminate 2/0/77 unknown error, detected by MPA");
}

TEST_CASE("a vendor_err of 0 is not taken for the status 0") {
  CHECK(title_of("0x0") == "vendor_err 0x0");
  CHECK(find_error_code("0x0")->advice.find("first completion that failed") != std::string::npos);
  CHECK(title_of("0") == "IBV_WC_SUCCESS (0), \"success\"");
}

TEST_CASE("text that is not an error code is not found") {
  for (const auto* word : {"", "24", "-1", "0x", "0x30000", "1/2", "1/2/", "1/2/02/3", "1/2/100",
                           "g/0/0", "IBV_WC_", "5 "}) {
    CAPTURE(word);
    CHECK(title_of(word) == "none");
  }
}

TEST_CASE("each status and each Terminate has an explanation, each error advice or a reason") {
  const auto all = all_error_codes();
  CHECK(all.size() == 24 + rdmap::known_faults().size() + 2);
  for (const auto& code : all) {
    CAPTURE(code.title);
    CHECK_FALSE(code.meaning.empty());
    const bool may_have_none = code.meaning == "the request was completed" ||
                               code.meaning.find("never") != std::string::npos;
    CHECK((may_have_none || !code.advice.empty()));
  }
  for (const auto& fault : rdmap::known_faults()) {
    CHECK(title_of(fmt::format("{:#x}", verbs::vendor_error(fault))).find(fault.why) !=
          std::string::npos);
  }
}

TEST_CASE("an error of a call is found by the call and the errno, a call by all of its errors") {
  const auto found = find_call_errors("ibv_modify_qp", "EINVAL");
  REQUIRE(found.size() == 1);
  CHECK(found[0].title == "ibv_modify_qp EINVAL");
  CHECK(find_call_errors("ibv_create_qp", "").size() == 3);
  CHECK(find_call_errors("ibv_modify_qp", "EPERM").empty());
  CHECK(find_call_errors("ibv_modify", "").empty());
}

TEST_CASE("the library names this command for the errors of calls that it explains, and no other") {
  std::vector<std::string> named;
  for (const auto& [call, error] : verbs::kExplainedCalls) {
    named.push_back(fmt::format("{} {}", call, error));
  }
  std::vector<std::string> explained;
  for (const auto& error : find_call_errors("", "")) {
    if (!error.title.starts_with("RDMA_CM_EVENT_")) explained.push_back(error.title);
  }
  std::ranges::sort(named);
  std::ranges::sort(explained);
  CHECK(named == explained);
}

TEST_CASE("every error of a call has causes and advice, and each command has an output") {
  for (const auto& error : find_call_errors("", "")) {
    CAPTURE(error.title);
    CHECK_FALSE(error.meaning.empty());
    CHECK_FALSE(error.causes[0].empty());
    CHECK_FALSE(error.advice.empty());
    CHECK(error.command.empty() == error.prints.empty());
    CHECK((!error.command.empty() ||
           error.meaning.find("the device of iwarp run") != std::string::npos));
  }
}
