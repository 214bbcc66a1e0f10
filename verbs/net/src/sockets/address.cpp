// SPDX-License-Identifier: Apache-2.0
// Address: parses and formats HOST:PORT. Checks only the form of the text, and does not resolve the
// host.
#include "iwarp/net/address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "iwarp/verbs/errors.hpp"

namespace iwarp::net {
namespace {

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return port;
}

}  // namespace

std::expected<Address, std::error_code> parse_address(std::string_view text,
                                                      std::uint16_t default_port) {
  const auto invalid = std::unexpected(make_error_code(verbs::Errc::kAddressInvalid));
  std::string_view host = text;
  std::string_view rest;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos || close == 1) return invalid;
    host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
    if (!rest.empty() && rest.front() != ':') return invalid;
  } else if (std::ranges::count(text, ':') == 1) {
    host = text.substr(0, text.find(':'));
    rest = text.substr(host.size());
  }  // Otherwise there are two or more colons and no brackets: an IPv6 address without a port.
  if (host.find_first_of("[] \t\n/") != std::string_view::npos) return invalid;
  Address out{.host = std::string(host), .port = default_port};
  if (rest.empty()) return out;
  const auto port = parse_port(rest.substr(1));
  if (!port) return invalid;
  out.port = *port;
  return out;
}

std::string to_string(const Address& address) {
  if (address.host.find(':') != std::string::npos) {
    return fmt::format("[{}]:{}", address.host, address.port);
  }
  return fmt::format("{}:{}", address.host, address.port);
}

}  // namespace iwarp::net
