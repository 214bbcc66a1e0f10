// SPDX-License-Identifier: Apache-2.0
// Formats a prediction as text: one screen with tables of numbers and their uncertainty, and a
// verdict in words. The verdict uses the numbers in the tables.
#pragma once

#include <string>

#include "cost/text/ways.hpp"

namespace iwarp::apps::cost {

/// Returns the whole text; each line ends with a newline.
std::string prediction_text(const Question& question);

/// Describes the workload, for example "64.0 KiB, STag exchanged for each transfer, ...". Mentions
/// registration only if the workload includes it.
std::string workload_text(const model::Workload& workload);

/// Compares `way` with sockets, in words: first the number of processors that `way` saves at the
/// requested rate, then the change in throughput.
std::string verdict_text(const Question& question, const Way& way);

}  // namespace iwarp::apps::cost
