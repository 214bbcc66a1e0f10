// SPDX-License-Identifier: Apache-2.0
// iwarp cost predict and report: print the cost of one message for each way to transfer it, as
// text, as JSON, or as one HTML file with charts. The HTML file contains its numbers, its style and
// its plotting library (Vega, compiled in), and loads nothing.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/html_page.hpp"
#include "cost/bench/record.hpp"
#include "cost/commands/subcommands.hpp"
#include "cost/text/views.hpp"
#include "iwarp/offload_model/judge.hpp"

namespace iwarp::apps::cost {

namespace {

struct PredictOptions {
  QuestionOptions question;
  bool json = false;
  std::string html;
  std::string measured;
};

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

std::string page_text(const Answer& answer) {
  if (page_file("page").empty()) {
    throw Error(
        "cannot write HTML: this iwarp was built without Vega (install libjs-vega, then build "
        "again, or omit --html)");
  }
  return filled(page_file("page"), {{"@DATA@", script_safe(series_json(answer, -1))}});
}

int run_predict(const PredictOptions& options) {
  auto found = answer(options.question);
  if (options.html.empty()) {
    std::fputs((options.json ? series_json(found, 1) + "\n" : prediction_text(found)).c_str(),
               stdout);
    return 0;
  }
  found.measured = shares_of(options.measured, found.question.set.resolve());
  const auto page = page_text(found);
  write_file(options.html, page);
  fmt::print("wrote {} ({} bytes, self-contained)\n", options.html, page.size());
  return 0;
}

cli::Command command(const char* name, const char* summary, std::vector<std::string> shown) {
  const auto options = std::make_shared<PredictOptions>();
  cli::Command out(name, summary);
  add_question_options(out, options->question);
  out.flag("--json", options->json, "Print everything that the text and the page show, as JSON");
  out.file("--html", "OUT.html", options->html,
           "Write an HTML page to this file; the default is text on standard output")
      .excludes("--json");
  out.file(
      "--measured", "runs.json", options->measured,
      "With --html: also plot the share of processor time that copying took in the runs of this "
      "file, which iwarp cost validate --out wrote");
  out.shown = std::move(shown);
  out.run = [options](const cli::Given&) { return run_predict(*options); };
  return out;
}

}  // namespace

cli::Command predict_command() {
  return command("predict", "Predict the processor cost of one message for each way to move it",
                 {"iwarp cost predict --preset 2003 --size 4K",
                  "iwarp cost predict --host host.json --size 1M --rate 25 --cached",
                  "iwarp cost predict --what-if inline=on,pcie=gen4x8,depth=1,wait=interrupt",
                  "iwarp cost predict --size 256K --reuse 100 --advertise 10 --json"});
}

cli::Command report_command() {
  return command("report", "Print the prediction as text, or write it with charts as one HTML file",
                 {"iwarp cost report --preset 2003 --html report.html",
                  "iwarp cost report --host host.json --measured runs.json --html report.html"});
}

}  // namespace iwarp::apps::cost
