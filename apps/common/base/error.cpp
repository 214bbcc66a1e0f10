// SPDX-License-Identifier: Apache-2.0
// Generates error texts. All commands report a failed call or connection with these texts.
#include "common/base/error.hpp"

#include <algorithm>
#include <array>

#include "iwarp/verbs/errors.hpp"

namespace iwarp::apps {

std::string to_text(const net::CmEvent& event) {
  if (event.type == net::CmEvent::Type::kRejected) {
    const std::string words(reinterpret_cast<const char*>(event.private_data.data()),
                            event.private_data.size());
    return words.empty() ? "the peer rejected the connection"
                         : "the peer rejected the connection: " + printable(words);
  }
  // For these codes, `why` below is more specific than the text of the error code: for kSystem, for
  // example, it describes the system error or names an unknown host.
  using verbs::Errc;
  constexpr std::array kWithWhy{Errc::kSystem,        Errc::kAddressInvalid,    Errc::kMpaProtocol,
                                Errc::kCarrierFailed, Errc::kConnectionRefused, Errc::kTimedOut};
  const bool has_why = std::ranges::any_of(kWithWhy, [&](Errc e) { return event.error == e; });
  if (event.error && !has_why) return to_text(event.error);
  if (!event.why.empty()) return lower_first(event.why);
  return event.error ? to_text(event.error) : "the peer closed the connection during setup";
}

void check(const std::error_code& error, std::string_view what) {
  if (error) throw Error(std::string(what) + ": " + to_text(error));
}

}  // namespace iwarp::apps
