// SPDX-License-Identifier: Apache-2.0
// Codes of failed completions: how they are written, and what each means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace iwarp::apps {

/// What is known about one code.
struct ErrorCode {
  std::string title;    ///< the code in every form in which programs print it
  std::string meaning;  ///< a sentence
  std::string advice;   ///< what to do; empty: nothing is wrong
};

/// `word` is a status ("IBV_WC_WR_FLUSH_ERR", "WR_FLUSH_ERR", "5", or its text in any case), a
/// vendor_err ("0x11202" or the same in decimal), or a Terminate ("1/2/02": layer, type and code in
/// hexadecimal). nullopt: it is none of these.
std::optional<ErrorCode> find_error_code(std::string_view word);

/// Every code: the statuses in the order of their numbers, then each vendor_err.
std::vector<ErrorCode> all_error_codes();

}  // namespace iwarp::apps
