// SPDX-License-Identifier: Apache-2.0
// The accept loop and the list of client threads.
#include "common/server.hpp"

#include <poll.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <list>
#include <mutex>
#include <thread>

#include "common/error.hpp"
#include "common/listen_error.hpp"
#include "common/session.hpp"
#include "common/stop.hpp"
#include "common/trace.hpp"

namespace iwarp::apps {

namespace {

constexpr std::string_view kBusy = "busy: too many clients";

struct Client {
  std::unique_ptr<net::ConnectRequest> request;
  std::atomic<bool> done{false};
  std::jthread thread;  // last: joined before the rest goes
};

class ClientList {
 public:
  ClientList(net::Rnic& rnic, const ClientHandler& handler, unsigned max)
      : rnic_(rnic), handler_(handler), max_(max) {}

  void start(std::unique_ptr<net::ConnectRequest> request) {
    clients_.remove_if([](const Client& client) { return client.done.load(); });
    if (clients_.size() >= max_) {
      const auto words = std::as_bytes(std::span(kBusy));
      // The peer may be gone already; then nobody needs the answer.
      [[maybe_unused]] const auto error = request->reject({words.begin(), words.end()});
      return;
    }
    auto& client = clients_.emplace_back();
    client.request = std::move(request);
    client.thread = std::jthread([this, &client] { run(client); });
  }

 private:
  void run(Client& client) {
    try {
      handler_(rnic_, *client.request);
    } catch (const std::exception& error) {
      log_line(net::to_string(client.request->peer()) + ": " + error.what());
    }
    client.done = true;
  }

  net::Rnic& rnic_;
  const ClientHandler& handler_;
  const unsigned max_;
  std::list<Client> clients_;
};

}  // namespace

void run_server(const std::string& what, const ServerOptions& server, const CommonOptions& common,
                const ClientHandler& handler) {
  catch_stop_signals();
  const auto rnic = open_rnic();
  const auto events = check(rnic->create_cm_channel(), "cannot create a connection channel");
  ClientList clients(*rnic, handler, server.max_clients);
  const net::ListenOptions options{.connection = connection_options(common),
                                   .congestion = common.congestion,
                                   .tap = make_tap_factory(common.trace)};
  auto listening = rnic->listen(server.listen, options, *events);
  if (!listening) throw cannot_listen(server.listen, listening.error());
  const auto listener = std::move(*listening);
  log_line("iwarp " + what + ": listening on " + net::to_string(listener->local()));

  while (!stop_requested()) {
    std::array<pollfd, 2> on{pollfd{.fd = events->fd(), .events = POLLIN, .revents = 0},
                             pollfd{.fd = stop_fd(), .events = POLLIN, .revents = 0}};
    poll(on.data(), on.size(), -1);
    while (auto event = events->poll()) {
      // What becomes of a connection later, its session sees in its completions.
      if (event->type == net::CmEvent::Type::kConnectRequest) {
        clients.start(std::move(event->request));
      }
    }
  }
}

void log_line(const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace iwarp::apps
