// SPDX-License-Identifier: Apache-2.0
// Converts cases and results of the tester to the entries of a report.
#pragma once

#include <string>
#include <vector>

#include "conform/report/runner.hpp"
#include "report/report.hpp"

namespace iwarp::apps::conform {

report::Entry entry_of(const Case& what);
report::Entry entry_of(const Result& result);
report::Report report_of(const Report& report);

/// Returns the list of cases as a text table.
std::string list_as_text(const std::vector<const Case*>& cases);

}  // namespace iwarp::apps::conform
