// SPDX-License-Identifier: Apache-2.0
// iwarp lab: serves the lab's page to a browser on this machine, or writes the page to a file.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "command_line/stop.hpp"
#include "commands.hpp"
#include "common/base/error.hpp"
#include "lab/page_file.hpp"
#include "lab/page_server.hpp"

namespace iwarp::apps {
namespace {

struct LabOptions {
  unsigned port = 0;
  std::string save;
};

int save_page(const std::string& path, std::string_view page) {
  std::ofstream out(path, std::ios::binary);
  out.write(page.data(), static_cast<std::streamsize>(page.size()));
  out.close();
  if (!out) throw Error("cannot write " + path + ": " + errno_text());
  fmt::print("wrote {} ({} bytes, self-contained)\n", path, page.size());
  return 0;
}

int run_lab(const LabOptions& options) {
  const auto page = lab::page_file("page");
  if (page.empty()) {
    throw Error(
        "this iwarp was built without the lab page (run apps/lab.sh in the source tree; it "
        "installs clang-19, esbuild and the other tools that the page needs, and builds the page)");
  }
  if (!options.save.empty()) return save_page(options.save, page);
  catch_stop_signals();
  lab::PageServer server(static_cast<std::uint16_t>(options.port), page);
  fmt::print("the lab is at http://127.0.0.1:{}/ (press Ctrl-C to stop it)\n", server.port());
  std::fflush(stdout);
  server.run(stop_fd());
  return 0;
}

}  // namespace

cli::Command lab_command() {
  cli::Command command(
      "lab", "Serve the lab: a web page that runs this stack step by step and can inject faults");
  auto options = std::make_shared<LabOptions>();
  command.number("--port", "N", options->port, {0, 65535},
                 "Port on 127.0.0.1; 0, the default, chooses a free port");
  command
      .file("--save", "OUT.html", options->save,
            "Write the page as one self-contained HTML file and exit")
      .excludes("--port");
  command.shown = {"iwarp lab", "iwarp lab --save lab.html"};
  command.run = [options](const cli::Given&) { return run_lab(*options); };
  return command;
}

}  // namespace iwarp::apps
