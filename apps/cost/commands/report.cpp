// SPDX-License-Identifier: Apache-2.0
// iwarp cost report: writes the prediction as text, or as one HTML file with charts. The HTML file
// contains its numbers, its style and its plotting library (Vega, compiled in), and loads nothing.
#include <fmt/format.h>

#include <cstdio>

#include "common/base/error.hpp"
#include "common/base/html_page.hpp"
#include "common/connection/options.hpp"
#include "cost/bench/record.hpp"
#include "cost/commands/subcommands.hpp"
#include "cost/text/page_files.hpp"
#include "cost/text/predict_text.hpp"
#include "cost/text/series.hpp"
#include "iwarp/offload_model/judge.hpp"

namespace iwarp::apps::cost {

namespace {

/// Returns, for each message size in the file of runs, the share of processor time that sockets
/// spent on copying. Fits the socket parameters to these runs, starting from the values of `host`.
std::vector<model::MeasuredShare> shares_of(const std::string& path,
                                            const model::Parameters& host) {
  if (path.empty()) return {};
  const auto runs = read_records(path);
  auto sockets = medians(runs);
  std::erase_if(sockets, [](const Record& r) { return r.mode != "sockets"; });
  if (sockets.empty()) return {};
  return measured_shares(with_sockets(host, fit_sockets(sockets, host)), runs);
}

std::string page_text(std::string_view series) {
  if (page_file("vega.js").empty()) {
    throw Error(
        "cannot write HTML: this iwarp was built without Vega (install libjs-vega, then build "
        "again, or omit --html)");
  }
  return filled(page_file("page.html"), {{"@STYLE@", std::string(page_file("style.css"))},
                                         {"@DATA@", script_safe(series)},
                                         {"@VEGA@", std::string(page_file("vega.js"))},
                                         {"@PLOTS@", std::string(page_file("plots.js"))},
                                         {"@PAGE@", std::string(page_file("page.js"))}});
}

struct ReportOptions {
  QuestionOptions question;
  std::string html;
  std::string measured;
};

int run_report(const ReportOptions& options) {
  auto found = answer(options.question);
  if (options.html.empty()) {
    std::fputs(prediction_text(found).c_str(), stdout);
    return 0;
  }
  found.measured = shares_of(options.measured, found.question.set.resolve());
  const auto page = page_text(series_json(found, -1));
  write_file(options.html, page);
  fmt::print("wrote {} ({} bytes, self-contained)\n", options.html, page.size());
  return 0;
}

}  // namespace

cli::Command report_command() {
  auto options = std::make_shared<ReportOptions>();
  cli::Command command("report",
                       "Print the prediction as text, or write it with charts as one HTML file");
  add_question_options(command, options->question);
  command.begin_group("");
  command
      .text("--measured", "runs.json", options->measured,
            "With --html: file of runs that iwarp cost validate --out wrote; also plot the share "
            "of processor "
            "time that these runs spent copying")
      .completes(cli::Completion::kFile);
  command
      .text("--html", "OUT.html", options->html,
            "Write an HTML page to this file; the default is text on standard output")
      .completes(cli::Completion::kFile);
  command.shown = {"iwarp cost report --preset 2003 --html report.html",
                   "iwarp cost report --host host.json --measured runs.json --html report.html"};
  command.run = [options](const cli::Given&) { return run_report(*options); };
  return command;
}

}  // namespace iwarp::apps::cost
