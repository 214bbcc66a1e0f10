// SPDX-License-Identifier: Apache-2.0
// Splits a litmus file into names, numbers and operators, each with its line.
#include "judge/litmus/tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "judge/litmus/program.hpp"

namespace iwarp::judge::litmus {
namespace {

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_name(char c) { return is_name_start(c) || is_digit(c) || c == '-'; }

}  // namespace

std::string shown(const Token& token) {
  return token.kind == Token::Kind::kEnd ? "the end of the file" : fmt::format("'{}'", token.text);
}

std::vector<Token> tokens_of(std::string_view text) {
  constexpr std::string_view kPairs[] = {"/\\", "\\/", "!=", "+="};
  std::vector<Token> out;
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    std::size_t size = 1;
    if (rest.starts_with("(*")) {
      const std::size_t end = rest.find("*)");
      if (end == rest.npos) throw SyntaxError{line, "'*)'", "a comment without an end"};
      size = end + 2;
    } else if (rest[0] == '"') {
      const std::size_t end = rest.find('"', 1);
      if (end == rest.npos) throw SyntaxError{line, "'\"'", "a string without an end"};
      size = end + 1;
      out.push_back({Token::Kind::kString, rest.substr(1, end - 1), line});
    } else if (is_name_start(rest[0])) {
      while (size < rest.size() && is_name(rest[size])) ++size;
      out.push_back({Token::Kind::kName, rest.substr(0, size), line});
    } else if (is_digit(rest[0])) {
      while (size < rest.size() && is_name(rest[size])) ++size;
      out.push_back({Token::Kind::kNumber, rest.substr(0, size), line});
    } else if (!std::isspace(static_cast<unsigned char>(rest[0]))) {
      if (std::ranges::find(kPairs, rest.substr(0, 2)) != std::end(kPairs)) size = 2;
      out.push_back({Token::Kind::kSign, rest.substr(0, size), line});
    }
    line += static_cast<std::size_t>(std::ranges::count(rest.substr(0, size), '\n'));
    at += size;
  }
  out.push_back({Token::Kind::kEnd, {}, line});
  return out;
}

}  // namespace iwarp::judge::litmus
