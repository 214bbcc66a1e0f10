// SPDX-License-Identifier: Apache-2.0
// The table of advice: one sentence for each error of connect(2) against which a user can do
// something, in the form of a suffix of a message.
#include "iwarp/net/connect_advice.hpp"

#include "iwarp/verbs/errors.hpp"

namespace iwarp::net {

std::string_view connect_advice(const std::error_code& error) {
  using verbs::Errc;
  if (error == std::errc::connection_refused || error == Errc::kConnectionRefused) {
    return " (no program listens there: start the server first, or correct the address and port)";
  }
  if (error == std::errc::timed_out || error == Errc::kTimedOut) {
    return " (check the address, and check that no firewall drops TCP to this port)";
  }
  if (error == std::errc::network_unreachable || error == std::errc::host_unreachable) {
    return " (check the address, and the routes of this machine)";
  }
  if (error == std::errc::too_many_files_open) return " (raise ulimit -n)";
  return {};
}

}  // namespace iwarp::net
