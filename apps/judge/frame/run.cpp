// SPDX-License-Identifier: Apache-2.0
// Forks a process for a case. The process sends each comparison as a line of JSON through a pipe,
// so that a crash loses no earlier comparison, and its answers with the last line.
#include "judge/frame/run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <nlohmann/json.hpp>

#include "command_line/child.hpp"
#include "command_line/error.hpp"
#include "command_line/stop.hpp"

namespace iwarp::judge {
namespace {

using Json = nlohmann::json;

// The child reports one JSON value per line: an array for an observation, an object at the end.
void write_line(int fd, const Json& value) {
  const std::string line = value.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t written = ::write(fd, line.data() + at, line.size() - at);
    if (written < 0) ::_exit(1);
    at += static_cast<std::size_t>(written);
  }
}

/// Returns the line that ends the report of the case.
Json judge_case(const std::function<Answers(Judge&)>& run, const Target& target, int fd) {
  Answers answers;
  const auto end = [&](const char* verdict, const std::string& why) {
    return Json{{"end", verdict}, {"why", why}, {"answers", answers}};
  };
  Judge judge(target, [&](const Observation& one) {
    write_line(fd, Json{one.step, one.observed, one.expected, one.is_right});
  });
  try {
    answers = run(judge);
  } catch (const Ended&) {
    return end("done", "");
  } catch (const Refused& refused) {
    return end("refused", refused.why);
  } catch (const NotApplicable& reason) {
    return end("not applicable", reason.why);
  } catch (const Gone&) {
    return end("gone", "the device is gone");
  }
  return end("done", "");
}

enum class Reading : std::uint8_t { kEnded, kTimedOut, kInterrupted };

/// Reads what the child writes until its last line, its end or the limit.
Reading read_all(int fd, std::chrono::nanoseconds limit, std::string& out) {
  const auto until = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return Reading::kTimedOut;
    std::array waits{pollfd{.fd = fd, .events = POLLIN, .revents = 0},
                     pollfd{.fd = apps::stop_fd(), .events = POLLIN, .revents = 0}};
    const int ready = ::poll(waits.data(), waits.size(), static_cast<int>(left.count()));
    if (waits[1].revents != 0) return Reading::kInterrupted;
    if (ready <= 0) continue;  // The limit is checked again.
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got <= 0) return Reading::kEnded;
    out.append(buffer.data(), static_cast<std::size_t>(got));
    // Processes that the case has started may hold the pipe open.
    const auto line = out.rfind('\n', out.size() - 2) + 1;
    if (out.back() == '\n' && out[line] == '{') return Reading::kEnded;
  }
}

void add_line(std::string_view line, Result& result) {
  const Json value = Json::parse(line, nullptr, false);
  if (value.is_array()) {
    result.observations.push_back({value[0], value[1], value[2], value[3]});
    if (!result.observations.back().is_right) result.verdict = Verdict::kFail;
  } else if (value.is_object()) {
    result.answers = value["answers"].get<Answers>();
    result.is_gone = value["end"] == "gone";
    if (result.is_gone) result.verdict = Verdict::kFail;
    if (result.verdict == Verdict::kFail && !result.is_gone) return;
    result.why = value["why"];
    if (value["end"] == "refused") result.verdict = Verdict::kRefused;
    if (value["end"] == "not applicable") result.verdict = Verdict::kNotApplicable;
  }
}

/// A case whose process ended in another way than expected has failed.
void fail(Result& result, std::string_view how) {
  const std::string after = result.observations.empty()
                                ? "before its first comparison"
                                : "after \"" + result.observations.back().step + "\"";
  result.verdict = Verdict::kFail;
  result.why = fmt::format("{} {}", how, after);
}

}  // namespace

Result run_in_child(const std::function<Answers(Judge&)>& run, const Target& target,
                    std::chrono::nanoseconds limit) {
  Result result;
  const auto start = std::chrono::steady_clock::now();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw apps::Error("pipe: " + apps::errno_text());
  const apps::Child child(
      [&] {
        ::close(ends[0]);
        for (const int each : {SIGINT, SIGTERM, SIGXFSZ}) ::signal(each, SIG_DFL);
        write_line(ends[1], judge_case(run, target, ends[1]));
        return 0;  // Objects that the case left behind end with the process.
      },
      "fork", apps::Child::Group::kOwn);
  ::close(ends[1]);
  std::string text;
  const Reading reading = read_all(ends[0], limit, text);
  ::close(ends[0]);
  if (reading != Reading::kEnded) child.kill();
  const apps::Ending ending = child.wait();
  if (reading == Reading::kInterrupted) throw apps::Interrupted();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    add_line(std::string_view(text).substr(at, end - at), result);
    at = end + 1;
  }
  if (reading == Reading::kTimedOut) {
    fail(result, "stalled");
  } else if (ending.signal != 0) {
    fail(result, fmt::format("crashed with signal {}", ending.signal));
  } else if (ending.status != 0) {
    fail(result, fmt::format("exited with status {}", ending.status));
  }
  result.took = std::chrono::steady_clock::now() - start;
  return result;
}

Result run_case(const Case& what, const Target& target, std::chrono::nanoseconds limit) {
  Result result = run_in_child(
      [&what](Judge& judge) {
        judge.require_needs(what.needs);
        what.run(judge);
        return Answers();
      },
      target, limit);
  result.what = &what;
  return result;
}

}  // namespace iwarp::judge
