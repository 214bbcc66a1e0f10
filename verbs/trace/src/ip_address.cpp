// SPDX-License-Identifier: Apache-2.0
#include "iwarp/trace/ip_address.hpp"

#include <fmt/format.h>

#include "iwarp/bytes/cursor.hpp"

namespace iwarp::trace {
namespace {

std::string ipv6_text(const std::array<std::byte, 16>& octets) {
  std::array<unsigned, 8> words{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = bytes::load_be<std::uint16_t>(octets.data() + 2 * i);
  }
  // RFC 5952: "::" replaces the longest sequence of two or more zero words.
  std::size_t best = 0;
  std::size_t length = 1;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::size_t n = 0;
    while (i + n < words.size() && words[i + n] == 0) ++n;
    if (n > length) best = i, length = n;
  }
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (length > 1 && i == best) {
      out += "::";
      i += length - 1;
      continue;
    }
    if (!out.empty() && out.back() != ':') out += ':';
    out += fmt::format("{:x}", words[i]);
  }
  return out;
}

}  // namespace

std::string to_string(const IpAddress& address) {
  const auto& o = address.octets;
  if (address.v6) return ipv6_text(o);
  return fmt::format("{}.{}.{}.{}", std::to_integer<unsigned>(o[0]),
                     std::to_integer<unsigned>(o[1]), std::to_integer<unsigned>(o[2]),
                     std::to_integer<unsigned>(o[3]));
}

}  // namespace iwarp::trace
