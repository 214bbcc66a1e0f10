// SPDX-License-Identifier: Apache-2.0
// Runs each scenario once to count its calls. Then runs it again for each call and each way in
// which that call may fail, every time in a process of its own. Checks that the scenario ends, that
// it either reports an error or transfers everything correctly, that no descriptor is leaked, and
// that the same process can then run the scenario successfully.
//
//   failing [--all] [--most N] [--kind NAME] [--scenario NAME] [--jobs N]
//   failing --one SCENARIO KIND NTH WAY      runs one case in this process, for a debugger
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "calls.hpp"
#include "scenario.hpp"

namespace failing {
namespace {

constexpr std::array kScenarios{
    Scenario{.name = "sleeping", .run = sleeping},
    Scenario{.name = "polling", .run = polling},
    Scenario{.name = "drop_in", .run = drop_in, .warm_up = 10},
    Scenario{.name = "creation", .run = creation, .warm_up = 1, .is_short = true},
    Scenario{.name = "use", .run = use, .warm_up = 1, .is_short = true},
};
constexpr unsigned kLimit = 60;  // in seconds; expires only if the stack is broken

enum class Verdict : std::uint8_t { kRight, kHeard, kMissed, kWrong };

// What a child process reports to its parent.
struct Report {
  Verdict verdict = Verdict::kWrong;
  std::array<unsigned long, kKinds> counts{};
  std::array<char, 200> text{};

  void say(const std::string& what) { std::snprintf(text.data(), text.size(), "%s", what.c_str()); }
};

struct Trial {
  Scenario scenario;
  Plan plan;
};

std::string describe(const Trial& trial) {
  const auto& [kind, nth, way] = trial.plan;
  const std::string how = way.code == kOneOctet ? "one octet" : std::strerror(way.code);
  return std::string(trial.scenario.name) + " " + std::string(name_of(kind)) + " " +
         std::to_string(nth) + " (" + how +
         (way.in_a_row > 1 ? ", " + std::to_string(way.in_a_row) + " in a row)" : ")");
}

std::size_t descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// Runs the scenario again without a failure. Returns an empty string if it succeeds.
std::string again(const Scenario& scenario) {
  const auto outcome = scenario.run();
  if (!outcome.violation.empty()) return "then, without a failure: " + outcome.violation;
  if (!outcome.error.empty()) return "then, without a failure: " + outcome.error;
  return {};
}

// Returns whether startup timed out because the machine was too slow, before the program reached
// the call that should fail. Plans with a harmful failure have a short startup timeout. Either end
// may report the timeout.
bool is_too_late(const std::string& error) {
  return error.find("did not finish the MPA startup in time") != std::string::npos ||
         error.starts_with("accept: ");
}

void judge(const Trial& trial, Report& report) {
  const auto before = descriptors();
  begin(trial.plan);
  const Outcome outcome = trial.scenario.run();
  end();
  const bool fired = failed() != 0;
  const bool hurried = trial.plan.nth != 0 && !trial.plan.way.is_harmless;
  const bool missed = !fired && hurried && is_too_late(outcome.error);
  const bool without_need =
      !outcome.error.empty() && !missed && (!fired || trial.plan.way.is_harmless);
  report.counts = counts();
  if (!outcome.violation.empty()) return report.say(outcome.violation);
  if (without_need) return report.say("without need: " + outcome.error);
  if (const auto wrong = again(trial.scenario); !wrong.empty()) return report.say(wrong);
  for (unsigned i = 1; i < trial.scenario.warm_up; ++i) (void)trial.scenario.run();
  const auto kept = trial.scenario.warm_up != 0 ? descriptors() : before;
  if (const auto wrong = again(trial.scenario); !wrong.empty()) return report.say(wrong);
  // A thread may still be resolving a name. It ends by itself.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(kLimit / 2);
  while (descriptors() != kept && std::chrono::steady_clock::now() < limit) {
    std::this_thread::yield();
  }
  if (descriptors() != kept) {
    return report.say("descriptors: " + std::to_string(kept) + " before, " +
                      std::to_string(descriptors()) + " after");
  }
  report.say(outcome.error);
  report.verdict = !fired                   ? Verdict::kMissed
                   : !outcome.error.empty() ? Verdict::kHeard
                                            : Verdict::kRight;
}

class Runner {
 public:
  explicit Runner(unsigned jobs) : slots_(jobs) {
    void* const shared = ::mmap(nullptr, jobs * sizeof(Report), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) std::abort();
    reports_ = static_cast<Report*>(shared);
    for (Slot& slot : slots_) {
      slot.said = ::memfd_create("standard error", MFD_CLOEXEC);
      if (slot.said < 0) std::abort();
      ::fcntl(slot.said, F_SETFL, O_APPEND);
    }
  }

  void start(const Trial& trial) {
    if (running_ == slots_.size()) take_one();
    std::size_t at = 0;
    while (slots_[at].pid != 0) ++at;
    reports_[at] = {};
    if (::ftruncate(slots_[at].said, 0) != 0) std::abort();
    std::fflush(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::alarm(kLimit);
      if (::dup2(slots_[at].said, STDERR_FILENO) < 0) std::abort();
      judge(trial, reports_[at]);
      std::_Exit(0);
    }
    slots_[at].pid = pid;
    slots_[at].trial = trial;
    ++running_;
  }

  void finish() {
    while (running_ != 0) take_one();
  }

  std::map<Verdict, unsigned> sums;
  std::array<unsigned long, kKinds> last_counts{};

 private:
  struct Slot {
    pid_t pid = 0;
    Trial trial;
    int said = -1;  ///< descriptor of the child's standard error
  };

  void take_one() {
    int status = 0;
    const pid_t pid = ::wait(&status);
    const auto slot = std::ranges::find(slots_, pid, &Slot::pid);
    if (pid <= 0 || slot == slots_.end()) std::abort();
    const Report& report = reports_[slot - slots_.begin()];
    std::string text = report.text.data();
    auto verdict = report.verdict;
    if (WIFSIGNALED(status)) {
      verdict = Verdict::kWrong;
      text = WTERMSIG(status) == SIGALRM ? "hangs"
                                         : "ends by signal " + std::to_string(WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
      verdict = Verdict::kWrong;
      text = "ends with status " + std::to_string(WEXITSTATUS(status));
    }
    ++sums[verdict];
    if (verdict == Verdict::kWrong) {
      std::array<char, 8192> said{};
      const auto size = std::max<ssize_t>(::pread(slot->said, said.data(), said.size(), 0), 0);
      std::printf("WRONG %s: %s\n%.*s", describe(slot->trial).c_str(), text.c_str(),
                  static_cast<int>(size), said.data());
    }
    last_counts = report.counts;
    slot->pid = 0;
    --running_;
  }

  std::vector<Slot> slots_;
  Report* reports_ = nullptr;
  std::size_t running_ = 0;
};

// For each kind, it suffices that a thousand calls fail: if a scenario has more calls of a kind,
// most of them repeat the same poll. With AddressSanitizer, 150 calls of a short scenario fail.
constexpr unsigned long kEach = 1000;
#ifdef __SANITIZE_ADDRESS__
constexpr unsigned long kShort = 150;
#else
constexpr unsigned long kShort = kEach;
#endif

struct Options {
  /// Maximum number of runs for each kind of call and each way in which it may fail. A different
  /// call fails in each run.
  unsigned long most = 4;
  unsigned jobs = 2;
  std::string kind;
  std::string scenario;
};

void run_scenario(const Scenario& scenario, const Options& options, Runner& runner) {
  runner.start({.scenario = scenario, .plan = {}});
  runner.finish();
  const auto counts = runner.last_counts;
  for (std::size_t k = 0; k < kKinds; ++k) {
    const auto kind = static_cast<Kind>(k);
    if (counts[k] == 0 || (!options.kind.empty() && options.kind != name_of(kind))) continue;
    const auto ways = ways_of(kind);
    for (std::size_t w = 0; w < ways.size(); ++w) {
      const auto most = ways[w].in_a_row > 100 ? std::min(3UL, counts[k]) : counts[k];
      const auto most_short = std::max(w == 0 ? kShort : kShort / 10, options.most);
      const auto runs = scenario.is_short ? most_short : options.most;
      const auto stride = (most + runs - 1) / runs;
      for (auto nth = 1 + w % stride; nth <= most; nth += stride) {
        runner.start({.scenario = scenario, .plan = {.kind = kind, .nth = nth, .way = ways[w]}});
      }
    }
  }
  runner.finish();
}

int one(char** arguments) {
  for (const auto& scenario : kScenarios) {
    if (scenario.name != arguments[0]) continue;
    for (std::size_t k = 0; k < kKinds; ++k) {
      const auto kind = static_cast<Kind>(k);
      if (name_of(kind) != arguments[1]) continue;
      Report report;
      const auto way = ways_of(kind)[std::strtoul(arguments[3], nullptr, 10)];
      judge({.scenario = scenario,
             .plan = {.kind = kind, .nth = std::strtoul(arguments[2], nullptr, 10), .way = way}},
            report);
      std::printf("%d %s\n", static_cast<int>(report.verdict), report.text.data());
      return report.verdict == Verdict::kWrong ? 1 : 0;
    }
  }
  return 2;
}

int all(const Options& options) {
  Runner runner(options.jobs);
  for (const auto& scenario : kScenarios) {
    if (options.scenario.empty() || options.scenario == scenario.name) {
      run_scenario(scenario, options, runner);
    }
  }
  auto& sums = runner.sums;
  std::printf(
      "%u failures: %u made no difference, %u were heard of, %u were not reached, "
      "%u went wrong\n",
      sums[Verdict::kRight] + sums[Verdict::kHeard] + sums[Verdict::kWrong], sums[Verdict::kRight],
      sums[Verdict::kHeard], sums[Verdict::kMissed], sums[Verdict::kWrong]);
  return sums[Verdict::kWrong] == 0 ? 0 : 1;
}

}  // namespace
}  // namespace failing

int main(int argc, char** argv) {
  using namespace failing;  // NOLINT(google-build-using-namespace)
  if (argc == 6 && std::string_view(argv[1]) == "--one") return one(argv + 2);
  Options options;
  const char* const everything = std::getenv("IWARP_LONG");
  if (everything != nullptr && *everything != '\0') options.most = kEach;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--all") {
      options.most = kEach;
    } else if (i + 1 < argc && name == "--most") {
      options.most = std::max(1UL, std::strtoul(argv[++i], nullptr, 10));
    } else if (i + 1 < argc && name == "--jobs") {
      options.jobs = static_cast<unsigned>(std::max(1UL, std::strtoul(argv[++i], nullptr, 10)));
    } else if (i + 1 < argc && name == "--kind") {
      options.kind = argv[++i];
    } else if (i + 1 < argc && name == "--scenario") {
      options.scenario = argv[++i];
    } else {
      std::fprintf(stderr, "failing: what is %s?\n", argv[i]);
      return 2;
    }
  }
  return all(options);
}
