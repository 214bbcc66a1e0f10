// SPDX-License-Identifier: Apache-2.0
// Declares the options: which cases run and for how long, and which files the reports go to.
#include "report/options.hpp"

namespace iwarp::apps::report {

void add_options(cli::Command& command, Options& options, std::vector<std::string> ids) {
  command
      .texts("--only", "ID|SECTION", options.only,
             "Run only cases whose id or section begins with this text, such as mpa/crc, "
             "\"5044 4\" or 5041. With --generated: sessions whose id begins with this text")
      .suggests(std::move(ids))
      .repeatable();
  command.flag("--list", options.list,
               "List the cases, or with --generated the sessions, without running them");
  command.optional_text("--json", "FILE", options.json,
                        "Write the report as JSON, to FILE or standard output");
  command.file("--junit", "FILE", options.junit, "Write the report as JUnit XML");
  command.number("--timeout", "SECONDS", options.timeout, {0.1, 3600},
                 "Time limit for one connection of a case; with --device, for one case");
  command
      .optional_text("--generated", "FIRST..LAST", options.generated,
                     "Run generated sessions instead of the hand-written cases. Each session "
                     "combines a state, a message and a field value. With --device: generated "
                     "sequences of calls, one for each seed from FIRST to LAST")
      .excludes("--junit");
}

}  // namespace iwarp::apps::report
