// SPDX-License-Identifier: Apache-2.0
// Generates the text for each reason why a server cannot listen at an address.
#include "common/serving/listen_error.hpp"

#include "iwarp/verbs/errors.hpp"

namespace iwarp::apps {

std::string listen_failure(const std::error_code& error) {
  const auto why = to_text(error);
  if (error == std::errc::address_not_available) {
    return "not an address of this machine (ip address lists them)";
  }
  if (error == std::errc::address_in_use || error == verbs::Errc::kAddressInUse) {
    return why + " (choose another address or port, or stop the program that uses this one)";
  }
  if (error == std::errc::permission_denied) {
    return why + " (choose a port from 1024 on)";
  }
  return why;
}

Error cannot_listen(const net::Address& at, const std::error_code& error) {
  if (error == verbs::Errc::kAddressInvalid)
    return Error("unknown host \"" + printable(at.host) + "\"");
  return Error("cannot listen on " + net::to_string(at) + ": " + listen_failure(error));
}

}  // namespace iwarp::apps
