// SPDX-License-Identifier: Apache-2.0
// iwarp cost record: runs a program under `iwarp run`, reads the logs of posts and completions that
// its processes write (rfc-notes/qlog.md), and computes what the posted operations cost with each
// way to transfer them.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "common/base/error.hpp"
#include "common/base/scratch.hpp"
#include "common/base/units.hpp"
#include "cost/commands/subcommands.hpp"
#include "cost/text/views.hpp"
#include "iwarp/bytes/parse_json.hpp"
#include "run/watched.hpp"

namespace iwarp::apps::cost {

namespace {

using Json = nlohmann::ordered_json;

/// The posts of one kind of operation.
struct Posts {
  std::uint64_t count = 0;
  std::uint64_t inlined = 0;
  /// Sum over the posts of the requests that are then outstanding on all connections together.
  std::uint64_t outstanding = 0;
  std::set<std::string> connections;  ///< those that posted, by log and group_id
  /// Returns a sum over the posts, divided by their number.
  double mean(std::uint64_t sum) const {
    return static_cast<double>(sum) / static_cast<double>(count);
  }
};

/// The operations that a program has posted, and how it has used its connections.
struct Recording {
  struct Kind {
    std::string verb;          ///< opcode in the words of the log, or "receive"
    std::uint64_t octets = 0;  ///< size of one message
    auto operator<=>(const Kind&) const = default;
  };
  std::map<Kind, Posts> operations;
  std::uint64_t connections = 0;
  std::uint64_t depth = 0;      ///< largest number of outstanding requests of one connection
  std::uint64_t missed = 0;     ///< posts that the log could not describe
  std::uint64_t completed = 0;  ///< completions of send queues
  double seconds = 0;           ///< longest time between the first and the last event of a process
};

/// Reads the log of one process into a Recording.
class LogReader {
 public:
  explicit LogReader(Recording& out) : out_(out) {}

  void read(const std::filesystem::path& file) {
    file_ = file.string();
    std::ifstream in(file, std::ios::binary);
    constexpr char kRecordSeparator = '\x1e';
    for (std::string line; std::getline(in, line);) {
      if (!line.empty() && line.front() == kRecordSeparator) line.erase(0, 1);
      // The last record is incomplete if the process was killed while it wrote the record.
      const auto record = bytes::parse_json<Json>(line);
      if (record && record->contains("name")) take(*record);
    }
    constexpr double kMsPerSecond = 1000;
    if (first_) out_.seconds = std::max(out_.seconds, (last_ - *first_) / kMsPerSecond);
  }

 private:
  void take(const Json& record) {
    const auto name = record.at("name").get<std::string>();
    const auto group = record.at("group_id").get<std::string>();
    const auto& data = record.at("data");
    if (name == "iwarp:connection_started") ++out_.connections;
    if (name == "iwarp:posts_missed") out_.missed += data.at("count").get<std::uint64_t>();
    if (name != "iwarp:work_posted" && name != "iwarp:work_completed") return;
    last_ = record.at("time").get<double>();
    if (!first_) first_ = last_;
    const auto posts = [&](const std::string& verb) -> Posts& {
      return out_.operations[{verb, data.at("length").get<std::uint64_t>()}];
    };
    auto& outstanding = outstanding_[group];
    const auto id = data.at("wr_id").get<std::string>();
    const bool is_send = data.at("queue") == "send";
    if (name == "iwarp:work_completed") {
      if (!is_send && data.at("status") == "success") ++posts("receive").count;
      if (is_send) complete(outstanding, id);
    } else if (is_send) {
      const auto has = [&flags = data.at("flags")](const char* flag) {
        return std::ranges::find(flags, flag) != flags.end();
      };
      outstanding.push_back({id, has("signaled")});
      out_.depth = std::max<std::uint64_t>(out_.depth, outstanding.size());
      auto& all = posts(data.at("opcode").get<std::string>());
      ++all.count;
      all.inlined += has("inline") ? 1 : 0;
      all.outstanding += ++in_flight_;
      all.connections.insert(file_ + group);
    }
  }

  struct Request {
    std::string wr_id;
    bool is_signaled = false;
  };

  /// Removes the oldest signaled request with this wr_id, and the requests before it, which have
  /// completed too. A program may use one wr_id for all requests. If the queue pair signals every
  /// request, the requests have no flag.
  void complete(std::deque<Request>& outstanding, const std::string& id) {
    ++out_.completed;
    auto done = std::ranges::find_if(
        outstanding, [&](const Request& r) { return r.is_signaled && r.wr_id == id; });
    if (done == outstanding.end()) done = std::ranges::find(outstanding, id, &Request::wr_id);
    if (done == outstanding.end()) return;
    in_flight_ -= static_cast<std::uint64_t>(done + 1 - outstanding.begin());
    outstanding.erase(outstanding.begin(), done + 1);
  }

  Recording& out_;
  std::string file_;
  std::map<std::string, std::deque<Request>> outstanding_;  ///< by group_id
  std::uint64_t in_flight_ = 0;                             ///< outstanding in all groups together
  std::optional<double> first_;                             ///< time of the first event, in ms
  double last_ = 0;
};

/// Returns whether the operation has no cost of its own. A receive is part of the cost of the Send,
/// and local operations move no octets.
bool is_free(const std::pair<const Recording::Kind, Posts>& operation) {
  const auto free = {"receive", "local_invalidate", "fast_register", "bind_window"};
  return std::ranges::find(free, operation.first.verb) != free.end();
}

model::Verb verb_of_log(const std::string& verb) {
  using enum model::Verb;
  return verb == "write"                             ? kWrite
         : verb.starts_with("read")                  ? kRead
         : verb == "fetch_add" || verb == "cmp_swap" ? kAtomic
                                                     : kSend;
}

/// Turns the recorded messages into those of the question, and their mean into its workload, whose
/// verb and connections are those of the most frequent kind. The program has exchanged STags by
/// Sends of its own, which are among its messages.
void ask_about(const Recording& recording, Question& question) {
  constexpr double kHalf = 0.5;
  auto operations = recording.operations;
  std::erase_if(operations, is_free);
  if (operations.empty()) return;
  const auto most = std::ranges::max_element(
      operations, {}, [](const auto& operation) { return operation.second.count; });
  Posts all{.connections = most->second.connections};
  std::uint64_t octets = 0;
  for (const auto& [kind, posts] : operations) {
    all.count += posts.count;
    all.inlined += posts.inlined;
    all.outstanding += posts.outstanding;
    octets += posts.count * kind.octets;
  }
  const auto workload = [&](double size, const Posts& posts, const std::string& verb) {
    const auto connections = static_cast<double>(posts.connections.size());
    return model::Workload{.size = std::max(1.0, std::round(size)),
                           .advertise = kOften,
                           .signalled = std::min(1.0, all.mean(recording.completed)),
                           .inlined = posts.mean(posts.inlined) > kHalf,
                           .depth = posts.mean(posts.outstanding) / connections,
                           .qps = connections,
                           .verb = verb_of_log(verb)};
  };
  for (const auto& [kind, posts] : operations) {
    question.messages.push_back(
        {workload(static_cast<double>(kind.octets), posts, kind.verb), all.mean(posts.count)});
  }
  question.workload = workload(all.mean(octets), all, most->first.verb);
}

Json json_of(const Recording& r) {
  auto operations = Json::array();
  for (const auto& [kind, posts] : r.operations) {
    operations.push_back({{"verb", kind.verb},
                          {"octets", kind.octets},
                          {"count", posts.count},
                          {"inlined", posts.inlined},
                          {"outstanding", posts.mean(posts.outstanding)}});
  }
  return {{"connections", r.connections},
          {"most_outstanding", r.depth},
          {"posts_missed", r.missed},
          {"seconds", r.seconds},
          {"operations", operations}};
}

std::string text_of(const Recording& r) {
  auto out = fmt::format("connections: {}; outstanding requests per connection: at most {}\n",
                         r.connections, r.depth);
  if (r.missed != 0) {
    out += fmt::format("posted too fast to be logged, and therefore not listed: {} requests\n",
                       r.missed);
  }
  out += fmt::format("{:<18}{:>12}{:>12}{:>14}{:>12}{:>16}\n", "operation", "bytes", "count",
                     "in all", "per second", "outstanding");
  for (const auto& [kind, posts] : r.operations) {
    const auto count = static_cast<double>(posts.count);
    out += fmt::format("{:<18}{:>12}{:>12}{:>14}{:>12.0f}{:>16.3g}\n", kind.verb, kind.octets,
                       posts.count, format_octets(static_cast<double>(kind.octets) * count),
                       r.seconds > 0 ? count / r.seconds : 0, posts.mean(posts.outstanding));
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

int run_record(const std::vector<std::string>& words, QuestionOptions question, bool json) {
  if (words.empty()) throw UsageError("CMD is missing (see iwarp cost record --help)");
  // An invalid option fails before the program runs.
  changed_question(question_of(question), question);
  const Scratch folder("iwarp-record");
  const auto ending = run_in_child([&] { return become_run(words, folder.path()); });
  Recording recording;
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    LogReader(recording).read(file.path());
  }
  ask_about(recording, question.question);
  question.program = std::filesystem::path(words.front()).filename();
  std::optional<Answer> found;
  if (!question.question.messages.empty()) found = answer(question);
  if (json) {
    auto out = json_of(recording);
    if (found) out["answer"] = Json::parse(series_json(*found, -1));
    fmt::print("{}\n", out.dump(1));
  } else {
    fmt::print("{}{}", text_of(recording), found ? "\n" + prediction_text(*found) : "");
  }
  return end_as(ending);
}

}  // namespace

cli::Command record_command() {
  auto question = std::make_shared<QuestionOptions>();
  auto json = std::make_shared<bool>(false);
  cli::Command command(
      "record",
      "Run an RDMA program, and predict what its operations would cost on other transports");
  command.usage = "iwarp cost record [OPTION...] CMD [ARG...]";
  command.takes_command = true;
  add_host_options(command, question->host);
  add_change_option(command, question->what_if);
  command.flag("--json", *json, "Print the operations and the prediction as JSON");
  command.notes =
      "CMD runs under iwarp run; set the options of iwarp run as environment variables, for\n"
      "example IWARP_AS=roce. The prediction is for the mean of the messages that CMD posts, and\n"
      "assumes that CMD does nothing but communicate, on one processor: --what-if application=2\n"
      "adds 2 ns of work for each byte, and --what-if cores=4 adds processors. Receives and local\n"
      "operations are listed but add no cost: the cost of a Send includes the receive. Requests\n"
      "on UD queue pairs are not listed. Logging slows CMD down: without it, CMD posts more\n"
      "requests per second. The exit status is that of CMD.";
  command.shown = {"iwarp cost record rping -c -a 192.0.2.7 -C 100",
                   "iwarp cost record --what-if cores=4,link=200 ib_write_bw -R 192.0.2.7"};
  command.run = [question, json](const cli::Given& given) {
    return run_record(given.rest, *question, *json);
  };
  return command;
}

}  // namespace iwarp::apps::cost
