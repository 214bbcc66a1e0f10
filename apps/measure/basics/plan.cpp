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
    Test{"write-rate", Operation::kWrite, Shape::kRate,
         "message rate of small RDMA Writes, posted in lists"},
    Test{"send-rate", Operation::kSend, Shape::kRate,
         "message rate of small Sends, posted in lists"},
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
  if (c.cpus != "other" && c.cpus != "same" && c.cpus != "any") {
    throw UsageError(fmt::format("--cpus \"{}\": must be other, same or any", printable(c.cpus)));
  }
  const bool stream =
      plan.test->shape == Shape::kStream && (plan.is_tcp() || plan.is(Operation::kWrite));
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
  const auto refuse_if = [&](bool wrong, const std::string& option, const char* why) {
    if (wrong) throw UsageError(fmt::format("{}: {} {}", option, plan.test->name, why));
  };
  const bool latency = plan.is_latency();
  const bool tcp = plan.is_tcp();
  refuse_if(latency && plan.depth != 1, fmt::format("--depth {}", plan.depth),
            "keeps only one message in flight");
  refuse_if(latency && plan.qps != 1, fmt::format("--qps {}", plan.qps),
            "uses only one connection");
  refuse_if((latency || tcp) && plan.list != 1, fmt::format("--list {}", plan.list),
            "does not post lists");
  refuse_if(tcp && plan.connection.tls.wanted(), "--tls", "uses plain TCP");
  refuse_if(tcp && plan.waiting == Waiting::kBusyPoll, "--busy-poll", "has no worker threads");
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

/// Calls `with` for the members of a plan that JSON has under the same name: with the path in JSON
/// and the member.
template <typename AnyPlan, typename With>
void each_member(AnyPlan& plan, With with) {
  with("/size", plan.size);
  with("/depth", plan.depth);
  with("/qps", plan.qps);
  with("/list", plan.list);
  with("/duration_ms", plan.duration);
  with("/warm_up_ms", plan.warm_up);
  with("/check", plan.check);
  with("/counted/messages", plan.counted.messages);
  with("/counted/read", plan.counted.read);
  with("/counted/cpus", plan.counted.cpus);
  with("/counted/crc_kernel", plan.counted.crc_kernel);
}

/// Reads the connection options. Throws Json::exception if a value is missing, and Error if an
/// option rejects its value.
CommonOptions connection_from(const Json& json) {
  CommonOptions out;
  for (const auto& option : options::all()) {
    if (!is_shared(option)) continue;
    const auto name = name_with_unit(option);
    const auto& value = json.at(name);
    const auto text = option.value.kind == options::Kind::kFlag
                          ? std::string(value.get<bool>() ? "on" : "off")
                      : option.value.is_number()
                          ? std::to_string(whole_number<std::uint64_t>(value, name.c_str()))
                          : value.get<std::string>();
    if (!options::set(option, text, out)) throw UsageError(refused(option, text));
  }
  return out;
}

}  // namespace

nlohmann::ordered_json connection_json(const CommonOptions& settings, bool with_files) {
  using Ordered = nlohmann::ordered_json;
  Ordered out;
  for (const auto& option : options::all()) {
    const bool has_file = option.value.kind == options::Kind::kFile;
    if (option.group != options::Group::kConnection || (has_file && !with_files)) continue;
    const auto value = options::show(option, settings);
    out[name_with_unit(option)] = option.value.kind == options::Kind::kFlag ? Ordered(value == "on")
                                  : option.value.is_number() ? Ordered(std::stoull(value))
                                                             : Ordered(value);
  }
  return out;
}

std::span<const Test> tests() { return kTests; }

const Test* find_test(std::string_view name) {
  const auto* const found = std::ranges::find(kTests, name, &Test::name);
  return found == kTests.end() ? nullptr : found;
}

std::string_view to_string(Waiting waiting) { return kWaiting[static_cast<std::size_t>(waiting)]; }

void use_defaults(Plan& plan) {
  const bool stream = plan.test->shape == Shape::kStream;
  const bool rate = plan.test->shape == Shape::kRate;
  if (plan.size == 0) plan.size = stream ? 64 << 10 : 64;
  if (plan.depth == 0) plan.depth = stream ? 16 : rate ? 128 : 1;
  if (plan.list == 0) plan.list = std::min<std::uint64_t>(rate ? 16 : 1, plan.depth);
}

void validate(const Plan& plan) {
  check_range("--size", plan.size, 1, plan.is_counted() ? kMaxCountedSize : kMaxSize);
  check_range("--depth", plan.depth, 1, kMaxDepth);
  check_range("--qps", plan.qps, 1, kMaxQps);
  check_range("--active", plan.carriers(), 1, plan.qps);
  check_range("--list", plan.list, 1, plan.depth);
  const auto longest = static_cast<std::uint64_t>(std::chrono::milliseconds(kMaxDuration).count());
  check_range("--duration (ms)", static_cast<std::uint64_t>(plan.duration.count()), 10, longest);
  check_range("--warm-up (ms)", static_cast<std::uint64_t>(plan.warm_up.count()), 0, longest);
  validate_shape(plan);
  validate_memory(plan);
  validate_connection(plan.connection);
  if (plan.is_write_ping_pong() && !plan.polls_memory() &&
      !plan.connection.connection.startup.extensions) {
    throw UsageError(
        "write-lat without --poll requires --extensions auto, because only Immediate Data wakes "
        "the receiver of an RDMA Write");
  }
  if (plan.is_counted()) validate_counted(plan);
}

Json to_json(const Plan& plan) {
  Json out{{"iwarp_perf", kVersion},
           {"test", plan.test->name},
           {"waiting", to_string(plan.waiting)},
           {"connection", connection_json(plan.connection, false)},
           {"tls", plan.connection.tls.wanted()}};
  each_member(plan, [&](const char* path, const auto& member) {
    auto& json = out[Json::json_pointer(path)];
    if constexpr (requires { member.count(); }) {
      json = member.count();
    } else {
      json = member;
    }
  });
  return out;
}

Plan plan_from_json(const Json& json) {
  try {
    if (whole_number<int>(json.at("iwarp_perf"), "iwarp_perf") != kVersion) {
      throw Error("client and server run different versions of iwarp perf");
    }
    Plan plan;
    plan.test = find_test(json.at("test").get<std::string>());
    if (plan.test == nullptr) throw Error("unknown test");
    each_member(plan, [&]<typename T>(const char* path, T& member) {
      const Json::json_pointer pointer(path);
      const auto& value = json.at(pointer);
      if constexpr (std::same_as<T, std::uint64_t>) {
        member = whole_number<std::uint64_t>(value, pointer.back().c_str());
      } else if constexpr (std::same_as<T, std::chrono::milliseconds>) {
        member = T(whole_number<std::uint32_t>(value, pointer.back().c_str()));
      } else {
        value.get_to(member);
      }
    });
    const auto waiting = json.at("waiting").get<std::string>();
    const auto* const mode = std::ranges::find(kWaiting, waiting);
    if (mode == kWaiting.end()) {
      throw Error("unknown waiting mode: \"" + printable(waiting) + "\"");
    }
    plan.waiting = static_cast<Waiting>(mode - kWaiting.begin());
    plan.connection = connection_from(json.at("connection"));
    if (json.at("tls").get<bool>()) plan.connection.tls.demand = "on";
    validate(plan);
    return plan;
  } catch (const Json::exception&) {
    throw Error("the client does not speak the protocol of iwarp perf");
  }
}

}  // namespace iwarp::apps::measure
