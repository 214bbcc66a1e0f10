// SPDX-License-Identifier: Apache-2.0
// Writes reports to files and to standard output. A text that cannot be written, for example
// because the disk is full, throws Error.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

namespace iwarp::apps::report {

/// Writes text to standard output, at once.
void show(std::string_view text);

/// The file of a report, or standard output if the path is empty. Opened before the run, so that a
/// path that cannot be written fails at once. Keeps its old content until write().
class ReportFile {
 public:
  explicit ReportFile(std::string path);
  void write(const std::string& text);

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
};

/// The files of the reports that the user wants.
struct ReportFiles {
  ReportFiles(const std::optional<std::string>& json_path, const std::string& junit_path);
  std::optional<ReportFile> json;
  std::optional<ReportFile> junit;
};

/// Returns the time as 2026-01-02T03:04:05Z.
std::string now();
/// Returns whether a text report may use colours: standard output is a terminal, and NO_COLOR is
/// not set.
bool is_coloured();

}  // namespace iwarp::apps::report
