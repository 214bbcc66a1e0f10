// SPDX-License-Identifier: Apache-2.0
// Parses the command line with CLI11. No other file includes CLI11, because it takes seconds to
// compile.
#include "command_line/parse.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "command_line/suggest.hpp"

namespace iwarp::apps::cli {

namespace {

constexpr const char* kVersionFlag = "--version";
constexpr const char* kVersionNames = "-V,--version";

/// The word that CLI11 passes for a flag without a value.
constexpr const char* kBare = "true";

/// The tree of commands, built from CLI11 objects.
class Tree {
 public:
  explicit Tree(const Command& root) : app_("", root.name) {
    app_.add_flag_callback(kVersionNames, [this] { wants_version_ = true; });
    add(app_, root);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  std::expected<Invocation, Misuse> parse(int argc, const char* const* argv) {
    Invocation out;
    try {
      app_.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      out.wants_help = true;
    } catch (const CLI::ParseError& error) {
      if (!wants_version_) return std::unexpected(misuse(error));
    }
    out.wants_version = wants_version_;
    const auto apps = chosen();
    for (auto* app : apps) out.path.push_back(commands_.at(app));
    collect(*apps.back(), out.given);
    if (is_unknown_option(out.given)) {
      return std::unexpected(
          Misuse{path_text(out.path), unexpected_word(*out.path.back(), out.given.rest.front())});
    }
    if (!out.wants_help && !out.wants_version && !out.path.back()->run) {
      return std::unexpected(Misuse{path_text(out.path), "no command given"});
    }
    return out;
  }

 private:
  void add(CLI::App& app, const Command& command) {
    commands_[&app] = &command;
    app.set_help_flag("-h,--help");
    for (const auto& option : command.options) add(app, option);
    for (const auto& option : command.options) {
      for (const auto& rival : option.rivals) {
        app.get_option(option.long_name())->excludes(app.get_option(rival));
      }
    }
    // Allow at most one subcommand. Otherwise, if a file or host has the same name as a command,
    // CLI11 would parse it as that command.
    app.require_subcommand(0, 1);
    for (const auto& sub : command.commands) add(*app.add_subcommand(sub.name), sub);
    if (command.takes_command) {
      app.prefix_command();
      // CLI11 passes the words after "--" to the parent commands, which must not parse these words
      // either.
      app.preparse_callback([&app](std::size_t) {
        for (auto* up = app.get_parent(); up != nullptr; up = up->get_parent()) {
          up->prefix_command();
        }
      });
    }
  }

  void add(CLI::App& app, const Option& option) {
    if (option.is_flag() && option.is_repeatable) {
      app.add_flag_function(option.names, [&option](std::int64_t times) {
        option.take(Option::Words(static_cast<std::size_t>(times)));
      });
      return;
    }
    if (option.is_flag()) {
      app.add_flag_callback(option.names, [&option] { option.take({}); });
      return;
    }
    if (option.is_value_optional) {
      // Accept the value only as --name=VALUE. Otherwise CLI11 would take the next argument as the
      // option's value.
      auto& value = optional_values_.emplace_back();
      app.add_flag(option.names, value)->each([&option](const std::string& word) {
        // CLI11 puts the name of the option before this text.
        const auto fault = option.take(word == kBare ? Option::Words{} : Option::Words{word});
        if (!fault.empty()) throw CLI::ValidationError(fault);
      });
      return;
    }
    auto* made = app.add_option(option.names, [&option](const CLI::results_t& words) {
      require(option, words);
      return true;
    });
    const bool is_several = option.is_greedy || option.is_repeatable;
    if (option.is_greedy) {
      made->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args();
    }
    if (!option.is_greedy) made->expected(1)->allow_extra_args(false);
    if (option.is_repeatable) made->take_all();
    if (!is_several) made->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    made->required(option.is_required);
  }

  static void require(const Option& option, const Option::Words& words) {
    const auto fault = option.take(words);
    if (!fault.empty()) throw CLI::ValidationError(option.long_name(), fault);
  }

  /// Returns the CLI11 objects of the commands that were selected, root first.
  std::vector<CLI::App*> chosen() {
    std::vector<CLI::App*> out{&app_};
    for (;;) {
      const auto subs = out.back()->get_subcommands();
      if (subs.empty()) return out;
      out.push_back(subs.front());
    }
  }

  void collect(CLI::App& app, Given& given) const {
    for (const auto& option : commands_.at(&app)->options) {
      const auto name = option.long_name();
      const auto& words = app.get_option(name)->results();
      if (!words.empty()) given.words[name] = words.back();
      for (const auto& word : words) {
        const bool is_bare = option.is_flag() || (option.is_value_optional && word == kBare);
        if (option.is_argument) continue;
        given.options.push_back(name);
        if (!is_bare) given.options.back().append("=").append(word);
      }
    }
    if (!commands_.at(&app)->takes_command) return;
    given.has_mark = app.remaining().empty();
    given.rest = extras(app);
  }

  /// Returns the words that belong to no option. CLI11 passes the words after "--" to a parent
  /// command.
  static std::vector<std::string> extras(const CLI::App& app) {
    const auto* from = &app;
    while (from->remaining().empty() && from->get_parent() != nullptr) from = from->get_parent();
    return from->remaining();
  }

  /// Returns whether the user misspelled an option of the command. The first word after the options
  /// is the program to run; this word cannot begin with '-' unless "--" precedes it.
  static bool is_unknown_option(const Given& given) {
    return !given.has_mark && !given.rest.empty() && given.rest.front().starts_with('-');
  }

  Misuse misuse(const CLI::ParseError& error) {
    const auto apps = chosen();
    std::vector<const Command*> path;
    path.reserve(apps.size());
    for (auto* app : apps) path.push_back(commands_.at(app));
    return {path_text(path), misuse_text(error, *apps.back(), *path.back())};
  }

  std::string misuse_text(const CLI::ParseError& error, CLI::App& app,
                          const Command& command) const {
    switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
      case CLI::ExitCodes::ExtrasError:
        return unexpected_word(command, first_extra(app));
      case CLI::ExitCodes::RequiredError:
        if (const auto word = unknown_option(extras(app))) return unexpected_word(command, *word);
        return missing_option(app, command) + " is missing";
      case CLI::ExitCodes::ArgumentMismatch:
        return mismatch_text(error.what(), app, command);
      default:
        break;
    }
    const std::string text = error.what();
    return text.substr(0, text.find('\n'));
  }

  static std::optional<std::string> unknown_option(std::span<const std::string> words) {
    const auto option = std::ranges::find_if(
        words, [](const auto& word) { return word.starts_with('-') && word != "--"; });
    if (option == words.end()) return std::nullopt;
    return *option;
  }

  /// Returns the first unknown option. If there is none, returns the first word after the
  /// positional arguments that the command declares.
  static std::string first_extra(const CLI::App& app) {
    auto words = extras(app);
    std::erase(words, "--");
    return unknown_option(words).value_or(words.empty() ? "--" : words.front());
  }

  static std::string missing_option(CLI::App& app, const Command& command) {
    for (const auto& option : command.options) {
      const bool given = app.get_option(option.long_name())->count() > 0;
      if (option.is_required && !given) return option.long_name();
    }
    return "an option";
  }

  /// Returns a text about an invalid value. `what` is CLI11's text, which begins with the option's
  /// name.
  static std::string mismatch_text(std::string_view what, CLI::App& app, const Command& command) {
    const std::string name(what.substr(0, what.find(':')));
    for (const auto& option : command.options) {
      if (option.long_name() != name) continue;
      const bool empty = app.get_option(name)->count() == 0;
      return name + (empty ? " needs a value: " + option.value_name : " is given more than once");
    }
    return std::string(what);
  }

  std::string unexpected_word(const Command& command, const std::string& word) const {
    const bool is_option = word.size() > 1 && word.front() == '-';
    if (!is_option && command.commands.empty())
      return "unexpected argument \"" + excerpt(word) + "\"";
    std::vector<std::string> known;
    if (is_option) {
      for (const auto& option : command.options) {
        if (!option.is_argument) known.push_back(option.long_name());
      }
      known.emplace_back("--help");
    } else {
      for (const auto& sub : command.commands) {
        known.push_back(sub.name);
        for (const auto& below : sub.commands) {
          if (below.name != word) continue;
          return fmt::format("unknown command \"{0}\"; did you mean {1} {0}?", word, sub.name);
        }
      }
    }
    if (&command == commands_.at(&app_)) known.emplace_back(kVersionFlag);
    return fmt::format("unknown {} \"{}\"{}", is_option ? "option" : "command", excerpt(word),
                       did_you_mean(word.substr(0, word.find('=')), known));
  }

  CLI::App app_;
  std::map<const CLI::App*, const Command*> commands_;
  std::deque<std::string> optional_values_;
  bool wants_version_ = false;
};

}  // namespace

std::expected<Invocation, Misuse> parse(const Command& root, int argc, const char* const* argv) {
  return Tree(root).parse(argc, argv);
}

std::string path_text(const std::vector<const Command*>& path) {
  std::string out;
  for (const auto* command : path) out += (out.empty() ? "" : " ") + command->name;
  return out;
}

}  // namespace iwarp::apps::cli
