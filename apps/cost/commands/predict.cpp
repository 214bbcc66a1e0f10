// SPDX-License-Identifier: Apache-2.0
// iwarp cost predict: prints the cost of one message for each way to transfer it.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cost/commands/subcommands.hpp"
#include "cost/text/predict_text.hpp"
#include "cost/text/series.hpp"

namespace iwarp::apps::cost {

cli::Command predict_command() {
  auto options = std::make_shared<QuestionOptions>();
  auto json = std::make_shared<bool>(false);
  cli::Command command("predict",
                       "Predict the processor cost of one message for each way to move it");
  add_question_options(command, *options);
  command.flag("--json", *json, "Print everything that the text and the report show, as JSON");
  command.shown = {"iwarp cost predict --preset 2003 --size 4K",
                   "iwarp cost predict --host host.json --size 1M --rate 25 --cached",
                   "iwarp cost predict --what-if inline=on,pcie=gen4x8,depth=1,wait=interrupt",
                   "iwarp cost predict --size 256K --reuse 100 --advertise 10 --json"};
  command.run = [options, json](const cli::Given&) {
    const auto found = answer(*options);
    std::puts(*json ? series_json(found, 1).c_str() : prediction_text(found).c_str());
    return 0;
  };
  return command;
}

}  // namespace iwarp::apps::cost
