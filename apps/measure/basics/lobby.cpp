// SPDX-License-Identifier: Apache-2.0
// Reads from all clients in one thread, with poll(2) and non-blocking sockets.
#include "measure/basics/lobby.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "command_line/stop.hpp"
#include "common/base/error.hpp"

namespace iwarp::apps::measure {

Control Lobby::next() {
  for (;;) {
    for (auto client = waiting_.begin(); client != waiting_.end();) {
      const auto state = client->look();
      if (state == Control::State::kWaits) {
        ++client;
        continue;
      }
      Control one = std::move(*client);
      client = waiting_.erase(client);
      if (state == Control::State::kHasLine) return one;
    }
    std::vector<pollfd> fds{{stop_fd(), POLLIN, 0}, {listener_.fd(), POLLIN, 0}};
    for (const auto& client : waiting_) fds.push_back({client.fd(), POLLIN, 0});
    if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) {
      throw Error("poll: " + errno_text());
    }
    if (fds[0].revents != 0) throw Interrupted();
    if (fds[1].revents == 0) continue;
    if (auto socket = listener_.accept(Clock::now())) {
      if (waiting_.size() == kMost) waiting_.pop_front();
      waiting_.emplace_back(std::move(*socket));
    }
  }
}

}  // namespace iwarp::apps::measure
