// SPDX-License-Identifier: Apache-2.0
// Tests the IWARP_* variables: each value, the defaults, and the limits.
// apps/units/option_table.cpp tests what is said about an invalid value, and that it changes
// nothing.
#include "process/settings.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace iwarp;
using namespace iwarp::rdma_core;

namespace {

struct Read {
  Settings settings;
  std::vector<std::string> complaints;
};

/// Reads the settings from variables such as "CRC=off OOB=on", whose names lack their IWARP_.
Read read(const std::string& environment) {
  std::map<std::string, std::string> variables;
  std::istringstream words(environment);
  for (std::string word; words >> word;) {
    const auto end = word.find('=');
    variables["IWARP_" + word.substr(0, end)] = word.substr(end + 1);
  }
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
  const auto [s, complaints] = read("");
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
  CHECK(read("AS=roce").settings.connection.completions == Completions::kAcknowledged);
  CHECK(read("AS=iwarp").settings.connection.completions == Completions::kSent);
  CHECK(read("AS=roce COMPLETIONS=sent").settings.connection.completions == Completions::kSent);
}

TEST_CASE("by default, a RoCE adapter also connects queue pairs of other hosts") {
  CHECK(read("").settings.out_of_band == OutOfBandPeers::kLoopback);
  CHECK(read("AS=roce").settings.out_of_band == OutOfBandPeers::kOn);
  CHECK(read("AS=roce OOB=loopback").settings.out_of_band == OutOfBandPeers::kLoopback);
}

TEST_CASE("each variable changes its setting") {
  const auto [s, complaints] = read(
      "CRC=off MARKERS=on MPA_REV=2-only RTR=read FPDU=max PLACEMENT=direct EXTENSIONS=off "
      "COMPLETIONS=acked CONGESTION=cubic FIRST_FPDU_DELAY=100 GATHER_DELAY=20 RECEIVE_HOLD=0 "
      "PORT_RANGE=20000-20999 PORT_OFFSET=64511 OOB=on TRACE=a.pcap LOG=connections "
      "LOG_FORMAT=json METRICS=unix:/run/%p.sock AS=roce LOOPBACK=on PRESENCE=off");
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
  CHECK(read("MPA_REV=1").settings.connection.startup.revision == 1);
  CHECK(read("MPA_REV=1").settings.connection.startup.rtr == mpa::Rtr::kNone);
  CHECK(read("MPA_REV=1 RTR=send").settings.connection.startup.rtr == mpa::Rtr::kNone);
}

TEST_CASE("%p in the name of the trace is the process id") {
  CHECK(read("TRACE=job-%p.pcap").settings.trace == "job-" + std::to_string(getpid()) + ".pcap");
}

TEST_CASE("values just inside the limits are accepted, values just outside are not") {
  CHECK(read("FPDU=128").settings.connection.max_ulpdu == 128);
  CHECK(read("FPDU=64768 FIRST_FPDU_DELAY=4000 GATHER_DELAY=1000 PORT_OFFSET=64511")
            .complaints.empty());
  for (const char* outside :
       {"FPDU=127", "FPDU=64769", "FIRST_FPDU_DELAY=4001", "GATHER_DELAY=1001", "PORT_OFFSET=64512",
        "PORT_RANGE=0-70000", "CONGESTION=a_name_that_is_too_long"}) {
    CAPTURE(outside);
    CHECK(read(outside).complaints.size() == 1);
  }
}
