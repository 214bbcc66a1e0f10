// SPDX-License-Identifier: Apache-2.0
// Checks URLs and file names. The server's security relies on the check of names. The client makes
// the same check, so that an invalid name fails early.
#include "common/base/url.hpp"

#include <algorithm>

namespace iwarp::apps {

std::expected<FileUrl, std::string> parse_url(std::string_view text, std::uint16_t default_port) {
  constexpr std::string_view kScheme = "iwarp://";
  const auto bad = [&](std::string_view why) {
    return std::unexpected(std::string(text) + ": " + std::string(why));
  };
  if (!text.starts_with(kScheme)) return bad("a URL must begin with iwarp://");
  const auto rest = text.substr(kScheme.size());
  const auto slash = rest.find('/');
  if (slash == std::string_view::npos)
    return bad("a URL must have the form iwarp://HOST[:PORT]/NAME");

  const auto server = net::parse_address(rest.substr(0, slash), default_port);
  if (!server || server->host.empty() || server->port == 0) {
    return bad("the part between iwarp:// and /NAME must be HOST, HOST:PORT or [V6]:PORT");
  }
  FileUrl url{.server = *server, .name = std::string(rest.substr(slash + 1))};
  if (!url.name.empty() && !is_plain_name(url.name)) {
    return bad(
        "NAME must not begin with a dot, contain a slash or control character, or exceed 255 "
        "bytes");
  }
  return url;
}

bool is_plain_name(std::string_view name) {
  constexpr std::size_t kMaxName = 255;
  if (name.empty() || name.size() > kMaxName || name.front() == '.') return false;
  return std::ranges::none_of(name, [](char c) {
    const auto octet = static_cast<unsigned char>(c);
    return octet < 0x20 || octet == 0x7F || octet == '/';
  });
}

}  // namespace iwarp::apps
