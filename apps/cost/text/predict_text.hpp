// SPDX-License-Identifier: Apache-2.0
// The answer as text: one screen, tables of numbers with their bands, and the verdict in words. The
// verdict's numbers are the tables'.
#pragma once

#include <string>

#include "cost/text/ways.hpp"

namespace iwarp::apps::cost {

/// Lines, each ending with a newline.
std::string prediction_text(const Question& question);

/// "64.0 KiB, an STag exchanged each time, ..."; registration only where it is asked for.
std::string workload_text(const model::Workload& workload);

/// What going from sockets to `way` brings, in words: processors at the rate, then throughput.
std::string verdict_text(const Question& question, const Way& way);

}  // namespace iwarp::apps::cost
