// SPDX-License-Identifier: Apache-2.0
// Plan: all parameters of a measurement that both ends need. The client creates the plan from its
// command line and sends it to the server, which validates the plan before using any of it.
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
  kStream,   ///< measures throughput, with `depth` messages in flight
  kRate,     ///< measures the message rate: a stream of small messages that are posted in lists
  kLatency,  ///< measures latency, with one message at a time
};

struct Test {
  std::string_view name;
  Operation operation;
  Shape shape;
  std::string_view help;
};
std::span<const Test> tests();
/// Returns the test with this name, or null if there is none.
const Test* find_test(std::string_view name);

/// How both ends wait for completions or data.
enum class Waiting : std::uint8_t {
  kEvent,     ///< sleeps until there is a completion; TCP uses blocking calls
  kPoll,      ///< polls the completion queue continuously; TCP uses non-blocking calls
  kBusyPoll,  ///< sleeps, but worker threads busy-poll for a while before they sleep
  kEpoll,     ///< sleeps in the program's own epoll, on the completion channel or the TCP socket
};
std::string_view to_string(Waiting waiting);

/// A counted stream: a fixed number of messages from one buffer to one buffer. Between the first
/// and the last message, the ends read neither the clock nor the payload. `iwarp cost` uses counted
/// streams to measure costs. A counted stream changes settings of the whole process, so a server
/// accepts it only if the server was started for this measurement alone.
struct Counted {
  std::uint64_t messages = 0;  ///< 0 if the plan is not a counted stream
  std::uint64_t read = 0;      ///< for TCP: number of bytes that each receive call requests
  /// "other" gives each end its own processor; "same" puts both ends on one processor; "any" sets
  /// no restriction.
  std::string cpus = "any";
  std::string crc_kernel;  ///< name of the CRC32c kernel; empty means the fastest
};

struct Plan {
  const Test* test = nullptr;
  std::uint64_t size = 0;   ///< size of a message in bytes
  std::uint64_t depth = 0;  ///< number of messages in flight
  std::uint64_t qps = 1;
  std::uint64_t active =
      0;  ///< number of QPs that carry messages; 0 means all. Not sent to the server
  std::uint64_t list = 1;  ///< number of messages that are posted together
  std::chrono::milliseconds duration{3000};
  std::chrono::milliseconds warm_up{500};
  Waiting waiting = Waiting::kEvent;
  bool check = false;
  /// Options of the connection. They are the same at both ends, except `trace` and the TLS files.
  CommonOptions connection;
  Counted counted;

  bool is(Operation operation) const { return test->operation == operation; }
  bool is_latency() const { return test->shape == Shape::kLatency; }
  bool is_tcp() const { return is(Operation::kTcp); }
  /// Returns the number of connections that carry messages: the first ones.
  std::uint64_t carriers() const { return active == 0 ? qps : active; }
  /// Returns whether both ends write to each other, each into a buffer of its own.
  bool is_write_ping_pong() const { return is_latency() && is(Operation::kWrite); }
  /// Returns whether the receiver of an RDMA Write polls its memory, and so needs no completion.
  bool polls_memory() const { return is_write_ping_pong() && waiting == Waiting::kPoll; }
  bool is_counted() const { return counted.messages != 0; }
  /// Returns the number of message buffers in the memory of each connection.
  std::uint64_t places() const { return is_counted() ? 1 : depth; }
};

/// Sets size, depth and list to the test's defaults where they are 0. A default list is at most as
/// long as the depth.
void use_defaults(Plan& plan);

/// Throws Error if values are out of range or contradict each other. The text names the option.
void validate(const Plan& plan);

/// Returns the connection options as JSON, with or without those that name a file of this end.
nlohmann::ordered_json connection_json(const CommonOptions& settings, bool with_files);
nlohmann::json to_json(const Plan& plan);
/// Parses and validates a plan. Throws Error if `json` is not a valid plan.
Plan plan_from_json(const nlohmann::json& json);

}  // namespace iwarp::apps::measure
