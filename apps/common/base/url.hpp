// SPDX-License-Identifier: Apache-2.0
// Parses iwarp://HOST[:PORT]/NAME, the location of a file for get and put. An IPv6 address must be
// in brackets. There are no escape sequences: NAME is every byte that follows the slash.
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

/// Parses a URL, or returns what is wrong with it. `name` may be empty only if the text ends with
/// '/'.
std::expected<FileUrl, std::string> parse_url(std::string_view text, std::uint16_t default_port);

/// Returns whether a server accepts `name`: it has 1 to 255 bytes, no slash, no control character
/// and no leading dot. Such a name can only mean a file directly in the served directory, and none
/// of the server's own files.
bool is_plain_name(std::string_view name);

}  // namespace iwarp::apps
