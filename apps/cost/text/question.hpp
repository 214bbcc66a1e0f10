// SPDX-License-Identifier: Apache-2.0
// The question that predict and report answer: a host, a workload, a rate. Validates the command
// line.
#pragma once

#include <cstdint>
#include <string>

#include "command_line/command.hpp"
#include "iwarp/offload_model/laws.hpp"
#include "iwarp/offload_model/uncertainty.hpp"
#include "usage/host.hpp"

namespace iwarp::apps::cost {

namespace model = offload_model;
using usage::kNsPerUs;
using usage::title_of;

/// The values from the command line.
struct QuestionOptions {
  std::string preset;
  std::string host;
  std::uint64_t size = 65536;
  double rate = 0;  ///< Gb/s; 0: that of the link
  double cores = 1;
  double reuse = 1;
  double advertise = 1;
  bool cached = false;
  bool events = false;
  bool polling = false;
  std::string crc = "on";
  bool markers = false;
  std::uint64_t fpdu = 0;
  double application = 0;  ///< ns per byte
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

void add_host_options(cli::Command& command, QuestionOptions& options);
void add_question_options(cli::Command& command, QuestionOptions& options);

/// Validates the options. Throws UsageError for an unknown preset, a bad file, or a value out of
/// range.
Question question_of(const QuestionOptions& options);

}  // namespace iwarp::apps::cost
