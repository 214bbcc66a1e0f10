// SPDX-License-Identifier: Apache-2.0
// Parses iwarp://HOST[:PORT]/NAME, which locates a file for `iwarp get` and `iwarp put`. An IPv6
// address must be in brackets. There are no escape sequences: NAME consists of all bytes after the
// slash.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "iwarp/net/address.hpp"

namespace iwarp::apps {

struct FileUrl {
  net::Address server;
  std::string name;
  bool operator==(const FileUrl&) const = default;
};

/// Parses a URL. Returns an error text if `text` is not a valid URL. `name` may be empty only if
/// `text` ends with '/'.
std::expected<FileUrl, std::string> parse_url(std::string_view text, std::uint16_t default_port);

/// Returns whether a server accepts `name`: 1 to 255 bytes, no slash, no control character and no
/// leading dot. Such a name refers to a file directly in the served directory, and never to one of
/// the server's own files, whose names begin with a dot.
bool is_plain_name(std::string_view name);

}  // namespace iwarp::apps
