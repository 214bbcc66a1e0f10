// SPDX-License-Identifier: Apache-2.0
// Plan: everything about one measurement that both ends have to know. The client makes it from its
// command line and sends it to the server, which believes nothing of it before it was checked.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "common/connection/options.hpp"

namespace iwarp::apps::measure {

enum class Operation : std::uint8_t { kWrite, kRead, kSend, kTcp };
enum class Shape : std::uint8_t {
  kStream,   ///< `depth` messages under way; throughput
  kRate,     ///< the same with small messages, posted in lists
  kLatency,  ///< one message at a time
};

struct Test {
  std::string_view name;
  Operation operation;
  Shape shape;
  std::string_view help;
};
std::span<const Test> tests();
/// Null: there is no such test.
const Test* find_test(std::string_view name);

/// How either end waits.
enum class Waiting : std::uint8_t {
  kEvent,     ///< sleeps until there is a completion; TCP: blocking calls
  kPoll,      ///< polls the completion queue without a pause; TCP: calls that do not block
  kBusyPoll,  ///< sleeps, but the worker threads poll for a while before they do
  kEpoll,     ///< sleeps in an epoll of its own on the completion channel; TCP: on the socket
};
std::string_view to_string(Waiting waiting);

/// A stream of a fixed number of messages from one place to one place, without a look at the clock
/// or at the payload: what iwarp cost counts the costs of. It sets up the whole process, so that
/// only a server takes it that was started for this one measurement.
struct Counted {
  std::uint64_t messages = 0;  ///< 0: it is no such stream
  std::uint64_t read = 0;      ///< TCP: octets of a receive call
  std::string cpus = "any";    ///< "other": a processor for each end, "same", "any"
  std::string crc_kernel;      ///< of CRC32c, by name; empty: the fastest
};

struct Plan {
  const Test* test = nullptr;
  std::uint64_t size = 0;   ///< octets of a message
  std::uint64_t depth = 0;  ///< messages under way
  std::uint64_t qps = 1;
  std::uint64_t list = 1;  ///< messages posted at a time
  std::chrono::milliseconds duration{3000};
  std::chrono::milliseconds warm_up{500};
  Waiting waiting = Waiting::kEvent;
  bool check = false;
  CommonOptions connection;  ///< both ends use the same, but for `trace` and files of TLS
  Counted counted;

  bool is_latency() const { return test->shape == Shape::kLatency; }
  bool is_tcp() const { return test->operation == Operation::kTcp; }
  bool is_counted() const { return counted.messages != 0; }
  /// Different places for messages in the memory of a connection.
  std::uint64_t places() const { return is_counted() ? 1 : depth; }
};

/// What a test is usually run with.
std::uint64_t default_size(const Test& test);
std::uint64_t default_depth(const Test& test);
std::uint64_t default_list(const Test& test, std::uint64_t depth);

/// Of a counted stream: messages before the counts begin.
std::uint64_t warm_up_messages(const Plan& plan);

/// Error: values out of range, or that do not go together. Names the option.
void validate(const Plan& plan);

/// Returns the options of a connection, also those that the ends do not share.
nlohmann::ordered_json connection_json(const CommonOptions& options);
nlohmann::json to_json(const Plan& plan);
/// Validated. Error: not a plan.
Plan plan_from_json(const nlohmann::json& json);

}  // namespace iwarp::apps::measure
