// SPDX-License-Identifier: Apache-2.0
// The texts of errors, in the form that messages need: errno_text() and to_text() begin in lower
// case, unless the text begins with an acronym.
#include "command_line/error.hpp"

#include <cctype>
#include <cerrno>

namespace iwarp::apps {

std::string lower_first(std::string text) {
  // Change the first letter to lower case only if the second letter is lower case. If the second
  // letter is upper case, the text begins with an acronym.
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1]))) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  return text;
}

std::string to_text(const std::error_code& error) { return lower_first(error.message()); }

std::string errno_text() { return to_text(std::error_code(errno, std::generic_category())); }

}  // namespace iwarp::apps
