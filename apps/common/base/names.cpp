// SPDX-License-Identifier: Apache-2.0
// Resolves host names. A stop signal interrupts the lookup.
#include "common/base/names.hpp"

#include <poll.h>

#include <array>

#include "command_line/stop.hpp"
#include "common/base/error.hpp"
#include "iwarp/net/name_lookup.hpp"

namespace iwarp::apps {

std::vector<net::Address> addresses_of(const net::Address& to) {
  const net::NameLookup lookup(to.host);
  std::array<pollfd, 2> on{pollfd{.fd = lookup.fd(), .events = POLLIN, .revents = 0},
                           pollfd{.fd = stop_fd(), .events = POLLIN, .revents = 0}};
  while (on[0].revents == 0) {
    poll(on.data(), on.size(), -1);
    if (stop_requested()) throw Interrupted();
  }
  const auto found = lookup.result();
  if (!found) throw Error("unknown host \"" + printable(to.host) + "\"");
  std::vector<net::Address> out;
  for (const auto& host : *found) out.push_back({host, to.port});
  return out;
}

}  // namespace iwarp::apps
