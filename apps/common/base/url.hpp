// SPDX-License-Identifier: Apache-2.0
// iwarp://HOST[:PORT]/NAME: the location of a file, for get and put. An IPv6 address stands in
// brackets. There is no escaping: NAME is what follows the slash, byte by byte.
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

/// Parses a URL, or returns what is wrong with it. `name` may be empty only if the text ends in
/// '/'.
std::expected<FileUrl, std::string> parse_url(std::string_view text, std::uint16_t default_port);

/// Returns whether a server accepts `name`: 1 to 255 bytes, no slash, no control character, no
/// leading dot. Such a name denotes a file directly in the served directory, and none of the
/// server's own files.
bool is_plain_name(std::string_view name);

}  // namespace iwarp::apps
