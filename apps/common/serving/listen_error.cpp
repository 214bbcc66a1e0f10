// SPDX-License-Identifier: Apache-2.0
// Generates the text for each reason why a server cannot listen at an address.
#include "common/serving/listen_error.hpp"

#include "iwarp/verbs/errors.hpp"

namespace iwarp::apps {

Error cannot_listen(const net::Address& at, const std::error_code& error) {
  if (error == verbs::Errc::kAddressInvalid)
    return Error("unknown host \"" + printable(at.host) + "\"");
  const auto why =
      error == std::errc::address_not_available ? "not an address of this machine" : to_text(error);
  return Error("cannot listen on " + net::to_string(at) + ": " + why);
}

}  // namespace iwarp::apps
