// SPDX-License-Identifier: Apache-2.0
// The question that `iwarp cost predict` and `report` answer: a host, a workload and a rate.
// Validates the options of the command line.
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

/// The values of the options on the command line.
struct QuestionOptions {
  std::string preset;
  std::string host;
  std::uint64_t size = 65536;
  double rate = 0;  ///< rate in Gb/s; 0 means the rate of the link
  double cores = 1;
  double reuse = 1;
  double advertise = 1;
  bool cached = false;
  bool events = false;
  bool polling = false;
  std::string crc = "on";
  bool markers = false;
  std::uint64_t fpdu = 0;
  double application = 0;  ///< work of the application in ns per byte
  std::uint64_t file = 1ULL << 30;
};

struct Question {
  model::ParameterSet set;
  model::Workload workload;
  double rate = 0;  ///< rate in Gb/s
  double cores = 1;
  double application = 0;
  double file = 0;
};

void add_host_options(cli::Command& command, QuestionOptions& options);
void add_question_options(cli::Command& command, QuestionOptions& options);

/// Validates the options. Throws UsageError if the preset is unknown, the file is invalid, or a
/// value is out of range.
Question question_of(const QuestionOptions& options);

}  // namespace iwarp::apps::cost
