// SPDX-License-Identifier: Apache-2.0
// The option --cost of commands that transfer data. It prints, on one screen, the processor time of
// this end by component, and what the same transfer would have cost with sockets, a TOE or an RNIC.
#pragma once

#include <optional>
#include <string>

#include "command_line/command.hpp"
#include "common/serving/session.hpp"
#include "usage/host.hpp"
#include "usage/usage.hpp"

namespace iwarp::apps::usage {

/// Adds --cost[=HOST] to a command. HOST is the name of a preset or a file of iwarp cost calibrate;
/// an empty text selects the newest preset.
void add_cost_option(cli::Command& command, std::optional<std::string>& host);

/// Returns the host that the option names. Throws UsageError if the preset is unknown or the file
/// is invalid.
model::ParameterSet cost_host(const std::string& host);
/// Returns the text about `run`, in which this end transferred `octets` bytes in messages of
/// `message` bytes; the last message may be shorter. `sender` is true if this end sent them.
std::string bill(const model::ParameterSet& host, model::Observed run, double octets,
                 double message, bool sender);

/// Counts the costs of one transfer over a session.
class LiveLedger {
 public:
  /// Starts counting. Throws UsageError in the same cases as cost_host().
  LiveLedger(const std::string& host, Session& session);
  /// Returns the bill for everything since construction.
  std::string text(double octets, double message, bool sender) const;

 private:
  model::Observed now() const;

  model::ParameterSet set_;
  Session& session_;
  model::Observed start_;
};

}  // namespace iwarp::apps::usage
