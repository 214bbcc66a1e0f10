// SPDX-License-Identifier: Apache-2.0
// Opens a report file when its object is made, so that a wrong path fails before the cases run. The
// contents are replaced only when the report is written.
#include "report/file.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "command_line/error.hpp"

namespace iwarp::apps::report {
namespace {

void write_all(std::FILE* file, std::string_view text, const std::string& name) {
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0) {
    throw Error(name + ": " + errno_text());
  }
}

}  // namespace

void show(std::string_view text) { write_all(stdout, text, "standard output"); }

ReportFile::ReportFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  file_.reset(std::fopen(path_.c_str(), "a"));
  if (!file_) throw Error(path_ + ": " + errno_text());
}

void ReportFile::write(const std::string& text) {
  if (!file_) return show(text);
  // Truncating fails for a pipe or a terminal, which has no old content.
  [[maybe_unused]] const int failed = ::ftruncate(::fileno(file_.get()), 0);
  write_all(file_.get(), text, path_);
}

ReportFiles::ReportFiles(const std::optional<std::string>& json_path,
                         const std::string& junit_path) {
  if (json_path) json.emplace(*json_path);
  if (!junit_path.empty()) junit.emplace(junit_path);
}

std::string now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

bool is_coloured() { return ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr; }

}  // namespace iwarp::apps::report
