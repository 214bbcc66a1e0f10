// SPDX-License-Identifier: Apache-2.0
// to_hex() and from_hex(). from_hex() accepts digits of either case, ignores blanks, and ignores
// comments, which begin with '#' and end with the line.
#include "iwarp/bytes/hex.hpp"

namespace iwarp::bytes {
namespace {

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace

std::string to_hex(View octets, std::size_t group) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < octets.size(); ++i) {
    if (group != 0 && i != 0 && i % group == 0) out += ' ';
    const auto value = std::to_integer<unsigned>(octets[i]);
    out += kDigits[value >> 4];
    out += kDigits[value & 15];
  }
  return out;
}

std::optional<std::vector<std::byte>> from_hex(std::string_view text) {
  std::vector<std::byte> out;
  int high = -1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#') {
      while (i < text.size() && text[i] != '\n') ++i;
      continue;
    }
    if (is_space(text[i])) continue;
    const int value = digit(text[i]);
    if (value < 0) return std::nullopt;
    if (high < 0) {
      high = value;
    } else {
      out.push_back(static_cast<std::byte>(high * 16 + value));
      high = -1;
    }
  }
  if (high >= 0) return std::nullopt;
  return out;
}

}  // namespace iwarp::bytes
