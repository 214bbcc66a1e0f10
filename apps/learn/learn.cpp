// SPDX-License-Identifier: Apache-2.0
// iwarp learn: exercises in which the student writes RDMA programs in C, and a judge says why they
// fail.
#include <fmt/format.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "command_line/stop.hpp"
#include "commands.hpp"
#include "common/base/error.hpp"
#include "iwarp/net/unique_fd.hpp"
#include "learn/judge.hpp"
#include "learn/report.hpp"
#include "learn/workspace.hpp"
#include "report/file.hpp"

namespace iwarp::apps {
namespace {

using learn::Exercise;
using learn::Workspace;

struct CheckOptions {
  std::vector<std::string> numbers;
  std::string file;
  std::optional<std::string> json;
  std::string gradescope;
  bool watch = false;
  bool all = false;
  unsigned seeds = 5;
};

/// Returns the exercise that `word` names: "4", "04" or "04-write-and-tell".
const Exercise& exercise_of(const std::string& word) {
  for (const Exercise& exercise : learn::exercises()) {
    if (std::to_string(exercise.number) == word || exercise.folder == word ||
        exercise.folder.starts_with(word + '-')) {
      return exercise;
    }
  }
  throw UsageError(fmt::format("\"{}\" is not an exercise (the exercises are 1 to {})",
                               printable(word), learn::exercises().back().number));
}

Workspace workspace() {
  auto found = Workspace::find();
  if (!found) {
    throw Error(
        "this folder contains no exercises (run iwarp learn start, and then cd iwarp-exercises)");
  }
  return std::move(*found);
}

/// Returns the exercise that `word` names or, if it is empty, the next one to solve.
const Exercise& exercise_or_next(const std::string& word) {
  if (!word.empty()) return exercise_of(word);
  const Exercise* next = workspace().next();
  return next != nullptr ? *next : learn::exercises().back();
}

int show_position() {
  const auto found = Workspace::find();
  if (!found) {
    fmt::print(
        "Learn to write RDMA programs: {} exercises in C, and a judge that says why a program "
        "fails.\n\nBegin with:  iwarp learn start\n",
        learn::exercises().size());
    return 0;
  }
  for (const Exercise& exercise : learn::exercises()) {
    fmt::print("{} {:2} {}\n", found->passed().contains(exercise.number) ? "passed" : "      ",
               exercise.number, exercise.title());
  }
  if (const Exercise* next = found->next()) {
    fmt::print("\nNext: read {}/README.md, edit exercise.c beside it, and run  iwarp learn check\n",
               (found->folder() / next->folder).string());
  } else {
    fmt::print("\nYou have passed all exercises.\n");
  }
  return 0;
}

/// Makes a descriptor that becomes readable when a file in the folder of `path` changes.
class Watch {
 public:
  explicit Watch(const std::filesystem::path& path) : events_(::inotify_init1(IN_CLOEXEC)) {
    const auto folder = path.parent_path();
    if (::inotify_add_watch(events_.get(), folder.empty() ? "." : folder.c_str(),
                            IN_CLOSE_WRITE | IN_MOVED_TO) < 0) {
      throw Error(fmt::format("cannot watch {}: {}", folder.string(), errno_text()));
    }
  }
  /// Waits until a file changes. Throws Interrupted on a stop signal.
  void wait() {
    std::array events{pollfd{.fd = stop_fd(), .events = POLLIN, .revents = 0},
                      pollfd{.fd = events_.get(), .events = POLLIN, .revents = 0}};
    ::poll(events.data(), events.size(), -1);
    if (stop_requested()) throw Interrupted();
    std::array<char, 4096> drained{};
    [[maybe_unused]] const auto got = ::read(events_.get(), drained.data(), drained.size());
  }

 private:
  net::UniqueFd events_;
};

learn::Result checked(const Exercise& exercise, const std::filesystem::path& file, unsigned seeds) {
  return {
      .exercise = &exercise, .file = file.string(), .verdict = learn::judge(exercise, file, seeds)};
}

int run_check(const CheckOptions& options) {
  catch_stop_signals();
  std::optional<Workspace> space;
  if (options.file.empty()) space = workspace();
  std::vector<const Exercise*> chosen;
  chosen.reserve(options.numbers.size());
  for (const auto& word : options.numbers) chosen.push_back(&exercise_of(word));
  if (options.all) {
    for (const Exercise& exercise : learn::exercises()) chosen.push_back(&exercise);
  }
  if (chosen.empty() && space) chosen.push_back(&exercise_or_next(""));
  if (!options.file.empty() && chosen.size() != 1) {
    throw UsageError("--file requires the number of exactly one exercise");
  }
  if (options.watch && chosen.size() != 1)
    throw UsageError("--watch requires exactly one exercise");
  report::ReportFiles files(options.json, "");
  std::optional<report::ReportFile> grades;
  if (!options.gradescope.empty()) grades.emplace(options.gradescope);
  const bool is_quiet = options.json && options.json->empty();

  std::vector<learn::Result> results;
  bool has_failed = false;
  for (const Exercise* exercise : chosen) {
    const std::filesystem::path file =
        space ? space->source_of(*exercise) : std::filesystem::path(options.file);
    std::optional<Watch> watch;
    if (options.watch) watch.emplace(file);
    const auto judged = [&] { return checked(*exercise, file, options.seeds); };
    auto result = judged();
    for (; watch; result = judged()) {
      report::show(learn::as_text(result));
      if (result.verdict.has_passed) break;
      report::show("\nWaiting until the file changes (press Ctrl-C to stop).\n\n");
      watch->wait();
    }
    if (!watch && !is_quiet) report::show(learn::as_text(result));
    if (result.verdict.has_passed && space) {
      space->record(*exercise, {.when = report::now(), .evidence = result.verdict.evidence});
    }
    has_failed = has_failed || !result.verdict.has_passed;
    results.push_back(std::move(result));
  }
  if (files.json) files.json->write(learn::as_json(results));
  if (grades) grades->write(learn::as_gradescope(results));
  return has_failed ? kExitFailure : 0;
}

cli::Command start_command() {
  cli::Command command("start", "Make a folder with the exercises");
  auto folder = std::make_shared<std::string>("iwarp-exercises");
  command.argument("DIR", *folder, "The folder; files that already exist in it are not changed")
      .completes(cli::Completion::kDirectory);
  command.run = [folder](const cli::Given& given) {
    const auto around = Workspace::find();
    if (around && !given.has("DIR")) {
      throw Error(
          fmt::format("{} already contains the exercises (iwarp learn lists them; to start again, "
                      "name another DIR)",
                      around->folder().string()));
    }
    const auto space = Workspace::create(*folder);
    const Exercise& first = learn::exercises().front();
    fmt::print(
        "The exercises are in {0}.\nNext: cd {0}, read {1}/README.md, edit {1}/exercise.c, and "
        "run  iwarp learn check\n",
        space.folder().string(), first.folder);
    return 0;
  };
  return command;
}

cli::Command check_command() {
  cli::Command command("check", "Judge a program, and say why it fails");
  auto options = std::make_shared<CheckOptions>();
  command.arguments(
      "N", options->numbers,
      "Exercises to judge, by number; without N, the first one that you have not passed");
  command.flag("--all", options->all, "Judge all exercises");
  command.flag("--watch", options->watch,
               "Judge the program again each time its file changes, until the program passes");
  command.number(
      "--seeds", "N", options->seeds, {0, 10'000},
      "Once the program has passed, run it N more times, each time with a different seed of "
      "iwarp run --adversary");
  command.file("--file", "FILE", options->file,
               "Judge FILE as the solution of exercise N, without recording the result");
  command.optional_text("--json", "FILE", options->json,
                        "Write the verdicts as JSON to FILE, or to standard output");
  command.file("--gradescope", "FILE", options->gradescope,
               "Write the verdicts to FILE in the results.json format of Gradescope, one point per "
               "exercise");
  command.statuses[1] = {"1", "an exercise was not passed, or the command failed"};
  command.run = [options](const cli::Given&) { return run_check(*options); };
  return command;
}

cli::Command hint_command() {
  cli::Command command("hint", "Print hints for an exercise");
  auto number = std::make_shared<std::string>();
  auto count = std::make_shared<unsigned>(1);
  command.argument("N", *number, "Number of the exercise; without N, the next one to solve");
  command.number("--level", "L", *count, {1, 3},
                 "Print the first L hints; the third is nearly the answer");
  command.run = [number, count](const cli::Given&) {
    const Exercise& exercise = exercise_or_next(*number);
    for (unsigned i = 0; i < *count && i < exercise.hints.size(); ++i) {
      fmt::print("Hint {} of {}:\n{}\n", i + 1, exercise.hints.size(), exercise.hints[i]);
    }
    return 0;
  };
  return command;
}

cli::Command show_command() {
  cli::Command command("show", "Print when an exercise was passed, and what the judge saw");
  auto number = std::make_shared<std::string>();
  command.argument("N", *number, "Number of the exercise").required();
  command.run = [number](const cli::Given&) {
    const Exercise& exercise = exercise_of(*number);
    const auto space = workspace();
    const auto found = space.passed().find(exercise.number);
    if (found == space.passed().end()) {
      fmt::print("{}. {}: not passed yet\n", exercise.number, exercise.title());
      return 0;
    }
    fmt::print("{}. {}: passed at {}\n", exercise.number, exercise.title(), found->second.when);
    for (const auto& line : found->second.evidence) fmt::print("    {}\n", printable(line));
    return 0;
  };
  return command;
}

}  // namespace

cli::Command learn_command() {
  cli::Command command("learn",
                       "Learn to write RDMA programs: exercises, and a judge that explains");
  command.commands = {start_command(), check_command(), hint_command(), show_command()};
  command.run = [](const cli::Given&) { return show_position(); };
  command.notes =
      "Requires a C compiler and the packages libibverbs-dev and librdmacm-dev, but neither\n"
      "root privileges nor a network.";
  command.shown = {"iwarp learn start", "iwarp learn check 3 --watch"};
  return command;
}

}  // namespace iwarp::apps
