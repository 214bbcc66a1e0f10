// SPDX-License-Identifier: Apache-2.0
// Reads what a benchmark printed about a card: perftest's or fio's text as people paste it, their
// JSON, or a table with a header. Columns may be missing; a row is checked against itself, because
// rate, size, throughput and processor time of one row determine each other.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace iwarp::offload_model {

/// One row of a measurement. A number that the file lacks is 0.
struct CardSample {
  unsigned line = 0;  ///< line of the file, from 1; 0 in JSON
  std::string way;    ///< "write", "read", "send", "atomic", or the text of the table
  double size = 0;    ///< octets of one message
  double connections = 1;
  double depth = 1;   ///< messages in flight on each connection
  double rate = 0;    ///< messages per second on all connections together
  double cpu = 0;     ///< us of processor time of one host for each message
  double errors = 0;  ///< errors that the benchmark counted
};

/// The rows of a file, and one sentence for each thing that had to be guessed.
struct CardSamples {
  std::vector<CardSample> rows;
  std::vector<std::string> notes;
};

/// Reads a file. On failure returns a text that names the line and what was expected there.
std::expected<CardSamples, std::string> read_samples(std::string_view text);

}  // namespace iwarp::offload_model
