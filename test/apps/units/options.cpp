// SPDX-License-Identifier: Apache-2.0
// Tests the options that all commands share, from the command line to the connection: defaults and
// syntax. unit/rdma_core/settings.cpp tests the effect of each setting, and option_table.cpp that
// option and variable set the same.
#include "common/connection/options.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "command_line/parse.hpp"
#include "common/base/error.hpp"

namespace {

using namespace iwarp;
using namespace iwarp::apps;

verbs::ConnectionOptions parse(const std::vector<std::string>& words) {
  cli::Command command("test", "For a test");
  CommonOptions options;
  add_common_options(command, options);
  command.run = [](const cli::Given&) { return 0; };
  std::vector<const char*> all{"test"};
  for (const auto& word : words) all.push_back(word.c_str());
  const auto out = cli::parse(command, static_cast<int>(all.size()), all.data());
  if (!out) throw UsageError(out.error().text);
  return connection_options(options);
}

TEST_CASE("without options: revision 2, CRC, no markers, no RTR, frames from the EMSS") {
  const auto options = parse({});
  CHECK(options.startup.revision == 2);
  CHECK(options.startup.crc);
  CHECK_FALSE(options.startup.markers);
  CHECK(options.startup.rtr == mpa::Rtr::kNone);
  CHECK(options.max_ulpdu == 0);
  CHECK(options.placement == verbs::Placement::kVerified);
  CHECK(options.startup.extensions);
  CHECK(options.completions == verbs::Completions::kSent);
  CHECK(options.first_fpdu_delay == verbs::Duration::zero());
  CHECK(options.gather_delay == std::chrono::microseconds(50));
}

TEST_CASE("by default an initiator falls back to revision 1 [EMPA-50]") {
  CommonOptions options;
  CHECK(connect_options(options).fall_back_to_revision_1);
  CHECK(options::set(options::find("IWARP_MPA_REV"), "2-only", options));
  CHECK_FALSE(connect_options(options).fall_back_to_revision_1);
  CHECK(connect_options(options).connection.startup.revision == 2);
}

TEST_CASE("revision 1 has no RTR") {
  CHECK_THROWS_AS(parse({"--mpa-rev", "1", "--rtr", "send"}), UsageError);
  CHECK_NOTHROW(parse({"--mpa-rev", "1", "--rtr", "none"}));
}

TEST_CASE("sizes may have suffixes") {
  CHECK(cli::parse_size("0") == 0);
  CHECK(cli::parse_size("64K") == 65536);
  CHECK(cli::parse_size("3G") == 3221225472);
  for (const char* text : {"", "K", "1k", "1KB", " 1", "1 ", "-1", "+1", "0x10", "1.5M",
                           "99999999999999999999", "9000000000G"}) {
    CAPTURE(text);
    CHECK(cli::parse_size(text) == std::nullopt);
  }
}

TEST_CASE("addresses") {
  CHECK(address_argument("host", 7174) == net::Address{"host", 7174});
  CHECK(address_argument("[::1]:9", 7174) == net::Address{"::1", 9});
  CHECK(address_argument(":9", 7174) == net::Address{"", 9});
  CHECK_THROWS_AS(address_argument("host:x", 7174), UsageError);
}

}  // namespace
