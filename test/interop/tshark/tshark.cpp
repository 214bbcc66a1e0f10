// SPDX-License-Identifier: Apache-2.0
// Lets tshark read captures that CaptureTap writes. tshark must recognize every frame, find every
// CRC good, report no dissector error, and find nothing in its TCP analysis. Without tshark the
// test is skipped with a message.
#include "tshark.hpp"

#include <doctest/doctest.h>

#include "iwarp/trace/capture_file.hpp"
#include "iwarp/trace/capture_tap.hpp"
#include "temporary_file.hpp"
#include "wire_script.hpp"

namespace iwarp::test {
namespace {

using trace::CaptureEnds;
using trace::CaptureFile;
using trace::CaptureTap;

// Does not use well-known ports such as 5000, for which tshark prefers other dissectors to its
// heuristics.
const CaptureEnds kV4{{"192.0.2.10", 40001}, {"192.0.2.20", 7174}};
const CaptureEnds kV6{{"2001:db8::10", 40002}, {"2001:db8::20", 7174}};
const trace::CaptureClock kClock{
    .wall = std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000)),
    .steady = {}};

void write(const std::shared_ptr<CaptureFile>& file, const CaptureEnds& ends,
           const WireScript& script) {
  CaptureTap tap(file, ends);
  mpa::TimePoint now{};
  for (const auto& sent : script.sent)
    tap.octets(sent.outbound, sent.octets, now += mpa::Duration(1000));
  tap.closed(true, false, now);
  tap.closed(false, false, now);
}

TsharkReport report_on(const CaptureEnds& ends, const WireScript& script) {
  const TemporaryFile path;
  const auto file = CaptureFile::create(path.path(), kClock);
  REQUIRE(file.has_value());
  write(*file, ends, script);
  return ask_tshark(path.path());
}

void check_flawless(const TsharkReport& report) {
  CHECK(report.bad_crcs == 0);
  CHECK(report.bad_checksums == 0);
  CHECK(report.malformed == 0);
  CHECK(report.remarks == 0);
}

TEST_CASE("tshark reads a short session with and without markers, over IPv4 and IPv6") {
  const std::vector<std::string> opcodes{"0x00", "0x03", "0x00", "0x00", "0x00",
                                         "0x01", "0x02", "0x04", "0x00", "0x07"};
  for (const auto& ends : {kV4, kV6}) {
    for (const bool markers : {false, true}) {
      CAPTURE(ends.near.host);
      CAPTURE(markers);
      const auto script = short_session({markers, markers, true});
      const auto report = report_on(ends, script);
      CHECK(report.packets == 3 + script.sent.size() + 3);
      CHECK(report.requests == 1);
      CHECK(report.replies == 1);
      CHECK(report.fpdus == opcodes.size());
      CHECK(report.opcodes == opcodes);
      CHECK(report.good_crcs == opcodes.size());
      check_flawless(report);
    }
  }
}

// If only one direction has markers, tshark 4.0 does not dissect the other direction.
TEST_CASE("tshark reads the marked direction of a connection with markers in one only [MPA-70]") {
  using Opcodes = std::vector<std::string>;
  const auto near_marked = report_on(kV4, short_session({false, true, true}));
  CHECK(near_marked.opcodes == Opcodes{"0x00", "0x00", "0x00", "0x00", "0x01", "0x04", "0x00"});
  CHECK(near_marked.good_crcs == 7);
  check_flawless(near_marked);
  const auto far_marked = report_on(kV4, short_session({true, false, true}));
  CHECK(far_marked.opcodes == Opcodes{"0x03", "0x02", "0x07"});
  CHECK(far_marked.good_crcs == 3);
  check_flawless(far_marked);
}

TEST_CASE("tshark reads FPDUs of every size up to the largest") {
  auto script = WireScript::started();
  std::uint64_t to = 0;
  std::size_t fpdus = 0;
  for (const std::size_t size : {16U, 1000U, 1440U, 8900U, 30000U, 64754U}) {
    script.tagged(true, rdmap::Opcode::kWrite, 0x11223344, to, counting(size));
    to += size;
    ++fpdus;
  }
  const auto report = report_on(kV4, script);
  CHECK(report.fpdus == fpdus);
  CHECK(report.good_crcs == fpdus);
  check_flawless(report);
}

TEST_CASE("tshark distinguishes a bad CRC from a good one, so its verdict means something") {
  auto script = short_session({});
  script.sent[4].octets[99] ^= std::byte{1};
  const auto report = report_on(kV4, script);
  CHECK(report.good_crcs == 9);
  CHECK(report.bad_crcs == 1);
}

TEST_CASE("tshark separates the connections in one file") {
  const TemporaryFile path;
  const auto file = CaptureFile::create(path.path(), kClock);
  REQUIRE(file.has_value());
  write(*file, kV4, short_session({}));
  write(*file, kV6, short_session({true, true, true}));
  const auto report = ask_tshark(path.path());
  CHECK(report.requests == 2);
  CHECK(report.fpdus == 20);
  CHECK(report.good_crcs == 20);
  check_flawless(report);
}

}  // namespace
}  // namespace iwarp::test

int main(int argc, char** argv) {
  if (!iwarp::test::have_tshark()) {
    std::puts("SKIPPED: tshark is not installed (package tshark), captures were not checked");
    return 0;
  }
  return doctest::Context(argc, argv).run();
}
