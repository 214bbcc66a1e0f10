// SPDX-License-Identifier: Apache-2.0
// The prediction as text: one screen with tables of numbers and their uncertainty, and the verdict
// in words. The verdict uses the numbers of the tables.
#pragma once

#include <string>

#include "cost/text/ways.hpp"

namespace iwarp::apps::cost {

/// Returns lines, each ending with a newline.
std::string prediction_text(const Question& question);

/// Returns "64.0 KiB, an STag exchanged each time, ..."; mentions registration only if it is
/// requested.
std::string workload_text(const model::Workload& workload);

/// Describes in words the gain of `way` over sockets: processors at the requested rate, then
/// throughput.
std::string verdict_text(const Question& question, const Way& way);

}  // namespace iwarp::apps::cost
