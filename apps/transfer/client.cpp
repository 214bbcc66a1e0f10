// SPDX-License-Identifier: Apache-2.0
// Implements the parts of the client that `iwarp get` and `iwarp put` have in common.
#include "transfer/client.hpp"

#include <fmt/format.h>

#include "command_line/stop.hpp"
#include "common/base/units.hpp"

namespace iwarp::apps {

void add_client_options(cli::Command& command, ClientOptions& options) {
  command.number("--timeout", "SECONDS", options.timeout_s, {1, 3600},
                 "Longest wait for a message of the server");
  command.flag("-q,--quiet", options.quiet, "Print no progress bar and no report");
  usage::add_cost_option(command, options.cost);
  add_common_options(command, options.common);
  add_tls_options(command, options.common);
}

std::unique_ptr<usage::LiveLedger> start_ledger(const ClientOptions& options, Session& session) {
  if (!options.cost) return nullptr;
  return std::make_unique<usage::LiveLedger>(*options.cost, session);
}

FileClient::FileClient(const net::Address& server, const ClientOptions& options)
    // Disable the Rnic's own handling of the SIGBUS that a truncated file causes, because
    // explain_sigbus() reports it with a message of this command.
    : rnic_(open_rnic({.catch_faults = false})), session_(*rnic_) {
  messages_ = std::make_unique<MessageStream>(session_, std::chrono::seconds(options.timeout_s));
  auto how = connect_options(options.common);
  const auto time_limit = std::chrono::seconds(options.timeout_s);
  how.tcp_timeout = std::min<std::chrono::milliseconds>(how.tcp_timeout, time_limit);
  auto& startup = how.connection.startup;
  startup.timeout = std::min<mpa::Duration>(startup.timeout, time_limit);
  session_.connect(server, how);
}

void print_report(const std::string& name, std::uint64_t size, std::chrono::nanoseconds elapsed,
                  const Digest& digest) {
  fmt::print("{}: {} in {}, {}, sha256 {}\n", name, format_octets(static_cast<double>(size)),
             format_duration(elapsed), format_rate(size, elapsed), to_hex(digest));
}

}  // namespace iwarp::apps
