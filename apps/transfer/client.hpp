// SPDX-License-Identifier: Apache-2.0
// The parts of the client that `iwarp get` and `iwarp put` have in common: options, connection and
// report.
#pragma once

#include <optional>
#include <string>

#include "common/base/progress.hpp"
#include "common/connection/options.hpp"
#include "transfer/message_stream.hpp"
#include "usage/bill.hpp"

namespace iwarp::apps {

struct ClientOptions {
  CommonOptions common;
  unsigned timeout_s = 30;  ///< time limit for the server's next message, in seconds
  bool quiet = false;
  std::optional<std::string> cost;  ///< value of --cost: the host whose costs the report uses
};

/// Adds the options of `ClientOptions` to a command.
void add_client_options(cli::Command& command, ClientOptions& options);

/// A connection to a file server, and the MessageStream on it.
class FileClient {
 public:
  FileClient(const net::Address& server, const ClientOptions& options);
  MessageStream& messages() { return *messages_; }
  Session& session() { return session_; }

 private:
  std::unique_ptr<net::Rnic> rnic_;
  Session session_;
  std::unique_ptr<MessageStream> messages_;
};

/// Calls `transfer`, which takes no arguments. If a stop signal interrupts it, notifies the server
/// and waits until the stream has ended. The memory therefore stays registered for as long as the
/// server may still write to it.
template <typename Transfer>
auto report_if_interrupted(MessageStream& messages, Transfer transfer) {
  try {
    return transfer();
  } catch (const Interrupted&) {
    messages.send(Refusal{"the client was interrupted"});
    messages.session().await_close();
    throw;
  }
}

/// Starts the ledger for --cost. Returns null if --cost was not given.
std::unique_ptr<usage::LiveLedger> start_ledger(const ClientOptions& options, Session& session);

/// Prints "NAME: 3.0 GiB in 4.2 s, 731.4 MiB/s, sha256 12ab...".
void print_report(const std::string& name, std::uint64_t size, std::chrono::nanoseconds elapsed,
                  const Digest& digest);

}  // namespace iwarp::apps
