// SPDX-License-Identifier: Apache-2.0
// Tests texts for users: units, progress, error messages, digests.
#include <doctest/doctest.h>

#include <cerrno>

#include "common/base/digest.hpp"
#include "common/base/error.hpp"
#include "common/base/log.hpp"
#include "common/base/progress.hpp"
#include "common/base/units.hpp"
#include "iwarp/verbs/errors.hpp"

namespace {

using namespace iwarp;
using namespace iwarp::apps;
using namespace std::chrono_literals;

TEST_CASE("units and their rounding") {
  CHECK(format_octets(0) == "0 B");
  CHECK(format_octets(1023) == "1023 B");
  CHECK(format_octets(1024) == "1.0 KiB");
  CHECK(format_octets(3221225472.0) == "3.0 GiB");
  CHECK(format_duration(12345ns) == "12.3 us");
  CHECK(format_duration(4560us) == "4.56 ms");
  CHECK(format_duration(7800ms) == "7.8 s");
  CHECK(format_rate(1 << 20, 500ms) == "2.0 MiB/s");
  CHECK(format_rate(1, 0ns) == "-");
}

TEST_CASE("a progress bar at its ends and in the middle") {
  CHECK(progress_line("f", 0, 100, 1s) == "f   0% [........................] 0 B of 100 B  0 B/s");
  CHECK(progress_line("f", 50, 100, 1s) ==
        "f  50% [############............] 50 B of 100 B  50 B/s");
  CHECK(progress_line("f", 100, 100, 1s) ==
        "f 100% [########################] 100 B of 100 B  100 B/s");
  CHECK(progress_line("f", 0, 0, 1s).starts_with("f 100%"));
}

TEST_CASE("text from a peer cannot control the terminal") {
  CHECK(printable("a\x1b[2Jb\n\xff") == "a?[2Jb??");
}

TEST_CASE("reasons begin in lower case, because they follow a colon") {
  errno = ENOENT;
  CHECK(errno_text() == "no such file or directory");
  CHECK(to_text(make_error_code(verbs::Errc::kConnectionRefused)) == "connection refused");
}

TEST_CASE("ten lines per second are logged, and the next one says how many were left out") {
  LogLimit limit;
  const LogLimit::Clock::time_point begin(1h);
  for (int i = 0; i < 10; ++i) CHECK(limit.admit(begin) == 0);
  for (int i = 0; i < 7; ++i) CHECK_FALSE(limit.admit(begin + 999ms));
  CHECK(limit.admit(begin + 1s) == 7);
  CHECK(limit.admit(begin + 1s) == 0);
}

TEST_CASE("a rejection contains the peer's text") {
  net::CmEvent event;
  event.type = net::CmEvent::Type::kRejected;
  CHECK(to_text(event) == "the peer rejected the connection");
  for (const char c : {'b', 'u', 's', 'y'}) event.private_data.push_back(std::byte(c));
  CHECK(to_text(event) == "the peer rejected the connection: busy");
}

TEST_CASE("SHA-256 of the standard's examples (FIPS 180-4)") {
  Sha256 empty;
  CHECK(to_hex(empty.finish()) ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 abc;
  const std::string_view text = "abc";
  for (std::size_t i = 0; i < text.size(); ++i) {
    abc.update(std::as_bytes(std::span(text.substr(i, 1))));
  }
  CHECK(to_hex(abc.finish()) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
