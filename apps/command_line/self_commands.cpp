// SPDX-License-Identifier: Apache-2.0
// Implements the commands `iwarp help` and `iwarp completion`.
#include "command_line/self_commands.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "command_line/completion.hpp"
#include "command_line/help.hpp"
#include "command_line/manual.hpp"
#include "command_line/suggest.hpp"

namespace iwarp::apps::cli {

namespace {

constexpr std::string_view kConnectionTopic = "connection";

struct HelpOptions {
  std::vector<std::string> words;
  std::string manual;
};

/// Searches `command` and its subcommands for one with options in `group`. Returns null if there is
/// none.
const Command* with_group(const Command& command, const std::string& group) {
  for (const auto& option : command.options) {
    if (option.group == group) return &command;
  }
  for (const auto& sub : command.commands) {
    if (const auto* found = with_group(sub, group)) return found;
  }
  return nullptr;
}

/// Returns what `iwarp help` explains: the names of the commands, and the topics.
std::vector<std::string> known_words(const Command& command, bool is_root) {
  std::vector<std::string> out;
  out.reserve(command.commands.size() + 1);
  for (const auto& sub : command.commands) out.push_back(sub.name);
  if (is_root) out.emplace_back(kConnectionTopic);
  return out;
}

bool is_topic(const std::vector<std::string>& words) {
  return words.size() == 1 && words.front() == kConnectionTopic;
}

/// Returns the command that `words` select, after its parents. Stops at the first unknown word.
std::vector<const Command*> path_of(const Command& root, const std::vector<std::string>& words) {
  std::vector<const Command*> path{&root};
  for (const auto& word : words) {
    const auto& subs = path.back()->commands;
    const auto found = std::ranges::find(subs, word, &Command::name);
    if (found == subs.end()) break;
    path.push_back(&*found);
  }
  return path;
}

/// Returns an error text if the words are neither a command nor a topic.
std::string unknown_in(const Command& root, const std::vector<std::string>& words) {
  const auto path = path_of(root, words);
  if (is_topic(words) || path.size() == words.size() + 1) return "";
  const auto& word = words[path.size() - 1];
  return "unknown command \"" + excerpt(word) + "\"" +
         did_you_mean(word, known_words(*path.back(), path.size() == 1));
}

void write_manual(const Command& root, const std::string& version, const std::string& directory) {
  for (const auto& page : manual_pages(root, version)) {
    const auto path = directory + "/" + page.file;
    std::ofstream out(path, std::ios::binary);
    out << page.text;
    out.close();
    if (!out) throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
  }
}

int run_help(const Command& root, const std::string& version, const HelpOptions& options) {
  if (!options.manual.empty()) {
    write_manual(root, version, options.manual);
    return 0;
  }
  const auto* explained = is_topic(options.words) ? with_group(root, kConnectionGroup) : nullptr;
  const auto text = explained != nullptr ? group_text(*explained, kConnectionGroup)
                                         : help_text(path_of(root, options.words));
  std::fputs(text.c_str(), stdout);
  return 0;
}

Command help_command(const Command& root, const std::string& version) {
  auto options = std::make_shared<HelpOptions>();
  Command command("help", "Explain a command, or the options that configure a connection");
  auto& words = command
                    .arguments("COMMAND", options->words,
                               "Command to explain, or \"connection\" for the connection options; "
                               "if omitted, all commands are listed")
                    .suggests(known_words(root, true));
  words.take = [&root, store = words.take](const Option::Words& given) {
    auto fault = unknown_in(root, given);
    return fault.empty() ? store(given) : fault;
  };
  command
      .text("--manual", "DIR", options->manual,
            "Write a man page for each command into this directory instead of printing help")
      .completes(Completion::kDirectory);
  command.shown = {"iwarp help get", "iwarp help connection"};
  command.run = [&root, version, options](const Given&) {
    return run_help(root, version, *options);
  };
  return command;
}

Command completion_command(const Command& root) {
  auto shell = std::make_shared<std::string>();
  Command command("completion", "Print a completion script for a shell");
  command.argument("SHELL", *shell, "bash, zsh or fish")
      .required()
      .suggests({"bash", "zsh", "fish"})
      .check([](const std::string& word) -> std::string {
        const bool known = word == "bash" || word == "zsh" || word == "fish";
        return known ? "" : "\"" + excerpt(word) + "\" is not bash, zsh or fish";
      });
  command.shown = {"source <(iwarp completion bash)",
                   "iwarp completion fish > ~/.config/fish/completions/iwarp.fish"};
  command.run = [&root, shell](const Given&) {
    std::fputs(completion_script(root, *shell).c_str(), stdout);
    return 0;
  };
  return command;
}

}  // namespace

void add_self_commands(Command& root, const std::string& version) {
  root.commands.push_back(help_command(root, version));
  root.commands.push_back(completion_command(root));
}

}  // namespace iwarp::apps::cli
