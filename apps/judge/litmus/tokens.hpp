// SPDX-License-Identifier: Apache-2.0
// The tokens of a litmus file. Comments, (* like this *), are skipped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace iwarp::judge::litmus {

struct Token {
  enum class Kind : std::uint8_t { kEnd, kName, kNumber, kString, kSign };
  Kind kind = Kind::kEnd;
  std::string_view text;  ///< of a string: without the quotes
  std::size_t line = 1;
};

/// Returns the tokens of `text`, which they point into, and a token of the kind kEnd. Throws
/// SyntaxError if a comment or a string has no end.
std::vector<Token> tokens_of(std::string_view text);
/// The token as messages show it.
std::string shown(const Token& token);

}  // namespace iwarp::judge::litmus
