// SPDX-License-Identifier: Apache-2.0
// Tests the URLs of get and put, and which file names a server accepts.
#include "common/base/url.hpp"

#include <doctest/doctest.h>

namespace {

using namespace iwarp::apps;

TEST_CASE("a URL contains server, port and file") {
  CHECK(parse_url("iwarp://host:99/a.img", 7480) == FileUrl{{"host", 99}, "a.img"});
  CHECK(parse_url("iwarp://host/a.img", 7480) == FileUrl{{"host", 7480}, "a.img"});
  CHECK(parse_url("iwarp://192.0.2.7:1/x", 7480) == FileUrl{{"192.0.2.7", 1}, "x"});
  CHECK(parse_url("iwarp://host/", 7480) == FileUrl{{"host", 7480}, ""});
}

TEST_CASE("IPv6 addresses are in brackets") {
  CHECK(parse_url("iwarp://[::1]:99/x", 7480) == FileUrl{{"::1", 99}, "x"});
  CHECK(parse_url("iwarp://[2001:db8::7]/x", 7480) == FileUrl{{"2001:db8::7", 7480}, "x"});
}

TEST_CASE("text that is not a URL is refused, and the message repeats the text") {
  for (const char* text :
       {"", "host/x", "http://host/x", "iwarp:/host/x", "iwarp://host", "iwarp:///x",
        "iwarp://host:/x", "iwarp://host:0/x", "iwarp://host:65536/x", "iwarp://host:x/x",
        "iwarp://[::1/x", "iwarp://host/a/b", "iwarp://host/../x", "iwarp://host/.hidden"}) {
    CAPTURE(text);
    const auto url = parse_url(text, 7480);
    REQUIRE_FALSE(url.has_value());
    CHECK(url.error().starts_with(text));
  }
}

TEST_CASE("only plain names, which stay in their directory, are accepted") {
  for (const char* name : {"a", "disk.img", "a b", "a..", "-x", "~", "\xc3\xa9"}) {
    CAPTURE(name);
    CHECK(is_plain_name(name));
  }
  using namespace std::string_view_literals;
  for (const auto name : {""sv, "."sv, ".."sv, "../x"sv, "a/b"sv, "/etc/passwd"sv, ".x"sv, "a\0b"sv,
                          "a\nb"sv, "\x1b[2J"sv, "a\x7f"sv}) {
    CAPTURE(name);
    CHECK_FALSE(is_plain_name(name));
  }
}

TEST_CASE("a name of 255 octets is accepted, one of 256 is not") {
  CHECK(is_plain_name(std::string(255, 'x')));
  CHECK_FALSE(is_plain_name(std::string(256, 'x')));
}

}  // namespace
