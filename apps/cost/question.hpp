// SPDX-License-Identifier: Apache-2.0
// What predict and report are asked: a host, a workload, a rate. Checks what the command line says.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "iwarp/offload_model/laws.hpp"
#include "iwarp/offload_model/uncertainty.hpp"

namespace iwarp::apps::cost {

namespace model = offload_model;

/// The values as the command line gives them.
struct QuestionOptions {
  std::string preset;
  std::string host;
  std::uint64_t size = 65536;
  double rate = 0;  ///< Gb/s; 0: the link's
  double cores = 1;
  double reuse = 1;
  double advertise = 1;
  bool cached = false;
  bool events = false;
  bool polling = false;
  std::string crc = "on";
  bool markers = false;
  std::uint64_t fpdu = 0;
  double application = 0;  ///< ns per octet
  std::uint64_t file = 1ULL << 30;
};

struct Question {
  model::ParameterSet set;
  model::Workload workload;
  double rate = 0;  ///< Gb/s
  double cores = 1;
  double application = 0;
  double file = 0;
};

void add_host_options(CLI::App& command, QuestionOptions& options);
void add_question_options(CLI::App& command, QuestionOptions& options);

/// UsageError: an unknown preset, a bad file, a value out of range.
Question question_of(const QuestionOptions& options);

/// A preset, or a measured host whose gaps are filled from `options.preset` (or 100g); says on
/// standard error what was filled.
model::ParameterSet load_host(const QuestionOptions& options);

/// "the processor of this host" in the head of every output.
std::string title_of(const model::ParameterSet& set);

}  // namespace iwarp::apps::cost
