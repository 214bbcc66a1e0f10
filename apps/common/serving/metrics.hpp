// SPDX-License-Identifier: Apache-2.0
// The option --metrics: the figures of this process, for whoever watches it. One place for all.
#pragma once

#include <string>

#include "command_line/command.hpp"
#include "iwarp/net/metrics.hpp"

namespace iwarp::apps {

inline constexpr const char* kMetricsValue = "[ADDR:]PORT|unix:PATH";

/// Empty: a place for figures; else what to tell the user.
std::string metrics_fault(const std::string& where);
void add_metrics_option(cli::Command& command, std::string& where);

/// Opens the place and says on standard error which it is; empty: there is none. Once, and after
/// all forks. Error: it cannot be opened.
void start_metrics(const std::string& where);
/// Shows that Rnic there, if there is a place.
net::MetricsServer::Watch watch_rnic(const net::Rnic& rnic);

}  // namespace iwarp::apps
