// SPDX-License-Identifier: Apache-2.0
// Compiles the student's file, runs it with its peer, and runs a file that passes again with seeds
// of the adversarial device and with AddressSanitizer.
#include "learn/judge.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "command_line/error.hpp"
#include "common/base/library_folder.hpp"
#include "common/base/scratch.hpp"
#include "iwarp/verbs/log_record.hpp"
#include "learn/process.hpp"
#include "learn/workspace.hpp"

namespace iwarp::apps::learn {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::uintmax_t kLongestSource = 1 << 20;
constexpr std::size_t kLongestLine = 400;   // std::regex needs stack for each character
constexpr std::size_t kMostLines = 10'000;  // of the output; later lines are ignored
constexpr std::size_t kMostEvidence = 400;
constexpr std::chrono::seconds kBuildLimit{20};
constexpr std::uint64_t kProcessorLimit = 2;  // seconds; a right program needs less than one

std::string contents_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) throw Error(path.string() + ": not a file");
  if (fs::file_size(path, error) > kLongestSource)
    throw Error(path.string() + ": longer than 1 MiB");
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  if (!in) throw Error(path.string() + ": " + errno_text());
  return out.str();
}

/// Replaces comments by blanks, so that no rule finds a call in a comment.
std::string without_comments(std::string text) {
  for (std::size_t at = 0; (at = text.find('/', at)) != text.npos; ++at) {
    const char second = at + 1 < text.size() ? text[at + 1] : '\0';
    if (second != '/' && second != '*') continue;
    const std::size_t found = text.find(second == '/' ? "\n" : "*/", at + 2);
    const std::size_t end = found == text.npos ? text.size() : found + (second == '/' ? 0 : 2);
    std::replace_if(
        text.begin() + static_cast<std::ptrdiff_t>(at),
        text.begin() + static_cast<std::ptrdiff_t>(end), [](char c) { return c != '\n'; }, ' ');
  }
  return text;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size() && out.size() < kMostLines;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out.push_back(verbs::printable(text.substr(at, std::min(end - at, kLongestLine))));
    at = end + 1;
  }
  return out;
}

/// Changes "/tmp/x/01-memory/exercise.c:41" to "line 41", and "/tmp/x/learn.h:7" to "learn.h:7".
std::string with_short_places(const std::string& line) {
  static const std::regex student(R"([^ ]*\bexercise\.c:(\d+)(:\d+)?)");
  static const std::regex other(R"([^ ]*/((learn\.h|peer\.c):\d+))");
  return std::regex_replace(std::regex_replace(line, student, "line $1"), other, "$1");
}

std::vector<std::string> without_middle(const std::vector<std::string>& lines) {
  if (lines.size() <= kMostEvidence) return lines;
  constexpr std::ptrdiff_t kHalf = kMostEvidence / 2;
  std::vector<std::string> out(lines.begin(), lines.begin() + kHalf);
  out.push_back(fmt::format("({} more lines)", lines.size() - kMostEvidence));
  out.insert(out.end(), lines.end() - kHalf, lines.end());
  return out;
}

std::string text_of(const Ended& ended) {
  switch (ended.end) {
    case End::kExited:
      return std::to_string(ended.status);
    case End::kSignal:
      return fmt::format("signal SIG{}", ::sigabbrev_np(ended.status));
    case End::kTimeLimit:
      return "time limit";
    case End::kOutputLimit:
      return "output limit";
    case End::kKilled:
      return "killed";
  }
  return "";
}

class Judging {
 public:
  Judging(const Exercise& exercise, const fs::path& source, unsigned seeds)
      : exercise_(exercise),
        source_(contents_of(source)),
        seeds_(seeds),
        folder_(scratch_.path() / "exercise") {
    fs::create_directory(folder_);
    for (const auto& [name, text] : helpers()) write_file(scratch_.path() / name, text);
    write_file(folder_ / "exercise.c", source_);
    write_file(folder_ / "peer.c", exercise.peer);
    unsigned number = 0;
    for (const std::string& line : lines_of(without_comments(source_))) {
      source_lines_.push_back(fmt::format("source {}: {}", ++number, line));
    }
  }

  Verdict run() {
    const auto begin = Clock::now();
    decide();
    verdict_.took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
    return std::move(verdict_);
  }

 private:
  void decide() {
    if (source_ == exercise_.skeleton)
      evidence_.emplace_back("unchanged: the file is still the skeleton");
    if (!build("exercise")) return;
    if (!exercise_.peer.empty() && !build("peer")) {
      throw Error("the reference peer does not compile: " + fmt::format("{}", evidence_.back()));
    }
    bool is_right = passes(0);
    for (unsigned seed = 1; seed <= seeds_ && is_right; ++seed) is_right = passes(seed);
    if (is_right || verdict_.cause == "crash") find_memory_error();
    verdict_.has_passed = verdict_.cause.empty();
  }

  static std::string compiler() {
    const char* chosen = std::getenv("CC");
    return chosen != nullptr && *chosen != '\0' ? chosen : "cc";
  }

  /// Returns the command that compiles NAME.c with the flags `more`.
  Program compilation(const std::string& name, const std::vector<std::string>& more) const {
    Program program{.words = {compiler(), "-std=gnu11", (folder_ / (name + ".c")).string(), "-o",
                              (folder_ / name).string(), "-libverbs", "-lrdmacm", "-lpthread"},
                    .environment = {{"LC_ALL", "C"}, {"TMPDIR", scratch_.path()}}};
    program.words.insert(program.words.end(), more.begin(), more.end());
    return program;
  }

  /// Compiles NAME.c. Returns whether it compiles. Otherwise the verdict has the cause.
  bool build(const std::string& name) {
    std::vector<std::string> more;
    if (name == "exercise") more = {"-g", "-Og", "-Wall", "-Wextra"};
    const Ended ended = run_together({compilation(name, more)}, folder_, kBuildLimit).front();
    static const std::regex diagnostic(R"(^line (\d+): (fatal error|error|warning): (.*)$)");
    const bool is_right = ended.end == End::kExited && ended.status == 0;
    if (name == "exercise" || !is_right) {
      for (const std::string& line : lines_of(ended.output)) {
        const std::string text = with_short_places(line);
        std::smatch match;
        if (std::regex_match(text, match, diagnostic)) {
          const char* kind = match[2] == "warning" ? "warning" : "error";
          evidence_.push_back(fmt::format("{}: line {}: {}", kind, match[1].str(), match[3].str()));
        } else if (!is_right) {
          evidence_.push_back("compiler: " + text);
        }
      }
    }
    if (is_right) return true;
    evidence_.push_back("compiler exit: " + text_of(ended));
    return conclude();
  }

  /// The adversarial device delays whatever it may delay, so it gets four times the limits.
  static unsigned patience(unsigned seed) { return seed == 0 ? 1 : 4; }

  /// Returns the program NAME under `iwarp run`. `seed` is that of the adversarial device; 0:
  /// another device.
  Program program(const char* name, int socket, unsigned seed) const {
    Program out{.words = {own_path().string(), "run"},
                .environment = {{"LEARN_SOCKET", std::to_string(socket)},
                                {"LEARN_ACTIVITY", activity_},
                                {"TMPDIR", scratch_.path()}},
                .descriptor = socket,
                .is_single = true,
                .seconds = kProcessorLimit * patience(seed)};
    auto& words = out.words;
    words.insert(words.end(), exercise_.options.begin(), exercise_.options.end());
    if (seed != 0) words.push_back(fmt::format("--adversary={}{}", seed, exercise_.freedoms));
    words.insert(words.end(), {"--careful", "--", (folder_ / name).string()});
    return out;
  }

  /// Runs the program with its peer. Returns how the program ended and, if there is a peer, how the
  /// peer ended.
  std::vector<Ended> run_once(unsigned seed, bool is_sanitized) {
    std::array<int, 2> ends{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw Error("socketpair: " + errno_text());
    }
    std::vector<Program> programs{program("exercise", ends[0], seed)};
    if (exercise_.peer.empty()) {
      ::close(ends[1]);
    } else {
      programs.push_back(program("peer", ends[1], seed));
    }
    if (is_sanitized) {
      programs.front().memory = 0;  // the shadow memory of AddressSanitizer has 16 TiB
      programs.front().environment.emplace_back("ASAN_OPTIONS", "detect_leaks=0");
    }
    write_file(activity_, std::string(64, '\0'));
    ++verdict_.runs;
    return run_together(programs, folder_, patience(seed) * exercise_.limit);
  }

  /// Runs the program once more, with AddressSanitizer if the compiler has it. Finds writes and
  /// reads beyond a buffer, also those that did no harm before. Only the reports of
  /// AddressSanitizer count, because the program is slower than it was.
  void find_memory_error() {
    const auto program = compilation("exercise", {"-g", "-Og", "-fsanitize=address"});
    if (run_together({program}, folder_, kBuildLimit).front().status != 0) return;
    const auto output = run_once(0, true).front().output;
    static const std::regex error(R"(ERROR: AddressSanitizer: ([\w-]+))");
    static const std::regex place(R"(^ *#\d+ .* (line \d+))");
    std::string what;
    for (const std::string& raw : lines_of(output)) {
      const std::string line = with_short_places(raw);
      std::smatch match;
      if (std::regex_search(line, match, error)) what = match[1];
      if (what.empty() || !std::regex_search(line, match, place)) continue;
      evidence_.push_back(fmt::format("asan: {} at {}", what, match[1].str()));
      conclude();
      return;
    }
  }

  /// Runs the program once, with the adversarial device if `seed` is not 0. Returns whether it
  /// behaves as a correct program does.
  bool passes(unsigned seed) {
    const auto shown = verdict_.evidence;
    const auto ended = run_once(seed, false);
    if (seed != 0) evidence_ = {fmt::format("option: --adversary={}{}", seed, exercise_.freedoms)};
    add_student(ended.front());
    if (ended.size() > 1) add_peer(ended[1]);
    const bool out = conclude();
    if (seed == 0) return out;
    if (!out) verdict_.says += fmt::format(" (seed {})", seed);
    if (out) verdict_.evidence = shown;  // of the usual device
    return out;
  }

  void add_student(const Ended& ended) {
    static const std::string kCareful = "iwarp: careful: ";
    static const std::string kStack = "iwarp: ";
    for (const std::string& raw : lines_of(ended.output)) {
      const std::string line = with_short_places(raw);
      if (line.starts_with(kCareful)) {
        evidence_.push_back("careful: " + line.substr(kCareful.size()));
      } else if (line.starts_with(kStack)) {
        evidence_.push_back("refused: " + line.substr(kStack.size()));
      } else if (line.starts_with("did: ")) {
        evidence_.push_back(line);
      } else {
        evidence_.push_back("program: " + line);
      }
    }
    evidence_.push_back("exit: " + text_of(ended));
  }

  void add_peer(const Ended& ended) {
    for (const std::string& raw : lines_of(ended.output)) {
      const std::string line = with_short_places(raw);
      evidence_.push_back(line.starts_with("saw: ") ? line : "peer: " + line);
    }
    evidence_.push_back("peer exit: " + text_of(ended));
  }

  /// Applies the rules to the evidence. Returns false if a rule finds a cause, or if a line is
  /// missing that a correct program causes.
  bool conclude() {
    std::vector<std::string> all = evidence_;
    all.insert(all.end(), source_lines_.begin(), source_lines_.end());
    verdict_.evidence = without_middle(evidence_);
    const auto found = first_finding(exercise_, all);
    if (!found) return true;
    verdict_.cause = found->cause;
    verdict_.says = found->says;
    return false;
  }

  const Exercise& exercise_;
  const std::string source_;
  const unsigned seeds_;
  const Scratch scratch_{"iwarp-learn"};
  const fs::path folder_;
  const fs::path activity_ = scratch_.path() / "activity";  ///< see learn.h
  std::vector<std::string> source_lines_;
  std::vector<std::string> evidence_;
  Verdict verdict_;
};

}  // namespace

Verdict judge(const Exercise& exercise, const fs::path& source, unsigned seeds) {
  library_folder();  // throws if iwarp run cannot work
  return Judging(exercise, source, seeds).run();
}

}  // namespace iwarp::apps::learn
