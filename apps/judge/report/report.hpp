// SPDX-License-Identifier: Apache-2.0
// Converts cases and results of the judge to the entries of a report, and to lines.
#pragma once

#include <string>
#include <vector>

#include "judge/frame/run.hpp"
#include "report/report.hpp"

namespace iwarp::judge {

apps::report::Entry entry_of(const Case& what);
apps::report::Entry entry_of(const Result& result);

/// Returns a line "CASE: CALL = VALUE" for each comparison, and the line "CASE: verdict = VERDICT".
/// The part before " = " is unique, and does not depend on the device.
std::string lines_of(const Result& result);

/// Returns the list of cases as a text table.
std::string list_as_text(const std::vector<apps::report::Entry>& cases);

}  // namespace iwarp::judge
