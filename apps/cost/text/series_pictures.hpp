// SPDX-License-Identifier: Apache-2.0
// The points of each picture as rows of named cells. No JSON here: its templates are slow to
// compile, and rows are all that the pictures need.
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

/// us per message by component, both hosts.
Rows bars(const Question& question);
/// ns per octet against size, with bands.
Rows by_size(const Question& question);
/// Processors of the busier host against the rate, and the rule of thumb: 1 GHz per Gb/s.
Rows by_rate(const Question& question);
Rows copy_shares(const Question& question);
Rows measured_dots(const std::vector<model::MeasuredShare>& measured);
/// From which size on the RNIC is cheaper, against transfers per registration, for every era.
Rows by_reuse(const Question& question);
/// Gain over gamma and alpha for `here`'s other ratios; and where this host stands.
Rows laws_surface(const model::Laws& here);
Rows laws_points(const Question& question);
/// The ratios of this host's RNIC.
model::Laws laws_here(const Question& question);
/// From sockets to a TOE to an RNIC: what each step takes away, and what it adds.
Rows waterfall(const Question& question);
/// GHz per Gb/s by component, for each preset at the workload's size.
Rows eras(const Question& question);
/// A file in messages of the workload's size.
Rows file_transfer(const Question& question);
/// Software iWARP with CRC off, with tables and as this host has it; markers off and on.
Rows crc_and_markers(const Question& question);

}  // namespace iwarp::apps::cost
