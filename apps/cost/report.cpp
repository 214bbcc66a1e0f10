// SPDX-License-Identifier: Apache-2.0
// iwarp cost report: the prediction as text, or as one HTML file with pictures. The page holds its
// numbers, its style and the plotting library (Vega, compiled in); it loads nothing.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "common/error.hpp"
#include "common/options.hpp"
#include "cost/page_files.hpp"
#include "cost/predict_text.hpp"
#include "cost/series.hpp"
#include "cost/socket_fit.hpp"
#include "cost/subcommands.hpp"

namespace iwarp::apps::cost {

namespace {

/// JSON for the inside of a script element, which "</script" would end.
std::string script_safe(std::string text) {
  for (std::size_t at = 0; (at = text.find("</", at)) != std::string::npos; at += 3) {
    text.replace(at, 2, "<\\/");
  }
  return text;
}

/// `page` with each @NAME@ replaced, in one pass: what is put in is not searched again.
std::string filled(std::string_view page,
                   const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string out;
  while (!page.empty()) {
    auto nearest = page.size();
    const std::pair<std::string_view, std::string>* which = nullptr;
    for (const auto& value : values) {
      const auto at = page.find(value.first);
      if (at < nearest) {
        nearest = at;
        which = &value;
      }
    }
    out += page.substr(0, nearest);
    if (which == nullptr) break;
    out += which->second;
    page.remove_prefix(nearest + which->first.size());
  }
  return out;
}

/// By what these runs themselves say of sockets, near to what the host's parameters say.
std::vector<MeasuredShare> shares_of(const std::string& path, const model::Parameters& host) {
  if (path.empty()) return {};
  const auto runs = read_records(path);
  auto sockets = medians(runs);
  std::erase_if(sockets, [](const Record& r) { return r.mode != "sockets"; });
  if (sockets.empty()) return {};
  return measured_shares(with_sockets(host, fit_sockets(sockets, host)), runs);
}

std::string page_text(const Json& series) {
  if (page_file("vega.js").empty()) {
    throw Error("this iwarp was built without Vega (libjs-vega); the text report needs none");
  }
  return filled(page_file("page.html"), {{"@STYLE@", std::string(page_file("style.css"))},
                                         {"@DATA@", script_safe(series.dump())},
                                         {"@VEGA@", std::string(page_file("vega.js"))},
                                         {"@PLOTS@", std::string(page_file("plots.js"))}});
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw Error("cannot write " + path + ": " + errno_text());
}

}  // namespace

void add_report(CLI::App& app, Run& run) {
  struct Options {
    QuestionOptions question;
    std::string html;
    std::string measured;
  };
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("report", "The same with pictures, as one HTML file");
  command->footer(
      "Examples:\n"
      "  iwarp cost report --preset 2003 --html report.html\n"
      "  iwarp cost report --host host.json --measured runs.json --file 10G --html report.html");
  add_question_options(*command, options->question);
  command
      ->add_option("--file", options->question.file, "Octets of the file in the transfer scenario")
      ->transform(size_suffix())
      ->check(without_name(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 50)))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--measured", options->measured,
                   "Runs of iwarp cost run: their copy shares become dots")
      ->type_name("runs.json");
  command
      ->add_option("--html", options->html, "Write the page there; text on standard output if not")
      ->type_name("OUT.html");
  command->callback([&run, options] {
    run = [options] {
      const auto question = question_of(options->question);
      if (options->html.empty()) {
        std::fputs(prediction_text(question).c_str(), stdout);
        return 0;
      }
      const auto shares = shares_of(options->measured, question.set.resolve());
      const auto page = page_text(all_series(question, shares));
      write_file(options->html, page);
      fmt::print("{}: {} octets, nothing to load from elsewhere\n", options->html, page.size());
      return 0;
    };
  });
}

}  // namespace iwarp::apps::cost
