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

/// The values of the options that describe a workload. --what-if changes a copy of them.
struct WorkloadOptions {
  std::uint64_t size = 65536;
  std::uint64_t fpdu = 0;
  double rate = 0;  ///< rate in Gb/s; 0 means the rate of the link
  double cores = 1;
  double load = 0.8;
  double application = 0;  ///< work of the application in ns per byte
  bool cached = false;
  std::string wait = "usual";
  std::string verb = "send";
  std::uint64_t registered = 0;
  std::string pcie;  ///< "gen4x8", for example; empty for the link of the host
  std::string crc = "on";
  model::Workload rest;  ///< the members that need no conversion
};

/// The messages of one kind that a program has sent.
struct Sent {
  WorkloadOptions workload;
  double count = 1;
};

/// The values of all options.
struct QuestionOptions {
  HostOptions host;
  WorkloadOptions workload;
  std::string what_if;  ///< "KEY=VALUE,KEY=VALUE"; empty if nothing changes
  std::string ways = "usual";
  /// The program that was recorded and its messages, of which `workload` is the mean. Empty if the
  /// question is about `workload` alone.
  std::string program;
  std::vector<Sent> sent;
};

/// A kind of messages, and its share of all messages.
struct Messages {
  model::Workload workload;
  double share = 1;
};

struct Question {
  model::ParameterSet set;
  model::Workload workload;
  std::vector<Messages> messages;  ///< those of the program, or `workload` alone
  double rate = 0;                 ///< rate in Gb/s
  double cores = 1;
  double load = 0;         ///< share of what kernel sockets carry
  double application = 0;  ///< work of the application in ns per byte
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
