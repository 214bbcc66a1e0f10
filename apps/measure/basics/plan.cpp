// SPDX-License-Identifier: Apache-2.0
// Contains the table of tests, checks the limits of a plan, and converts a plan to and from JSON.
#include "measure/basics/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/units.hpp"
#include "iwarp/crc32c/crc32c.hpp"
#include "usage/json_number.hpp"

namespace iwarp::apps::measure {

namespace {

using usage::read_number;
using usage::whole_number;
using Json = nlohmann::json;

constexpr std::uint64_t kMaxSize = 64 << 20;
constexpr std::uint64_t kMaxDepth = 4096;
constexpr std::uint64_t kMaxQps = 4096;
constexpr std::uint64_t kMaxMemory = 256 << 20;
constexpr std::uint64_t kMaxMessages = 128 << 10;  // maximum number of messages in flight
constexpr std::chrono::hours kMaxDuration{1};
constexpr int kVersion = 4;  // version of the protocol between client and server

constexpr std::array kTests{
    Test{"write-bw", Operation::kWrite, Shape::kStream, "RDMA Writes, throughput"},
    Test{"read-bw", Operation::kRead, Shape::kStream, "RDMA Reads, throughput"},
    Test{"send-bw", Operation::kSend, Shape::kStream, "Sends, throughput"},
    Test{"write-rate", Operation::kWrite, Shape::kRate, "small RDMA Writes, posted in lists"},
    Test{"send-rate", Operation::kSend, Shape::kRate, "small Sends, posted in lists"},
    Test{"write-lat", Operation::kWrite, Shape::kLatency,
         "RDMA Writes, half of the round-trip time"},
    Test{"read-lat", Operation::kRead, Shape::kLatency, "RDMA Reads, the full round-trip time"},
    Test{"send-lat", Operation::kSend, Shape::kLatency, "Sends, half of the round-trip time"},
    Test{"tcp-stream", Operation::kTcp, Shape::kStream, "TCP baseline: send() and recv()"},
    Test{"tcp-pingpong", Operation::kTcp, Shape::kLatency,
         "TCP baseline: half of the round-trip time"},
};

constexpr std::uint64_t kMaxCountedSize = 1 << 30;
constexpr std::uint64_t kMaxCounted = 1'000'000'000;
constexpr std::uint64_t kMaxRead = 64 << 20;

constexpr std::array<std::string_view, 4> kWaiting{"event", "poll", "busy-poll", "epoll"};

/// Formats a size as an option value, for example 64M.
std::string size_text(std::uint64_t value) {
  constexpr std::uint64_t kMega = 1 << 20;
  return value != 0 && value % kMega == 0 ? fmt::format("{}M", value / kMega)
                                          : std::to_string(value);
}

void check_range(const char* option, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  if (value >= low && value <= high) return;
  throw UsageError(
      fmt::format("{}: {} is not in the range from {} to {}", option, value, low, size_text(high)));
}

template <std::size_t N>
void check_word(const char* option, const std::string& value,
                const std::array<std::string_view, N>& of) {
  if (std::ranges::find(of, value) == of.end()) {
    throw UsageError(fmt::format("{}: invalid value \"{}\"", option, printable(value)));
  }
}

/// Returns the option's name in JSON, including the unit, for example "gather_delay_us".
std::string name_with_unit(const options::Option& option) {
  auto name = json_name(option);
  if (!option.value.is_number()) return name;
  return name + (option.value.title == "MS" ? "_ms" : "_us");
}

std::string refused(const options::Option& option, const std::string& value) {
  return fmt::format("{}: \"{}\" {}", option.long_name(), printable(value),
                     options::refusal(option, value));
}

/// Returns whether both ends must use the same value for the option.
bool is_shared(const options::Option& option) {
  return option.group == options::Group::kConnection && option.value.kind != options::Kind::kFile;
}

void validate_connection(const CommonOptions& o) {
  CommonOptions scratch;
  for (const auto& option : options::all()) {
    const auto value = options::show(option, o);
    if (!is_shared(option) || options::set(option, value, scratch)) continue;
    throw UsageError(refused(option, value));
  }
  if (!o.congestion.empty()) {
    const auto fault = congestion_fault(o.congestion);
    if (!fault.empty()) throw UsageError("--congestion: " + fault);
  }
  connection_options(o);
}

void validate_counted(const Plan& plan) {
  const auto& c = plan.counted;
  check_range("messages", c.messages, 1, kMaxCounted);
  check_range("octets per receive call", c.read, plan.is_tcp() ? 1 : 0, kMaxRead);
  check_word("processors", c.cpus, std::array<std::string_view, 3>{"other", "same", "any"});
  const bool stream = plan.test->shape == Shape::kStream &&
                      (plan.is_tcp() || plan.test->operation == Operation::kWrite);
  if (!stream || plan.qps != 1 || plan.list != 1 || plan.check) {
    throw UsageError(
        "a fixed number of messages requires write-bw or tcp-stream, one connection, --list 1 and "
        "no --check");
  }
  const auto kernels = crc32c::kernels();
  const auto is_this = [&](const auto& k) { return c.crc_kernel == k.name && k.supported(); };
  if (!c.crc_kernel.empty() && std::ranges::none_of(kernels, is_this)) {
    throw UsageError("CRC32c kernel \"" + printable(c.crc_kernel) +
                     "\" is not available on this machine");
  }
}

/// Throws UsageError if an option cannot be combined with the test.
void validate_shape(const Plan& plan) {
  if (plan.is_latency() && plan.depth != 1) {
    throw UsageError(fmt::format("--depth {}: {} keeps only one message in flight", plan.depth,
                                 plan.test->name));
  }
  if (plan.qps != 1 && plan.is_latency()) {
    throw UsageError(
        fmt::format("--qps {}: {} uses only one connection", plan.qps, plan.test->name));
  }
  if (plan.list != 1 && (plan.is_latency() || plan.is_tcp())) {
    throw UsageError(fmt::format("--list {}: {} does not post lists", plan.list, plan.test->name));
  }
  if (plan.connection.tls.wanted() && plan.is_tcp()) {
    throw UsageError(fmt::format("--tls: {} uses plain TCP", plan.test->name));
  }
  if (plan.waiting == Waiting::kBusyPoll && plan.is_tcp()) {
    throw UsageError(fmt::format("--busy-poll: {} has no worker threads", plan.test->name));
  }
}

void validate_memory(const Plan& plan) {
  const auto memory = plan.size * plan.places() * plan.qps;
  if (memory > kMaxMemory && !plan.is_counted()) {
    throw UsageError(fmt::format(
        "--size, --depth and --qps together require {} of buffers; at most {} is allowed",
        format_octets(static_cast<double>(memory)),
        format_octets(static_cast<double>(kMaxMemory))));
  }
  if (plan.depth * plan.qps > kMaxMessages) {
    throw UsageError(
        fmt::format("--depth and --qps together allow {} messages in flight; the maximum is {}",
                    plan.depth * plan.qps, kMaxMessages));
  }
}

Json counted_json(const Counted& c) {
  return {
      {"messages", c.messages}, {"read", c.read}, {"cpus", c.cpus}, {"crc_kernel", c.crc_kernel}};
}

Counted counted_from(const Json& json) {
  Counted out;
  read_number(json, "messages", out.messages);
  read_number(json, "read", out.read);
  json.at("cpus").get_to(out.cpus);
  json.at("crc_kernel").get_to(out.crc_kernel);
  return out;
}

/// Reads the connection options. Throws Json::exception if a value is missing, and Error if an
/// option rejects its value.
CommonOptions connection_from(const Json& json) {
  CommonOptions out;
  for (const auto& option : options::all()) {
    if (!is_shared(option)) continue;
    const auto name = name_with_unit(option);
    const auto& value = json.at(name);
    std::string text;
    if (option.value.kind == options::Kind::kFlag) {
      text = value.get<bool>() ? "on" : "off";
    } else if (option.value.is_number()) {
      text = std::to_string(whole_number<std::uint64_t>(value, name.c_str()));
    } else {
      text = value.get<std::string>();
    }
    if (!options::set(option, text, out)) throw UsageError(refused(option, text));
  }
  return out;
}

std::chrono::milliseconds milliseconds_from(const Json& json, const char* name) {
  return std::chrono::milliseconds(whole_number<std::uint32_t>(json.at(name), name));
}

Waiting waiting_from(const std::string& name) {
  const auto* const found = std::ranges::find(kWaiting, name);
  if (found == kWaiting.end()) throw Error("unknown waiting mode: \"" + printable(name) + "\"");
  return static_cast<Waiting>(found - kWaiting.begin());
}

nlohmann::ordered_json connection_json(const CommonOptions& o,
                                       bool (*has)(const options::Option&)) {
  nlohmann::ordered_json out;
  for (const auto& option : options::all()) {
    if (!has(option)) continue;
    const auto value = options::show(option, o);
    auto& json = out[name_with_unit(option)];
    if (option.value.kind == options::Kind::kFlag) {
      json = value == "on";
    } else if (option.value.is_number()) {
      json = std::stoull(value);
    } else {
      json = value;
    }
  }
  return out;
}

}  // namespace

nlohmann::ordered_json connection_json(const CommonOptions& options) {
  return connection_json(options, [](const options::Option& option) {
    return option.group == options::Group::kConnection;
  });
}

std::span<const Test> tests() { return kTests; }

const Test* find_test(std::string_view name) {
  const auto* const found = std::ranges::find(kTests, name, &Test::name);
  return found == kTests.end() ? nullptr : found;
}

std::string_view to_string(Waiting waiting) { return kWaiting[static_cast<std::size_t>(waiting)]; }

Defaults defaults_of(const Test& test) {
  constexpr std::array kByShape{Defaults{64 << 10, 16, 1}, Defaults{64, 128, 16},
                                Defaults{64, 1, 1}};
  return kByShape[static_cast<std::size_t>(test.shape)];
}

void validate(const Plan& plan) {
  check_range("--size", plan.size, 1, plan.is_counted() ? kMaxCountedSize : kMaxSize);
  check_range("--depth", plan.depth, 1, kMaxDepth);
  check_range("--qps", plan.qps, 1, kMaxQps);
  check_range("--list", plan.list, 1, plan.depth);
  const auto longest = static_cast<std::uint64_t>(std::chrono::milliseconds(kMaxDuration).count());
  check_range("--duration (ms)", static_cast<std::uint64_t>(plan.duration.count()), 10, longest);
  check_range("--warm-up (ms)", static_cast<std::uint64_t>(plan.warm_up.count()), 0, longest);
  validate_shape(plan);
  validate_memory(plan);
  validate_connection(plan.connection);
  const bool immediate = plan.is_latency() && plan.test->operation == Operation::kWrite &&
                         plan.waiting != Waiting::kPoll;
  if (immediate && !plan.connection.connection.startup.extensions) {
    throw UsageError(
        "write-lat without --poll requires --extensions auto, because only Immediate Data wakes "
        "the receiver of an RDMA Write");
  }
  if (plan.is_counted()) validate_counted(plan);
}

Json to_json(const Plan& plan) {
  return {{"iwarp_perf", kVersion},
          {"test", plan.test->name},
          {"size", plan.size},
          {"depth", plan.depth},
          {"qps", plan.qps},
          {"list", plan.list},
          {"duration_ms", plan.duration.count()},
          {"warm_up_ms", plan.warm_up.count()},
          {"waiting", to_string(plan.waiting)},
          {"check", plan.check},
          {"connection", connection_json(plan.connection, is_shared)},
          {"tls", plan.connection.tls.wanted()},
          {"counted", counted_json(plan.counted)}};
}

Plan plan_from_json(const Json& json) {
  try {
    if (whole_number<int>(json.at("iwarp_perf"), "iwarp_perf") != kVersion) {
      throw Error("client and server run different versions of iwarp perf");
    }
    Plan plan;
    plan.test = find_test(json.at("test").get<std::string>());
    if (plan.test == nullptr) throw Error("unknown test");
    read_number(json, "size", plan.size);
    read_number(json, "depth", plan.depth);
    read_number(json, "qps", plan.qps);
    read_number(json, "list", plan.list);
    plan.duration = milliseconds_from(json, "duration_ms");
    plan.warm_up = milliseconds_from(json, "warm_up_ms");
    plan.waiting = waiting_from(json.at("waiting").get<std::string>());
    json.at("check").get_to(plan.check);
    plan.connection = connection_from(json.at("connection"));
    if (json.at("tls").get<bool>()) plan.connection.tls.demand = "on";
    plan.counted = counted_from(json.at("counted"));
    validate(plan);
    return plan;
  } catch (const Json::exception&) {
    throw Error("the client does not speak the protocol of iwarp perf");
  }
}

}  // namespace iwarp::apps::measure
