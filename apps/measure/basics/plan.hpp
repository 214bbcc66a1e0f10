// SPDX-License-Identifier: Apache-2.0
// Plan: all the parameters of a measurement that both ends need. The client makes it from its
// command line and sends it to the server, which trusts no part of it before validation.
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
  kStream,   ///< `depth` messages in flight; throughput
  kRate,     ///< a stream of small messages, posted in lists
  kLatency,  ///< one message at a time
};

struct Test {
  std::string_view name;
  Operation operation;
  Shape shape;
  std::string_view help;
};
std::span<const Test> tests();
/// Returns null if there is no such test.
const Test* find_test(std::string_view name);

/// How both ends wait.
enum class Waiting : std::uint8_t {
  kEvent,     ///< sleeps until there is a completion; TCP: blocking calls
  kPoll,      ///< polls the completion queue continuously; TCP: non-blocking calls
  kBusyPoll,  ///< sleeps, but worker threads busy-poll before they do
  kEpoll,     ///< sleeps in its own epoll on the completion channel; TCP: on the socket
};
std::string_view to_string(Waiting waiting);

/// A stream of a fixed number of messages from one buffer to one buffer, without reading the clock
/// or the payload: iwarp cost counts costs with it. It configures the whole process, so only a
/// server that was started for this one measurement accepts it.
struct Counted {
  std::uint64_t messages = 0;  ///< 0: not a counted stream
  std::uint64_t read = 0;      ///< TCP: bytes of a receive call
  std::string cpus = "any";    ///< "other": a processor for each end, "same", "any"
  std::string crc_kernel;      ///< CRC32c kernel, by name; empty: the fastest
};

struct Plan {
  const Test* test = nullptr;
  std::uint64_t size = 0;   ///< bytes of a message
  std::uint64_t depth = 0;  ///< messages in flight
  std::uint64_t qps = 1;
  std::uint64_t list = 1;  ///< messages posted at a time
  std::chrono::milliseconds duration{3000};
  std::chrono::milliseconds warm_up{500};
  Waiting waiting = Waiting::kEvent;
  bool check = false;
  CommonOptions connection;  ///< shared by both ends, except `trace` and TLS files
  Counted counted;

  bool is_latency() const { return test->shape == Shape::kLatency; }
  bool is_tcp() const { return test->operation == Operation::kTcp; }
  bool is_counted() const { return counted.messages != 0; }
  /// Returns how many message buffers the memory of a connection has.
  std::uint64_t places() const { return is_counted() ? 1 : depth; }
};

/// Returns the size that a test uses if none is given.
std::uint64_t default_size(const Test& test);
std::uint64_t default_depth(const Test& test);
std::uint64_t default_list(const Test& test, std::uint64_t depth);

/// Returns how many messages of a counted stream precede the measured ones.
std::uint64_t warm_up_messages(const Plan& plan);

/// Throws Error naming the option if values are out of range or contradict each other.
void validate(const Plan& plan);

/// Returns the options of a connection, also those that the ends do not share.
nlohmann::ordered_json connection_json(const CommonOptions& options);
nlohmann::json to_json(const Plan& plan);
/// Parses and validates a plan. Throws Error if it is not a plan.
Plan plan_from_json(const nlohmann::json& json);

}  // namespace iwarp::apps::measure
