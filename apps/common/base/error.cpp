// SPDX-License-Identifier: Apache-2.0
// Generates error texts. All commands report a failed call or connection with these texts.
#include "common/base/error.hpp"

#include <cctype>
#include <cerrno>

#include "iwarp/verbs/errors.hpp"

namespace iwarp::apps {

namespace {

std::string lower_first(std::string text) {
  // Change the first letter to lower case only if the second letter is lower case. If the second
  // letter is upper case, the text begins with an acronym.
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1]))) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  return text;
}

}  // namespace

std::string to_text(const std::error_code& error) { return lower_first(error.message()); }

std::string errno_text() { return to_text(std::error_code(errno, std::generic_category())); }

std::string to_text(const net::CmEvent& event) {
  if (event.type == net::CmEvent::Type::kRejected) {
    const std::string words(reinterpret_cast<const char*>(event.private_data.data()),
                            event.private_data.size());
    return words.empty() ? "the peer rejected the connection"
                         : "the peer rejected the connection: " + printable(words);
  }
  // For these four codes, `why` below is more specific than the text of the error code: for
  // kSystem, for example, it describes the system error or names an unknown host.
  if (event.error && event.error != verbs::Errc::kSystem &&
      event.error != verbs::Errc::kAddressInvalid && event.error != verbs::Errc::kMpaProtocol &&
      event.error != verbs::Errc::kCarrierFailed) {
    return to_text(event.error);
  }
  if (!event.why.empty()) return lower_first(event.why);
  return event.error ? to_text(event.error) : "the peer closed the connection during setup";
}

void check(const std::error_code& error, std::string_view what) {
  if (error) throw Error(std::string(what) + ": " + to_text(error));
}

}  // namespace iwarp::apps
