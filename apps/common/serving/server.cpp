// SPDX-License-Identifier: Apache-2.0
// Accepts clients, and manages one thread for each client.
#include "common/serving/server.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

#include "command_line/stop.hpp"
#include "common/base/error.hpp"
#include "common/connection/tls.hpp"
#include "common/connection/trace.hpp"
#include "common/serving/listen_error.hpp"
#include "common/serving/metrics.hpp"
#include "common/serving/session.hpp"
#include "iwarp/net/statistics.hpp"

namespace iwarp::apps {

namespace {

constexpr std::string_view kBusy = "busy: too many clients";
constexpr std::string_view kNoThread = "busy: the server cannot create a thread";

struct Client {
  std::unique_ptr<net::ConnectRequest> request;
  ClientSlot slot;
  std::atomic<bool> done{false};
  bool leaves = false;
  // Must be the last member: the thread is joined before the other members are destroyed.
  std::jthread thread;
};

class ClientList {
 public:
  ClientList(net::Rnic& rnic, const ClientHandler& handler, unsigned max)
      : rnic_(rnic), handler_(handler), max_(max) {}

  void start(std::unique_ptr<net::ConnectRequest> request) {
    clients_.remove_if([](const Client& client) { return client.done.load(); });
    if (!has_room()) return refuse(*request, kBusy);
    auto& client = clients_.emplace_back();
    client.request = std::move(request);
    try {
      client.thread = std::jthread([this, &client] { run(client); });
    } catch (const std::system_error&) {  // limit of processes or memory reached
      refuse(*client.request, kNoThread);
      clients_.pop_back();
    }
  }

 private:
  /// Returns whether there is a free slot for another client. If there is none, evicts the client
  /// that has been idle for longest; the thread of that client may take a moment to end.
  bool has_room() {
    const auto served = [](const Client& client) { return !client.leaves; };
    if (static_cast<std::size_t>(std::ranges::count_if(clients_, served)) < max_) return true;
    const auto now = ClientSlot::Clock::now();
    const auto idle_since = [now](const Client& client) {
      return client.leaves ? ClientSlot::Clock::time_point::max() : client.slot.idle_since(now);
    };
    const auto idlest = std::ranges::min_element(clients_, {}, idle_since);
    if (clients_.size() >= 2 * std::size_t{max_}) return false;
    if (idle_since(*idlest) == ClientSlot::Clock::time_point::max()) return false;
    idlest->leaves = true;
    idlest->slot.give_way();
    return true;
  }

  static void refuse(net::ConnectRequest& request, std::string_view why) {
    const auto words = std::as_bytes(std::span(why));
    const auto peer = net::to_string(request.peer());
    log_event({.level = verbs::LogLevel::kInfo,
               .event = "client_refused",
               .message = peer + " was rejected: " + std::string(why),
               .fields = {{"peer", peer}, {"reason", "rejected"}, {"why", std::string(why)}}});
    // Rejecting the request fails if the peer is already gone; ignore this error.
    [[maybe_unused]] const auto error = request.reject({words.begin(), words.end()});
  }

  void run(Client& client) {
    log_client("client_begins", "connected", *client.request);
    try {
      handler_(rnic_, *client.request, client.slot);
    } catch (const std::exception& error) {
      // error.what() may quote the peer's private data, so log_event() must accept arbitrary bytes
      // here.
      const auto peer = net::to_string(client.request->peer());
      log_event({.level = verbs::LogLevel::kWarning,
                 .event = "client_failed",
                 .message = peer + ": " + error.what(),
                 .fields = {{"peer", peer}, {"why", error.what()}}});
    }
    log_client("client_ends", "disconnected", *client.request);
    client.done = true;
  }

  static void log_client(const char* event, const char* what, const net::ConnectRequest& request) {
    const auto peer = net::to_string(request.peer());
    log_event({.level = verbs::LogLevel::kDebug,
               .event = event,
               .message = peer + " " + what,
               .fields = {{"peer", peer}}});
  }

  net::Rnic& rnic_;
  const ClientHandler& handler_;
  const unsigned max_;
  std::list<Client> clients_;
};

/// Logs each set-up that failed, with the reason that the metric counts. For each reason, at most
/// ten lines per second, so that strangers cannot flood the log.
class SetupLog {
 public:
  void failed(const net::Address& address, net::SetupFailure reason, const std::string& why) {
    if (reason == net::SetupFailure::kRejected) return;  // ClientList::refuse() has logged it
    std::optional<std::uint64_t> left_out;
    {
      const std::lock_guard lock(mutex_);
      left_out = limits_[static_cast<std::size_t>(reason)].admit(LogLimit::Clock::now());
    }
    if (!left_out) return;
    const auto peer = net::to_string(address);
    const std::string name = to_string(reason);
    auto message = fmt::format("connection setup with {} failed ({}): {}", peer, name, why);
    if (*left_out > 0)
      message += fmt::format("; earlier failures for the same reason, not logged: {}", *left_out);
    log_event({.level = level_of(reason),
               .event = "setup_failed",
               .message = std::move(message),
               .fields = {{"peer", peer},
                          {"reason", name},
                          {"why", why},
                          {"not_logged", std::to_string(*left_out)}}});
  }

 private:
  // Any peer can stay silent or close TCP, and load balancers do so on purpose.
  static verbs::LogLevel level_of(net::SetupFailure reason) {
    const bool usual = reason == net::SetupFailure::kTimedOut ||
                       reason == net::SetupFailure::kGaveWay || reason == net::SetupFailure::kReset;
    return usual ? verbs::LogLevel::kInfo : verbs::LogLevel::kWarning;
  }

  std::mutex mutex_;
  std::array<LogLimit, net::kSetupFailures> limits_;
};

}  // namespace

void run_server(const std::string& what, const ServerOptions& server, const CommonOptions& common,
                const ClientHandler& handler) {
  catch_stop_signals();
  set_log(server.log);
  start_metrics(server.metrics);
  SetupLog setup_log;  // used by the threads of the Rnic
  const auto rnic = open_rnic();
  const auto watch = watch_rnic(*rnic);
  const auto events = check(rnic->create_cm_channel(), "cannot create an event channel");
  ClientList clients(*rnic, handler, server.max_clients);
  const net::ListenOptions options{.connection = connection_options(common),
                                   .congestion = common.congestion,
                                   .tap = make_tap_factory(common.trace),
                                   .carrier = listening_carrier(common.tls),
                                   .setup_failed = std::bind_front(&SetupLog::failed, &setup_log)};
  auto listening = rnic->listen(server.listen, options, *events);
  if (!listening) throw cannot_listen(server.listen, listening.error());
  const auto listener = std::move(*listening);
  const auto local = net::to_string(listener->local());
  log_info("listening", "iwarp " + what + ": listening on " + local, {{"local", local}});

  while (!stop_requested()) {
    std::array<pollfd, 2> on{pollfd{.fd = events->fd(), .events = POLLIN, .revents = 0},
                             pollfd{.fd = stop_fd(), .events = POLLIN, .revents = 0}};
    poll(on.data(), on.size(), -1);
    while (auto event = events->poll()) {
      // Ignore all later events of a connection: its session notices the end of the stream through
      // its completions.
      if (event->type == net::CmEvent::Type::kConnectRequest) {
        clients.start(std::move(event->request));
      }
    }
  }
}

}  // namespace iwarp::apps
