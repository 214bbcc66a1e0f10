// SPDX-License-Identifier: Apache-2.0
// The client's side of the file protocol, as far as get and put agree.
#include "transfer/client.hpp"

#include <fmt/format.h>

#include "common/stop.hpp"
#include "common/units.hpp"

namespace iwarp::apps {

void add_client_options(CLI::App& command, ClientOptions& options) {
  command.add_option("--timeout", options.patience_s, "Seconds to wait for the server's next move")
      ->check(without_name(CLI::Range(1U, 3600U)))
      ->type_name("N")
      ->capture_default_str();
  command.add_flag("-q,--quiet", options.quiet, "No progress bar and no report");
  cost::add_cost_option(command, options.cost);
  add_common_options(command, options.common);
}

std::unique_ptr<cost::LiveLedger> start_ledger(const ClientOptions& options, Session& session) {
  if (!options.cost) return nullptr;
  return std::make_unique<cost::LiveLedger>(*options.cost, session);
}

FileClient::FileClient(const net::Address& server, const ClientOptions& options)
    : rnic_(open_rnic()), session_(*rnic_) {
  messages_ = std::make_unique<MessageStream>(session_, std::chrono::seconds(options.patience_s));
  session_.connect(server, connect_options(options.common));
}

void print_report(const std::string& name, std::uint64_t size, std::chrono::nanoseconds elapsed,
                  const Digest& digest) {
  fmt::print("{}: {} in {}, {}, sha256 {}\n", name, format_octets(static_cast<double>(size)),
             format_duration(elapsed), format_rate(size, elapsed), to_hex(digest));
}

}  // namespace iwarp::apps
