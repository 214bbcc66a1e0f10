// SPDX-License-Identifier: Apache-2.0
// The option --cost of the commands that move data: what this end of the run cost the processor by
// component, and what the same run would have cost with sockets, a TOE or an RNIC. One screen of
// text.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "common/session.hpp"
#include "cost/question.hpp"
#include "iwarp/offload_model/live.hpp"

namespace iwarp::apps::cost {

/// Adds --cost [HOST] to a command. Set: a preset's name or a file of iwarp cost calibrate; the
/// text "auto" stands for the newest preset.
void add_cost_option(CLI::App& command, std::optional<std::string>& host);

/// The host that the option names. UsageError: no such preset, or a bad file.
model::ParameterSet cost_host(const std::string& host);
/// The screen of text about `run`, in which this end moved `octets` in messages of `message`.
/// `sender`: this end had them.
std::string bill(const model::ParameterSet& host, model::Observed run, double octets,
                 double message, bool sender);

/// Around a transfer of one session.
class LiveLedger {
 public:
  /// Counts from now on. UsageError: as cost_host().
  LiveLedger(const std::string& host, Session& session);
  /// The bill of what happened since.
  std::string text(double octets, double message, bool sender) const;

 private:
  model::Observed now() const;

  model::ParameterSet set_;
  Session& session_;
  model::Observed start_;
};

}  // namespace iwarp::apps::cost
