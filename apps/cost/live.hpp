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

class LiveLedger {
 public:
  /// Counts from now on. UsageError: no such preset, or a bad file.
  LiveLedger(const std::string& host, Session& session);
  /// What happened since, of `octets` moved in messages of `message`. `sender`: this end had them.
  std::string text(double octets, double message, bool sender) const;

 private:
  model::Observed now() const;

  model::ParameterSet set_;
  Session& session_;
  model::Observed start_;
};

}  // namespace iwarp::apps::cost
