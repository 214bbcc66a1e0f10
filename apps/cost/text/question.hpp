// SPDX-License-Identifier: Apache-2.0
// The question that `iwarp cost predict` and `report` answer: a host, a workload and a rate. Each
// option of the workload is also a key of --what-if, as is each parameter of the model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command_line/command.hpp"
#include "iwarp/offload_model/uncertainty.hpp"
#include "usage/host.hpp"

namespace iwarp::apps::cost {

namespace model = offload_model;
using usage::kNsPerUs;
using usage::title_of;

/// Stands for an infinite number of transfers that use the same STag.
inline constexpr double kOften = 1e12;

/// Selects a host on the command line.
struct HostOptions {
  std::string preset;
  std::string host;
};

/// A kind of messages, and its share of all messages.
struct Messages {
  model::Workload workload;
  double share = 1;
};

struct Question {
  model::ParameterSet set;
  model::Workload workload;  ///< of a program: the mean of its messages
  /// The messages of the program, or `workload` alone.
  std::vector<Messages> messages = {};
  double rate = 0;  ///< rate in Gb/s
  double cores = 1;
  double load = 0.8;       ///< share of what kernel sockets carry
  double application = 0;  ///< work of the application in ns per byte
};

/// The values of all options.
struct QuestionOptions {
  HostOptions host;
  /// Without what question_of() adds: `set` has only the parameters for which there are options, a
  /// rate of 0 is the rate of the link, and only a program that was recorded has `messages`.
  Question question;
  std::string what_if;  ///< "KEY=VALUE,KEY=VALUE"; empty if nothing changes
  std::string ways = "usual";
  std::string program;  ///< the program that was recorded; empty if there is none
};

void add_host_options(cli::Command& command, HostOptions& options);
/// Adds --what-if.
void add_change_option(cli::Command& command, std::string& what_if);
void add_question_options(cli::Command& command, QuestionOptions& options);

/// Loads the host. Throws UsageError if the preset is unknown or the file is invalid.
Question question_of(const QuestionOptions& options);
/// Returns `base` after the changes of --what-if. Throws UsageError with a list of all keys
/// if a key is unknown, or with the valid values if a value is invalid.
Question changed_question(const Question& base, const QuestionOptions& options);

}  // namespace iwarp::apps::cost
