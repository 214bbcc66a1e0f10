// SPDX-License-Identifier: Apache-2.0
// The table of tests, the bounds of a plan, and the plan as JSON.
#include "perf/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "common/error.hpp"
#include "common/units.hpp"

namespace iwarp::apps::perf {

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxSize = 64 << 20;
constexpr std::uint64_t kMaxDepth = 4096;
constexpr std::uint64_t kMaxQps = 1024;
constexpr std::uint64_t kMaxMemory = 256 << 20;
constexpr std::uint64_t kMaxMessages = 128 << 10;  // under way at a time
constexpr std::chrono::hours kMaxDuration{1};
constexpr int kVersion = 1;  // of the exchange between client and server

constexpr std::array kTests{
    Test{"write-bw", Operation::kWrite, Shape::kStream, "RDMA Writes, throughput"},
    Test{"read-bw", Operation::kRead, Shape::kStream, "RDMA Reads, throughput"},
    Test{"send-bw", Operation::kSend, Shape::kStream, "Sends, throughput"},
    Test{"write-rate", Operation::kWrite, Shape::kRate, "small RDMA Writes in lists"},
    Test{"send-rate", Operation::kSend, Shape::kRate, "small Sends in lists"},
    Test{"write-lat", Operation::kWrite, Shape::kLatency, "RDMA Writes to and fro, half the time"},
    Test{"read-lat", Operation::kRead, Shape::kLatency, "one RDMA Read, the whole time"},
    Test{"send-lat", Operation::kSend, Shape::kLatency, "Sends to and fro, half the time"},
    Test{"tcp-stream", Operation::kTcp, Shape::kStream, "baseline: send() and recv()"},
    Test{"tcp-pingpong", Operation::kTcp, Shape::kLatency, "baseline: to and fro, half the time"},
};

constexpr std::array<std::string_view, 3> kWaiting{"event", "poll", "busy-poll"};

void check_range(const char* option, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  if (value >= low && value <= high) return;
  throw UsageError(fmt::format("{} {}: takes {} to {}", option, value, low, high));
}

template <std::size_t N>
void check_word(const char* option, const std::string& value,
                const std::array<std::string_view, N>& of) {
  if (std::ranges::find(of, value) == of.end()) {
    throw UsageError(fmt::format("{}: no value of this option: {}", option, printable(value)));
  }
}

void validate_connection(const CommonOptions& o) {
  check_word("--mpa-rev", o.mpa_rev, std::array<std::string_view, 3>{"1", "2", "2-only"});
  check_word("--crc", o.crc, std::array<std::string_view, 2>{"on", "off"});
  check_word("--rtr", o.rtr, std::array<std::string_view, 4>{"none", "write", "read", "send"});
  check_word("--placement", o.placement, std::array<std::string_view, 2>{"verified", "direct"});
  check_word("--extensions", o.extensions, std::array<std::string_view, 2>{"auto", "off"});
  check_range("--first-fpdu-delay", o.first_fpdu_delay_ms, 0, 4000);
  if (!o.congestion.empty()) {
    const auto fault = congestion_fault(o.congestion);
    if (!fault.empty()) throw UsageError("--congestion: " + fault);
  }
  if (!parse_fpdu(o.fpdu)) throw UsageError("--fpdu: no such size: " + printable(o.fpdu));
  connection_options(o);
}

Json connection_json(const CommonOptions& o) {
  return {{"mpa_rev", o.mpa_rev},
          {"crc", o.crc},
          {"markers", o.markers},
          {"rtr", o.rtr},
          {"fpdu", o.fpdu},
          {"placement", o.placement},
          {"extensions", o.extensions},
          {"first_fpdu_delay_ms", o.first_fpdu_delay_ms},
          {"congestion", o.congestion}};
}

CommonOptions connection_from(const Json& json) {
  CommonOptions o;
  json.at("mpa_rev").get_to(o.mpa_rev);
  json.at("crc").get_to(o.crc);
  json.at("markers").get_to(o.markers);
  json.at("rtr").get_to(o.rtr);
  json.at("fpdu").get_to(o.fpdu);
  json.at("placement").get_to(o.placement);
  json.at("extensions").get_to(o.extensions);
  json.at("first_fpdu_delay_ms").get_to(o.first_fpdu_delay_ms);
  json.at("congestion").get_to(o.congestion);
  return o;
}

Waiting waiting_from(const std::string& name) {
  const auto* const found = std::ranges::find(kWaiting, name);
  if (found == kWaiting.end()) throw Error("no way to wait: " + printable(name));
  return static_cast<Waiting>(found - kWaiting.begin());
}

}  // namespace

std::span<const Test> tests() { return kTests; }

const Test* find_test(std::string_view name) {
  const auto* const found = std::ranges::find(kTests, name, &Test::name);
  return found == kTests.end() ? nullptr : found;
}

std::string_view to_string(Waiting waiting) { return kWaiting[static_cast<std::size_t>(waiting)]; }

void set_defaults(Plan& plan) {
  const bool streams = plan.test->shape == Shape::kStream;
  const bool rate = plan.test->shape == Shape::kRate;
  if (plan.size == 0) plan.size = streams ? 64 << 10 : 64;
  if (plan.depth == 0) plan.depth = rate ? 128 : streams ? 16 : 1;
  if (plan.list == 0) plan.list = rate ? std::min<std::uint64_t>(16, plan.depth) : 1;
}

void validate(const Plan& plan) {
  check_range("--size", plan.size, 1, kMaxSize);
  check_range("--depth", plan.depth, 1, kMaxDepth);
  check_range("--qps", plan.qps, 1, kMaxQps);
  check_range("--list", plan.list, 1, plan.depth);
  const auto longest = static_cast<std::uint64_t>(std::chrono::milliseconds(kMaxDuration).count());
  check_range("--duration (ms)", static_cast<std::uint64_t>(plan.duration.count()), 10, longest);
  check_range("--warm-up (ms)", static_cast<std::uint64_t>(plan.warm_up.count()), 0, longest);
  if (plan.is_latency() && plan.depth != 1) {
    throw UsageError(
        fmt::format("--depth {}: {} has one message under way", plan.depth, plan.test->name));
  }
  if (plan.qps != 1 && (plan.is_latency() || plan.is_tcp())) {
    throw UsageError(fmt::format("--qps {}: {} has one connection", plan.qps, plan.test->name));
  }
  if (plan.list != 1 && (plan.is_latency() || plan.is_tcp())) {
    throw UsageError(fmt::format("--list {}: {} has no lists", plan.list, plan.test->name));
  }
  if (plan.waiting == Waiting::kBusyPoll && plan.is_tcp()) {
    throw UsageError(fmt::format("--busy-poll: {} has no worker threads", plan.test->name));
  }
  const auto memory = plan.size * plan.depth * plan.qps;
  if (memory > kMaxMemory) {
    throw UsageError(
        fmt::format("--size x --depth x --qps need {} of buffers; at most {} are taken",
                    format_octets(static_cast<double>(memory)),
                    format_octets(static_cast<double>(kMaxMemory))));
  }
  if (plan.depth * plan.qps > kMaxMessages) {
    throw UsageError(fmt::format("--depth x --qps: {} messages under way; at most {} are taken",
                                 plan.depth * plan.qps, kMaxMessages));
  }
  validate_connection(plan.connection);
  const bool immediate = plan.is_latency() && plan.test->operation == Operation::kWrite &&
                         plan.waiting != Waiting::kPoll;
  if (immediate && plan.connection.extensions == "off") {
    throw UsageError(
        "write-lat that sleeps is woken by immediate data: it needs --extensions auto");
  }
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
          {"connection", connection_json(plan.connection)}};
}

Plan plan_from_json(const Json& json) {
  try {
    if (json.at("iwarp_perf").get<int>() != kVersion) {
      throw Error("client and server are of different versions of iwarp perf");
    }
    Plan plan;
    plan.test = find_test(json.at("test").get<std::string>());
    if (plan.test == nullptr) throw Error("there is no such test");
    json.at("size").get_to(plan.size);
    json.at("depth").get_to(plan.depth);
    json.at("qps").get_to(plan.qps);
    json.at("list").get_to(plan.list);
    plan.duration = std::chrono::milliseconds(json.at("duration_ms").get<std::uint32_t>());
    plan.warm_up = std::chrono::milliseconds(json.at("warm_up_ms").get<std::uint32_t>());
    plan.waiting = waiting_from(json.at("waiting").get<std::string>());
    json.at("check").get_to(plan.check);
    plan.connection = connection_from(json.at("connection"));
    validate(plan);
    return plan;
  } catch (const Json::exception&) {
    throw Error("the client does not speak as iwarp perf does");
  }
}

}  // namespace iwarp::apps::perf
