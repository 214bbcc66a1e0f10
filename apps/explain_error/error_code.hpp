// SPDX-License-Identifier: Apache-2.0
// Looks up the code of a failed completion, in any notation, and returns its meaning.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace iwarp::apps {

/// The frequent causes of an error, the most frequent one first. Unused elements are empty.
using Causes = std::array<std::string_view, 5>;

/// A code and its meaning.
struct ErrorCode {
  std::string title;    ///< the code, in every notation that programs print
  std::string meaning;  ///< what the code means, in a sentence
  std::string advice;   ///< what the user can do; empty if the code is not an error
  int asked = 0;        ///< in how many public threads, of those that were read, users ask about it
  Causes causes = {};
  std::string command = {};  ///< a shell command that causes the error; empty if there is none
  std::string prints = {};   ///< a part of the output of `command`
};

/// Looks up a code. `word` is a status ("IBV_WC_WR_FLUSH_ERR", "WR_FLUSH_ERR", "5", or its text in
/// any case), a vendor_err ("0x11202" or the same in decimal, "0x0"), or a Terminate ("1/2/02":
/// layer, type and code in hexadecimal). Returns nullopt if `word` is none of these.
std::optional<ErrorCode> find_error_code(std::string_view word);

/// Returns every code: the statuses in numerical order, then each vendor_err.
std::vector<ErrorCode> all_error_codes();

}  // namespace iwarp::apps
