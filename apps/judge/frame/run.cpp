// SPDX-License-Identifier: Apache-2.0
#include "judge/frame/run.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

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

[[noreturn]] void run_child(const Case& what, const Target& target, int fd) {
  const auto end = [&](const char* verdict, const std::string& why) {
    write_line(fd, Json{{"end", verdict}, {"why", why}});
  };
  {
    Judge judge(target, [&](const Observation& one) {
      write_line(fd, Json{one.step, one.came, one.expected, one.is_right});
    });
    try {
      if (const auto lacking = judge.lacks(what.needs)) {
        throw NotApplicable{"the device lacks " + *lacking};
      }
      what.run(judge);
      end("done", "");
    } catch (const Ended&) {
      end("done", "");
    } catch (const Refused& refused) {
      end("refused", refused.why);
    } catch (const NotApplicable& reason) {
      end("not applicable", reason.why);
    }
  }
  ::_exit(0);  // Objects that the case left behind end with the process.
}

/// Reads what the child writes until its end or the limit. Returns whether it ended in time.
bool read_all(int fd, std::chrono::seconds limit, std::string& out) {
  const auto until = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) == 0) return false;
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got <= 0) return true;
    out.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

void add_line(std::string_view line, Result& result) {
  const Json value = Json::parse(line, nullptr, false);
  if (value.is_array()) {
    result.observations.push_back({value[0], value[1], value[2], value[3]});
    if (!result.observations.back().is_right) result.verdict = Verdict::kFail;
  } else if (value.is_object() && result.verdict == Verdict::kPass) {
    result.why = value["why"];
    if (value["end"] == "refused") result.verdict = Verdict::kRefused;
    if (value["end"] == "not applicable") result.verdict = Verdict::kNotApplicable;
  }
}

}  // namespace

Result run_case(const Case& what, const Target& target, std::chrono::seconds limit) {
  Result result{.what = &what};
  const auto start = std::chrono::steady_clock::now();
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw std::runtime_error("pipe: " + std::string(strerror(errno)));
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork: " + std::string(strerror(errno)));
  if (child == 0) {
    ::close(ends[0]);
    ::setpgid(0, 0);
    run_child(what, target, ends[1]);
  }
  ::close(ends[1]);
  std::string text;
  const bool is_in_time = read_all(ends[0], limit, text);
  ::close(ends[0]);
  if (!is_in_time) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  ::kill(-child, SIGKILL);  // what the case may have left running
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    add_line(std::string_view(text).substr(at, end - at), result);
    at = end + 1;
  }
  const std::string after = result.observations.empty()
                                ? "at its start"
                                : "after \"" + result.observations.back().step + "\"";
  if (!is_in_time) {
    result.verdict = Verdict::kFail;
    result.why = fmt::format("stalled {}", after);
  } else if (WIFSIGNALED(status) || WEXITSTATUS(status) != 0) {
    result.verdict = Verdict::kFail;
    result.why = WIFSIGNALED(status)
                     ? fmt::format("crashed with signal {} {}", WTERMSIG(status), after)
                     : fmt::format("ended with status {} {}", WEXITSTATUS(status), after);
  }
  result.took = std::chrono::steady_clock::now() - start;
  return result;
}

}  // namespace iwarp::judge
