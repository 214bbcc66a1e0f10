// SPDX-License-Identifier: Apache-2.0
// iwarp explain: shows what the MPA connections of a capture or a log carried.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "commands.hpp"
#include "common/base/error.hpp"
#include "common/base/progress.hpp"
#include "explain/capture_reader.hpp"
#include "explain/gunzip.hpp"
#include "explain/page.hpp"
#include "explain/text_report.hpp"
#include "frames/connections/qlog_reader.hpp"
#include "frames/report/json_report.hpp"
#include "iwarp/trace/trace_file.hpp"

namespace iwarp::apps {
namespace {

using explain::Detail;

struct ExplainOptions {
  std::vector<std::string> files;
  unsigned verbose = 0;
  bool json = false;
  bool strict = false;
  std::string html;
  frames::Filter filter;
};

/// Collects lines and writes them in large pieces. Writes each line immediately if the output is a
/// terminal or the input is live.
class Output {
 public:
  explicit Output(bool at_once) : enough_(at_once ? 1 : kEnough) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  void add(std::string_view lines) {
    text_ += lines;
    if (text_.size() >= enough_) flush();
  }
  void flush() {
    if (std::fwrite(text_.data(), 1, text_.size(), stdout) != text_.size() ||
        std::fflush(stdout) != 0) {
      throw Error("cannot write to standard output: " + errno_text());
    }
    text_.clear();
  }

 private:
  static constexpr std::size_t kEnough = 64 * 1024;
  std::size_t enough_;
  std::string text_;
};

/// Returns the total size of the files. If one of them is not a regular file, the size is unknown
/// and the result is 0.
std::uint64_t total_size(const std::vector<std::string>& files) {
  std::uint64_t sum = 0;
  for (const auto& file : files) {
    struct stat status{};
    if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
    sum += static_cast<std::uint64_t>(status.st_size);
  }
  return sum;
}

/// Reads the files one after the other, and treats all captures together as one capture.
class Reading {
 public:
  Reading(frames::Connections& connections, frames::ConnectionListener& listener,
          const std::vector<std::string>& files, bool quiet)
      : connections_(connections),
        listener_(listener),
        total_(total_size(files)),
        progress_("explain", total_, quiet || total_ == 0) {}

  /// Returns whether at least one of the files could be opened as a capture or a log.
  bool any_opened() const { return any_opened_; }

  /// Reads a file. If a part of it cannot be read, prints a message and returns false.
  bool read(const std::string& path) {
    // "e" sets O_CLOEXEC, so that programs that this process starts do not inherit the file.
    std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rbe");
    if (file == nullptr) {
      return complain(fmt::format("cannot read the capture {}: {}", path, errno_text()));
    }
    // A reader closes its file, and fclose() still uses the buffer of the file. The buffers must
    // therefore outlive the readers.
    const auto buffer = buffer_of(file);
    if (!explain::Gunzip::is_gzip(file)) return read_unpacked(file, path);
    explain::Gunzip packed(file);
    file = packed.open();
    if (file == nullptr) {
      return complain(fmt::format("cannot read the capture {}: {}", path, packed.error()));
    }
    const auto unpacked_buffer = buffer_of(file);
    packed_ = &packed;
    before_packed_ = octets_;
    const bool all_read = read_unpacked(file, path);
    packed_ = nullptr;
    return all_read;
  }

  /// Prints a message and returns false. If there is a progress bar, the message begins at the
  /// first column and overwrites the bar.
  bool complain(const std::string& text) {
    fmt::print(stderr, "{}iwarp explain: {}\n", total_ != 0 && isatty(STDERR_FILENO) ? "\r" : "",
               printable(text));
    return false;
  }

 private:
  static constexpr std::size_t kReadBuffer = 256 * 1024;
  static constexpr int kRecordSeparator = 0x1E;  ///< RFC 7464 puts this octet before each JSON text
  static constexpr std::uint64_t kRecordHeader = 16;
  static constexpr std::uint64_t kBetweenUpdates = 4096;

  static std::unique_ptr<char[]> buffer_of(std::FILE* file) {
    auto buffer = std::make_unique_for_overwrite<char[]>(kReadBuffer);
    std::setvbuf(file, buffer.get(), _IOFBF, kReadBuffer);
    return buffer;
  }

  bool read_unpacked(std::FILE* file, const std::string& path) {
    const int first = std::getc(file);
    std::ungetc(first, file);
    constexpr std::string_view kSuffix = ".gz";
    auto name = path;
    if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
    const bool is_log =
        first == kRecordSeparator || first == '{' || trace::TraceFile::names_log(name);
    return is_log ? read_log(file, path) : read_capture(file, path);
  }

  bool read_log(std::FILE* file, const std::string& path) {
    any_opened_ = true;
    frames::QlogReader reader(listener_, connections_.counts(), [&](const std::string& text) {
      complain(fmt::format("{}: {}", path, text));
    });
    std::array<char, 64 * 1024> octets;
    while (const auto n = std::fread(octets.data(), 1, octets.size(), file)) {
      reader.octets({octets.data(), n});
      count(n);
      progress_.update(std::min(octets_, total_));
    }
    const bool failed = std::ferror(file) != 0;
    const auto why = reason(errno_text());
    std::fclose(file);
    const bool whole = reader.finish();
    return failed ? complain(fmt::format("cannot read the log {}: {}", path, why)) : whole;
  }

  bool read_capture(std::FILE* file, const std::string& path) {
    auto reader = explain::CaptureReader::read(file, path);
    if (!reader && !unpacking_failed()) return complain(reader.error());
    if (!reader) {
      return complain(fmt::format("cannot read the capture {}: {}", path, packed_->error()));
    }
    const int link = reader->link_type();
    if (!frames::is_known_link(link)) {
      return complain(
          fmt::format("{}: unsupported link type {} (capture on an Ethernet or loopback interface, "
                      "or with tcpdump -i any)",
                      path, link));
    }
    any_opened_ = true;
    std::uint64_t packets = 0;
    while (const auto packet = reader->next()) {
      ++packets;
      connections_.packet(link, packet->octets, packet->wire_size,
                          {.nanoseconds = packet->nanoseconds, .packet = ++mark_});
      count(kRecordHeader + packet->octets.size());
      if (packets % kBetweenUpdates == 0) progress_.update(std::min(octets_, total_));
    }
    if (packed_ != nullptr && !reader->error().empty()) packed_->check_rest();
    const auto why = reason(reader->error());
    if (why.empty()) return true;
    return complain(fmt::format("{}: reading stopped after {} packet{}: {}", path, packets,
                                packets == 1 ? "" : "s", why));
  }

  bool unpacking_failed() const { return packed_ != nullptr && !packed_->error().empty(); }
  /// Returns why the rest of a file cannot be read. If decompression has failed, returns the
  /// decompression error, because it causes all later errors. If not, returns `otherwise`.
  std::string reason(const std::string& otherwise) const {
    return unpacking_failed() ? packed_->error() : otherwise;
  }

  /// Advances the progress by `octets`, which have been read. The progress of a compressed file is
  /// counted in compressed octets, because the total of the progress bar is the size of the
  /// compressed file.
  void count(std::uint64_t octets) {
    octets_ = packed_ != nullptr ? before_packed_ + packed_->taken() : octets_ + octets;
  }

  frames::Connections& connections_;
  frames::ConnectionListener& listener_;
  std::uint64_t total_;
  bool any_opened_ = false;
  std::uint64_t mark_ = 0;
  std::uint64_t octets_ = 0;
  /// Decompresses the current file. Null if that file is not compressed.
  explain::Gunzip* packed_ = nullptr;
  std::uint64_t before_packed_ = 0;  ///< value of octets_ when the current compressed file began
  Progress progress_;
};

constexpr int kExitViolation = 3;

/// Reads all files. Returns the exit status.
template <typename Report>
int read_all(Report& report, const ExplainOptions& options, bool quiet) {
  bool all_read = true;
  frames::Connections connections(report);
  Reading reading(connections, report, options.files, quiet);
  for (const auto& file : options.files) all_read = reading.read(file) && all_read;
  connections.finish();
  // Write the summary only if at least one file could be opened.
  if (reading.any_opened()) report.summary(connections.counts());
  const auto wanted = options.filter.connection;
  if (const auto found = connections.counts().mpa; all_read && wanted > found) {
    all_read = reading.complain(
        found == 0
            ? fmt::format("--stream {}: the input contains no MPA connection", wanted)
            : fmt::format(
                  "--stream {}: no MPA connection has this number (the highest number is {})",
                  wanted, found));
  }
  if (!all_read) return kExitFailure;
  return options.strict && report.violations() != 0 ? kExitViolation : 0;
}

template <typename Report>
int run_report(Report& report, Output& output, const ExplainOptions& options) {
  // Show no progress bar if standard output is a terminal.
  const int status = read_all(report, options, isatty(STDOUT_FILENO) == 1);
  output.flush();
  return status;
}

int run_page(const ExplainOptions& options) {
  explain::Page page(options.html);
  frames::JsonReport report(explain::Page::kModel, options.filter,
                            [&page](std::string_view lines) { page.add(lines); });
  const int status = read_all(report, options, false);
  const auto size = page.finish();
  fmt::print("wrote {} ({} bytes, self-contained)\n", options.html, size);
  if (report.left_out() != 0) {
    fmt::print(
        "frames left out because the page would become too large: {} (select fewer frames with "
        "--stream, --op or --errors)\n",
        report.left_out());
  }
  return status;
}

int run_explain(const ExplainOptions& options) {
  if (!options.html.empty()) return run_page(options);
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  const bool live = std::ranges::find(options.files, "-") != options.files.end();
  Output output(terminal || live);
  const auto out = [&output](std::string_view lines) { output.add(lines); };
  if (options.json) {
    frames::JsonReport report({.octets = options.verbose > 1}, options.filter, out);
    return run_report(report, output, options);
  }
  const auto detail = options.verbose > 1    ? Detail::kOctets
                      : options.verbose == 1 ? Detail::kLayers
                                             : Detail::kLine;
  const bool colour = terminal && std::getenv("NO_COLOR") == nullptr;
  explain::TextReport report({.detail = detail, .colour = colour}, options.filter, out);
  return run_report(report, output, options);
}

}  // namespace

cli::Command explain_command() {
  cli::Command command("explain",
                       "Explain the frames of a capture, and report the rules that they break");
  auto options = std::make_shared<ExplainOptions>();
  command
      .arguments(
          "FILE", options->files,
          "pcap or pcapng file, or qlog file that an iwarp command wrote with --trace FILE.qlog; "
          "may be compressed with gzip. Several files are read in the order given; - is standard "
          "input")
      .required()
      .completes(cli::Completion::kFile);
  command.count("-v,--verbose", options->verbose,
                "Show the four layers of each frame; -vv also shows all octets of the frame");
  command.number("--stream", "N", options->filter.connection, {1, 1e15},
                 "Show only the MPA connection with this number");
  command.choice("--op", options->filter.operation, frames::operation_names(),
                 "Show only operations of this kind, both requests and responses");
  command.flag("--errors", options->filter.errors,
               "Show only errors: Terminates, rejections, failures in logs, octets outside frames, "
               "and frames that break a rule");
  command.flag(
      "--strict", options->strict,
      "For scripts: exit with status 3 if any frame breaks a rule, even a frame that is not shown");
  command.flag("--json", options->json, "Print one JSON object per line");
  command
      .file("--html", "OUT.html", options->html,
            "Write a self-contained HTML page for stepping through the frames")
      .excludes("--json")
      .excludes("--verbose");
  command.shown = {"iwarp explain demo.pcap", "iwarp explain --html demo.html demo.pcap",
                   "iwarp explain --errors -v big.pcapng",
                   "tcpdump -U -w - | iwarp explain -  explain during the capture",
                   "iwarp demo --trace demo.qlog && iwarp explain demo.qlog"};
  command.statuses[1].when =
      "a file could not be read completely, the output could not be written, or --stream matches "
      "no connection";
  command.statuses.push_back(
      {std::to_string(kExitViolation), "with --strict: a frame breaks a rule"});
  command.run = [options](const cli::Given&) { return run_explain(*options); };
  return command;
}

}  // namespace iwarp::apps
