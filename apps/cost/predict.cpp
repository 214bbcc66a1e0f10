// SPDX-License-Identifier: Apache-2.0
// iwarp cost predict: one message, four ways, in numbers.
#include <cstdio>

#include "cost/predict_text.hpp"
#include "cost/series.hpp"
#include "cost/subcommands.hpp"

namespace iwarp::apps::cost {

void add_predict(CLI::App& app, Run& run) {
  auto options = std::make_shared<QuestionOptions>();
  auto json = std::make_shared<bool>(false);
  auto* command = app.add_subcommand("predict", "What one message costs the processors, four ways");
  command->footer(
      "Examples:\n"
      "  iwarp cost predict --preset 2003 --size 4K\n"
      "  iwarp cost predict --host host.json --size 1M --rate 25 --cached\n"
      "  iwarp cost predict --size 256K --reuse 100 --advertise 10 --json");
  add_question_options(*command, *options);
  command->add_flag("--json", *json, "As JSON: everything that report would plot");
  command->callback([&run, options, json] {
    run = [options, json] {
      const auto question = question_of(*options);
      std::puts(*json ? all_series(question, {}).dump(1).c_str()
                      : prediction_text(question).c_str());
      return 0;
    };
  });
}

}  // namespace iwarp::apps::cost
