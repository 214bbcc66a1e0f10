// SPDX-License-Identifier: Apache-2.0
// iwarp://HOST[:PORT]/NAME: where a file is, for get and put. An IPv6 address stands in brackets.
// There is no escaping: NAME is what follows the slash, octet by octet.
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

/// The error says what is wrong with the text. `name` may be empty only when the text ends in '/'.
std::expected<FileUrl, std::string> parse_url(std::string_view text, std::uint16_t default_port);

/// A name a server takes: 1 to 255 octets, no slash, no control character, no leading dot.
/// So it names a file directly in the served directory, and none of the server's own.
bool is_plain_name(std::string_view name);

}  // namespace iwarp::apps
