// SPDX-License-Identifier: Apache-2.0
// Tests the IWARP_* variables: each value, the defaults, and the messages about invalid values.
#include "process/settings.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

using namespace iwarp;
using namespace iwarp::rdma_core;

namespace {

struct Read {
  Settings settings;
  std::vector<std::string> complaints;
};

Read read(const std::map<std::string, std::string>& variables) {
  Read out;
  out.settings = read_settings(
      [&](const char* name) {
        const auto it = variables.find(name);
        return it == variables.end() ? nullptr : it->second.c_str();
      },
      [&](const std::string& line) { out.complaints.push_back(line); });
  return out;
}

}  // namespace

TEST_CASE("without variables the defaults suit programs that use rdma_cm") {
  const auto [s, complaints] = read({});
  CHECK(complaints.empty());
  CHECK(s.connection.startup.revision == 2);
  CHECK(s.connection.startup.crc);
  CHECK_FALSE(s.connection.startup.markers);
  CHECK(s.connection.startup.rtr == mpa::Rtr::kWrite);
  CHECK(s.connection.startup.extensions);
  CHECK(s.connection.startup.send_immediate);
  CHECK(s.connection.completions == verbs::Completions::kSent);
  CHECK(s.connection.receive_hold == std::chrono::seconds(10));
  CHECK(s.fall_back_to_revision_1);
  CHECK_FALSE(s.ports);
  CHECK(s.port_offset == 0);
  CHECK(s.out_of_band == OutOfBandPeers::kLoopback);
  CHECK(s.log == verbs::LogLevel::kWarning);
  CHECK(s.log_format == verbs::LogFormat::kText);
  CHECK(s.metrics.empty());
  CHECK(s.persona == Persona::kIwarp);
  CHECK_FALSE(s.list_loopback);
  CHECK(s.presence);
}

TEST_CASE("by default, programs written for RoCE get completions that the peer has acknowledged") {
  using verbs::Completions;
  CHECK(read({{"IWARP_AS", "roce"}}).settings.connection.completions == Completions::kAcknowledged);
  CHECK(read({{"IWARP_AS", "iwarp"}}).settings.connection.completions == Completions::kSent);
  CHECK(
      read({{"IWARP_AS", "roce"}, {"IWARP_COMPLETIONS", "sent"}}).settings.connection.completions ==
      Completions::kSent);
}

TEST_CASE("by default, a RoCE adapter also connects queue pairs of other hosts") {
  CHECK(read({}).settings.out_of_band == OutOfBandPeers::kLoopback);
  CHECK(read({{"IWARP_AS", "roce"}}).settings.out_of_band == OutOfBandPeers::kOn);
  CHECK(read({{"IWARP_AS", "roce"}, {"IWARP_OOB", "loopback"}}).settings.out_of_band ==
        OutOfBandPeers::kLoopback);
}

TEST_CASE("each variable changes its setting") {
  const auto [s, complaints] = read({{"IWARP_CRC", "off"},
                                     {"IWARP_MARKERS", "on"},
                                     {"IWARP_MPA_REV", "2-only"},
                                     {"IWARP_RTR", "read"},
                                     {"IWARP_FPDU", "max"},
                                     {"IWARP_PLACEMENT", "direct"},
                                     {"IWARP_EXTENSIONS", "off"},
                                     {"IWARP_COMPLETIONS", "acked"},
                                     {"IWARP_CONGESTION", "cubic"},
                                     {"IWARP_FIRST_FPDU_DELAY", "100"},
                                     {"IWARP_GATHER_DELAY", "20"},
                                     {"IWARP_RECEIVE_HOLD", "0"},
                                     {"IWARP_PORT_RANGE", "20000-20999"},
                                     {"IWARP_PORT_OFFSET", "64511"},
                                     {"IWARP_OOB", "on"},
                                     {"IWARP_TRACE", "a.pcap"},
                                     {"IWARP_LOG", "connections"},
                                     {"IWARP_LOG_FORMAT", "json"},
                                     {"IWARP_METRICS", "unix:/run/%p.sock"},
                                     {"IWARP_AS", "roce"},
                                     {"IWARP_LOOPBACK", "on"},
                                     {"IWARP_PRESENCE", "off"}});
  CHECK(complaints.empty());
  CHECK_FALSE(s.connection.startup.crc);
  CHECK(s.connection.startup.markers);
  CHECK_FALSE(s.fall_back_to_revision_1);
  CHECK(s.connection.startup.rtr == mpa::Rtr::kRead);
  CHECK(s.connection.max_ulpdu == 64768);
  CHECK(s.connection.placement == verbs::Placement::kDirect);
  CHECK_FALSE(s.connection.startup.extensions);
  CHECK(s.congestion == "cubic");
  CHECK(s.connection.first_fpdu_delay == std::chrono::milliseconds(100));
  CHECK(s.connection.completions == verbs::Completions::kAcknowledged);
  CHECK(s.connection.gather_delay == std::chrono::microseconds(20));
  CHECK(s.connection.receive_hold == std::chrono::milliseconds(0));
  REQUIRE(s.ports);
  CHECK(*s.ports == std::pair<std::uint16_t, std::uint16_t>(20000, 20999));
  CHECK(s.port_offset == 64511);
  CHECK(s.out_of_band == OutOfBandPeers::kOn);
  CHECK(s.trace == "a.pcap");
  CHECK(s.log == verbs::LogLevel::kInfo);
  CHECK(s.log_format == verbs::LogFormat::kJson);
  CHECK(s.metrics == "unix:/run/%p.sock");
  CHECK(s.persona == Persona::kRoce);
  CHECK(s.list_loopback);
  CHECK_FALSE(s.presence);
}

TEST_CASE("revision 1 has no RTR, whatever IWARP_RTR is") {
  CHECK(read({{"IWARP_MPA_REV", "1"}}).settings.connection.startup.rtr == mpa::Rtr::kNone);
  CHECK(read({{"IWARP_MPA_REV", "1"}, {"IWARP_RTR", "send"}}).settings.connection.startup.rtr ==
        mpa::Rtr::kNone);
}

TEST_CASE("%p in the name of the trace is the process id") {
  const auto s = read({{"IWARP_TRACE", "job-%p.pcap"}}).settings;
  CHECK(s.trace == "job-" + std::to_string(getpid()) + ".pcap");
}

TEST_CASE("an invalid value changes nothing, and the message names the variable and the value") {
  const std::vector<std::pair<std::string, std::string>> nonsense{
      {"IWARP_CRC", "maybe"},
      {"IWARP_MARKERS", "On"},
      {"IWARP_MPA_REV", "3"},
      {"IWARP_RTR", "fast"},
      {"IWARP_FPDU", "127"},
      {"IWARP_FPDU", "64769"},
      {"IWARP_FPDU", "1k"},
      {"IWARP_PLACEMENT", "none"},
      {"IWARP_EXTENSIONS", "on"},
      {"IWARP_CONGESTION", "a_name_that_is_too_long"},
      {"IWARP_FIRST_FPDU_DELAY", "4001"},
      {"IWARP_GATHER_DELAY", "1001"},
      {"IWARP_RECEIVE_HOLD", "-1"},
      {"IWARP_RECEIVE_HOLD", "10s"},
      {"IWARP_PORT_RANGE", "20000"},
      {"IWARP_PORT_RANGE", "200-100"},
      {"IWARP_PORT_RANGE", "0-70000"},
      {"IWARP_PORT_OFFSET", "64512"},
      {"IWARP_PORT_OFFSET", "-1"},
      {"IWARP_OOB", "yes"},
      {"IWARP_AS", "infiniband"},
      {"IWARP_AS", "RoCE"},
      {"IWARP_LOOPBACK", "127.0.0.1"},
      {"IWARP_PRESENCE", "maybe"},
      {"IWARP_LOG", "loud"},
      {"IWARP_LOG_FORMAT", "xml"}};
  for (const auto& [name, value] : nonsense) {
    CAPTURE(name);
    CAPTURE(value);
    const auto [s, complaints] = read({{name, value}});
    REQUIRE(complaints.size() == 1);
    CHECK(complaints[0].starts_with(name + "=" + value + " is not "));
    CHECK(s.connection.startup.crc);
    CHECK(s.connection.max_ulpdu == 0);
    CHECK(s.connection.receive_hold == std::chrono::seconds(10));
    CHECK_FALSE(s.ports);
    CHECK(s.port_offset == 0);
    CHECK(s.out_of_band == OutOfBandPeers::kLoopback);
    CHECK(s.persona == Persona::kIwarp);
    CHECK(s.presence);
  }
}

TEST_CASE("the smallest and the largest frame size are accepted") {
  CHECK(read({{"IWARP_FPDU", "128"}}).settings.connection.max_ulpdu == 128);
  CHECK(read({{"IWARP_FPDU", "64768"}}).settings.connection.max_ulpdu == 64768);
  CHECK(read({{"IWARP_FPDU", "emss"}}).settings.connection.max_ulpdu == 0);
}
