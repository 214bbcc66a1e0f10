// SPDX-License-Identifier: Apache-2.0
// Computes the points of each chart as rows of named cells. This header does not include the JSON
// library, whose templates are slow to compile.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cost/text/ways.hpp"
#include "iwarp/offload_model/laws.hpp"
#include "iwarp/offload_model/record.hpp"

namespace iwarp::apps::cost {

struct Cell {
  // NOLINTBEGIN(google-explicit-constructor): rows are written as lists of names and values
  Cell(double number) : value(number) {}
  Cell(bool truth) : value(truth) {}
  Cell(std::string text) : value(std::move(text)) {}
  Cell(std::string_view text) : value(std::string(text)) {}
  Cell(const char* text) : value(std::string(text)) {}
  // NOLINTEND(google-explicit-constructor)
  std::variant<double, bool, std::string> value;
};
using Row = std::vector<std::pair<const char*, Cell>>;
using Rows = std::vector<Row>;

/// Returns the time per message in us, by component, for both hosts.
Rows bars(const Question& question);
/// Returns the cost in ns per byte, with its uncertainty, for each message size.
Rows by_size(const Question& question);
/// Returns the number of processors that the busier host needs, for each rate. Also returns the
/// number according to the rule of thumb of 1 GHz per Gb/s.
Rows by_rate(const Question& question);
Rows copy_shares(const Question& question);
Rows measured_dots(const std::vector<model::MeasuredShare>& measured);
/// Returns the message size from which the RNIC is cheaper, for each host and each number of
/// transfers per registration.
Rows by_reuse(const Question& question);
/// laws_surface() returns the gain for many values of the ratios gamma and alpha (model::Laws); the
/// other ratios are those of `here`. laws_points() returns the points of a TOE and of an RNIC for
/// this question.
Rows laws_surface(const model::Laws& here);
Rows laws_points(const Question& question);
/// Returns the ratios of this host's RNIC.
model::Laws laws_here(const Question& question);
/// Returns the costs that are removed and added in the step from sockets to a TOE, and in the step
/// from a TOE to an RNIC.
Rows waterfall(const Question& question);
/// Returns the GHz per Gb/s of each preset, by component, for messages of the workload's size.
Rows eras(const Question& question);
/// Returns the cost of transferring a file in messages of the workload's size.
Rows file_transfer(const Question& question);
/// Returns the cost of software iWARP with CRC off, with a table-driven CRC and with this host's
/// CRC. Each of these costs is computed with markers off and on.
Rows crc_and_markers(const Question& question);

}  // namespace iwarp::apps::cost
