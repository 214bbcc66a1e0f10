// SPDX-License-Identifier: Apache-2.0
// iwarp cost record: runs a program under `iwarp run`, reads the logs of posts and completions that
// its processes write (rfc-notes/qlog.md), and computes what the posted operations cost with each
// way to transfer them.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/units.hpp"
#include "cost/commands/subcommands.hpp"
#include "iwarp/bytes/parse_json.hpp"
#include "iwarp/offload_model/cost.hpp"
#include "run/watched.hpp"
#include "usage/host.hpp"

namespace iwarp::apps::cost {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
namespace model = offload_model;

/// The operations that a program has posted, and how it has used its connections.
struct Recording {
  struct Kind {
    std::string verb;          ///< opcode in the words of the log, or "receive"
    std::uint64_t octets = 0;  ///< size of one message
    auto operator<=>(const Kind&) const = default;
  };
  std::map<Kind, std::uint64_t> operations;
  std::uint64_t connections = 0;
  std::uint64_t depth = 0;   ///< largest number of outstanding requests of one connection
  std::uint64_t missed = 0;  ///< posts that the log could not describe
};

/// A folder that is removed with its files when the object is destroyed.
class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / "iwarp-record-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw Error(path_ + ": " + errno_text());
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Reads the log of one process into a Recording.
class LogReader {
 public:
  explicit LogReader(Recording& out) : out_(out) {}

  void read(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    constexpr char kRecordSeparator = '\x1e';
    for (std::string line; std::getline(in, line);) {
      if (!line.empty() && line.front() == kRecordSeparator) line.erase(0, 1);
      // The last record is incomplete if the process was killed while it wrote the record.
      const auto record = bytes::parse_json<Json>(line);
      if (record && record->contains("name")) take(*record);
    }
  }

 private:
  void take(const Json& record) {
    const auto name = record.at("name").get<std::string>();
    const auto& data = record.at("data");
    auto& outstanding = outstanding_[record.at("group_id").get<std::string>()];
    if (name == "iwarp:connection_started") ++out_.connections;
    if (name == "iwarp:posts_missed") out_.missed += data.at("count").get<std::uint64_t>();
    if (name != "iwarp:work_posted" && name != "iwarp:work_completed") return;
    const auto id = data.at("wr_id").get<std::string>();
    const bool is_send = data.at("queue") == "send";
    if (name == "iwarp:work_completed") {
      if (!is_send && data.at("status") == "success") count("receive", data);
      if (is_send) complete(outstanding, id);
    } else if (is_send) {
      count(data.at("opcode").get<std::string>(), data);
      const auto& flags = data.at("flags");
      outstanding.push_back({id, std::ranges::find(flags, "signaled") != flags.end()});
      out_.depth = std::max<std::uint64_t>(out_.depth, outstanding.size());
    }
  }

  void count(const std::string& verb, const Json& data) {
    ++out_.operations[{verb, data.at("length").get<std::uint64_t>()}];
  }

  struct Request {
    std::string wr_id;
    bool is_signaled = false;
  };

  /// Removes the oldest signaled request with this wr_id, and the requests before it, which have
  /// completed too. A program may use one wr_id for all requests. If the queue pair signals every
  /// request, the requests have no flag.
  static void complete(std::deque<Request>& outstanding, const std::string& id) {
    auto done = std::ranges::find_if(
        outstanding, [&](const Request& r) { return r.is_signaled && r.wr_id == id; });
    if (done == outstanding.end()) done = std::ranges::find(outstanding, id, &Request::wr_id);
    if (done != outstanding.end()) outstanding.erase(outstanding.begin(), done + 1);
  }

  Recording& out_;
  std::map<std::string, std::deque<Request>> outstanding_;  ///< by group_id
};

/// Returns whether the operation has a cost of its own. A receive is part of the cost of the Send,
/// and local operations move no octets.
bool is_priced(const Recording::Kind& kind) {
  const auto others = {"receive", "local_invalidate", "fast_register", "bind_window"};
  return std::ranges::find(others, kind.verb) == others.end();
}

/// Returns the processor time of both hosts, in ns, if an RNIC finds the share `cached` of the
/// registrations in a cache.
double cost_of(const Recording& r, const model::Parameters& p, model::Mode mode, double cached) {
  double out = 0;
  for (const auto& [kind, count] : r.operations) {
    if (!is_priced(kind)) continue;
    const bool one_sided = kind.verb == "write" || kind.verb.starts_with("read") ||
                           kind.verb == "fetch_add" || kind.verb == "cmp_swap";
    const model::Workload each{.size = static_cast<double>(std::max<std::uint64_t>(kind.octets, 1)),
                               .hit_rate = cached,
                               .one_sided = one_sided};
    out += static_cast<double>(count) * message_cost(mode, p, each).total();
  }
  return out;
}

Json json_of(const Recording& r, const model::ParameterSet& host) {
  Json out = Json::object();
  out["connections"] = r.connections;
  out["most_outstanding"] = r.depth;
  out["posts_missed"] = r.missed;
  out["operations"] = Json::array();
  for (const auto& [kind, count] : r.operations) {
    Json one = Json::object();
    one["verb"] = kind.verb;
    one["octets"] = kind.octets;
    one["count"] = count;
    out["operations"].push_back(std::move(one));
  }
  out["host"] = usage::title_of(host);
  auto& us = out["us"] = Json::object();
  const auto p = host.resolve();
  const auto add = [&](const std::string& name, model::Mode mode, double cached) {
    us[name] = cost_of(r, p, mode, cached) / usage::kNsPerUs;
  };
  using enum model::Mode;
  for (const auto mode : {kSockets, kSoftware, kToe}) add(std::string(to_string(mode)), mode, 0);
  add("RNIC, each time", kRnic, 0);
  add("RNIC, once", kRnic, 1);
  return out;
}

std::string text_of(const Json& recording) {
  auto out = fmt::format("{} connections, at most {} outstanding requests on one of them\n",
                         recording["connections"].get<std::uint64_t>(),
                         recording["most_outstanding"].get<std::uint64_t>());
  if (const auto missed = recording["posts_missed"].get<std::uint64_t>(); missed != 0) {
    out += fmt::format("{} posts are missing, because their slots were reused at once\n", missed);
  }
  out += fmt::format("{:<18}{:>12}{:>12}{:>14}\n", "operation", "bytes", "count", "in all");
  for (const auto& one : recording["operations"]) {
    const auto octets = one["octets"].get<std::uint64_t>();
    const auto count = one["count"].get<std::uint64_t>();
    out += fmt::format("{:<18}{:>12}{:>12}{:>14}\n", one["verb"].get<std::string>(), octets, count,
                       format_octets(static_cast<double>(octets * count)));
  }
  out += fmt::format("Processor time of both hosts for the posted operations, by {}\n",
                     recording["host"].get<std::string>());
  const auto& us = recording["us"];
  const auto sockets = us.begin()->get<double>();
  for (const auto& [way, value] : us.items()) {
    const auto ns =
        std::chrono::nanoseconds(static_cast<std::int64_t>(value.get<double>() * usage::kNsPerUs));
    out += fmt::format("  {:<16}{:>12}", way, format_duration(ns));
    if (sockets > 0) out += fmt::format("{:>8.0f} %", 100 * value.get<double>() / sockets);
    out += '\n';
  }
  return out;
}

/// Becomes `iwarp run` with the words of the command. Returns only if that fails.
int become_run(const std::vector<std::string>& words, const std::string& folder) {
  ::setenv("IWARP_TRACE", (folder + "/%p.work.qlog").c_str(), 1);
  std::vector<const char*> arguments{"iwarp", "run"};
  for (const auto& word : words) arguments.push_back(word.c_str());
  arguments.push_back(nullptr);
  // execv() does not change the words.
  ::execv("/proc/self/exe", const_cast<char* const*>(arguments.data()));
  fmt::print(stderr, "iwarp cost record: cannot start iwarp run: {}\n", errno_text());
  return kExitFailure;
}

int run_record(const std::vector<std::string>& words, const model::ParameterSet& host, bool json) {
  if (words.empty()) throw UsageError("CMD is missing (see iwarp cost record --help)");
  const Folder folder;
  const auto ending = run_in_child([&] { return become_run(words, folder.path()); });
  Recording recording;
  for (const auto& file : fs::directory_iterator(folder.path())) {
    LogReader(recording).read(file.path());
  }
  const auto result = json_of(recording, host);
  std::fputs(json ? (result.dump(1) + "\n").c_str() : text_of(result).c_str(), stdout);
  return end_as(ending);
}

}  // namespace

cli::Command record_command() {
  auto preset = std::make_shared<std::string>();
  auto file = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  cli::Command command("record",
                       "Run an RDMA program and print what its operations would cost otherwise");
  command.usage = "iwarp cost record [OPTION...] CMD [ARG...]";
  command.takes_command = true;
  command.text("--preset", "NAME", *preset, "Built-in host; the default is 100g")
      .suggests(model::preset_names());
  command.text("--host", "host.json", *file, "File that iwarp cost calibrate wrote")
      .completes(cli::Completion::kFile);
  command.flag("--json", *json, "Print the operations and costs as JSON");
  command.notes =
      "CMD runs under iwarp run; the options of iwarp run are given as variables, for example\n"
      "IWARP_AS=roce. The costs are those of both hosts for what CMD posted: receives and local\n"
      "operations are listed but cost nothing, because the peer's Send includes the receive.\n"
      "Requests of queue pairs of type UD are not listed. The exit status is that of CMD.";
  command.shown = {"iwarp cost record rping -c -a 192.0.2.7 -C 100",
                   "iwarp cost record --host host.json --json ib_write_bw -R 192.0.2.7"};
  command.run = [preset, file, json](const cli::Given& given) {
    return run_record(given.rest, usage::load_host(*preset, *file), *json);
  };
  return command;
}

}  // namespace iwarp::apps::cost
