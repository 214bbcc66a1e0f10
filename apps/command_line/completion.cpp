// SPDX-License-Identifier: Apache-2.0
// Generates the three completion scripts, which all work in the same way. A script follows the
// words before the cursor to find the command. If the word before the cursor is an option with a
// list of values, the script offers these values. Otherwise it offers the options of that command,
// and its subcommands or the known values of its arguments.
#include "command_line/completion.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace iwarp::apps::cli {

namespace {

/// A command, and the path of words that selects it.
struct Place {
  std::string path;  ///< for example "iwarp cost predict"
  const Command* command;
};

std::vector<Place> places(const Command& root) {
  std::vector<Place> out{{root.name, &root}};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto place = out[i];
    for (const auto& sub : place.command->commands) {
      out.push_back({place.path + " " + sub.name, &sub});
    }
  }
  return out;
}

/// Makes `text` safe inside single quotes by removing quotes and backslashes: bash and zsh have no
/// escapes inside single quotes.
std::string plain(std::string text) {
  std::erase_if(text, [](char c) { return c == '\'' || c == '\\'; });
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string first_sentence(const Option& option) {
  const auto text = plain(option.help);
  return text.substr(0, text.find_first_of(".;:"));
}

std::vector<std::string> spellings(const Option& option) {
  const auto comma = option.names.find(',');
  if (comma == std::string::npos) return {option.names};
  return {option.names.substr(0, comma), option.names.substr(comma + 1)};
}

/// Returns the paths of all subcommands as a shell pattern: "'iwarp get'|'iwarp put'".
std::string steps(const std::vector<Place>& all) {
  std::string out;
  for (const auto& place : all) {
    if (place.path.find(' ') == std::string::npos) continue;
    out += (out.empty() ? "" : "|") + fmt::format("'{}'", place.path);
  }
  return out;
}

/// Returns the branches of a case statement, one for each option with a list of values. `offer`
/// formats the values.
template <typename Offer>
std::string value_cases(const std::vector<Place>& all, Offer offer) {
  std::string out;
  for (const auto& [path, command] : all) {
    for (const auto& option : command->options) {
      const auto action = option.is_argument || option.is_flag() ? "" : offer(option);
      if (action.empty()) continue;
      std::string patterns;
      for (const auto& name : spellings(option)) {
        patterns += (patterns.empty() ? "" : "|") + fmt::format("'{}:{}'", path, name);
      }
      out += fmt::format("    {}) {}; return ;;\n", patterns, action);
    }
  }
  return out;
}

/// Returns the known values of an option, or an empty text if there are none.
std::string words_of(const Option& option) {
  const auto& words = option.suggestions.empty() ? option.choices : option.suggestions;
  return fmt::format("{}", fmt::join(words, " "));
}

/// Returns the known values of the command's arguments.
std::string arguments_of(const Command& command) {
  std::string out;
  for (const auto& option : command.options) {
    const auto words = option.is_argument ? words_of(option) : "";
    if (!words.empty()) out += words + " ";
  }
  return out;
}

std::string bash_script(const std::vector<Place>& all) {
  const auto offer = [](const Option& option) -> std::string {
    if (const auto words = words_of(option); !words.empty()) {
      return fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$word\"))", words);
    }
    if (option.completion == Completion::kFile) return "COMPREPLY=($(compgen -f -- \"$word\"))";
    if (option.completion == Completion::kDirectory)
      return "COMPREPLY=($(compgen -d -- \"$word\"))";
    return "";
  };
  std::string words;
  for (const auto& [path, command] : all) {
    std::string names = arguments_of(*command);
    for (const auto& sub : command->commands) names += sub.name + " ";
    std::string offered;
    for (const auto& option : command->options) {
      if (!option.is_argument) offered += option.long_name() + " ";
    }
    words += fmt::format("    '{}') names='{}' words='{}--help' ;;\n", path, names, offered);
  }
  return fmt::format(R"(# bash completion for iwarp: source this, or put it into
# /usr/share/bash-completion/completions/iwarp
_iwarp() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} at=iwarp names words i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$at ${{COMP_WORDS[i]}}" in
      {}) at="$at ${{COMP_WORDS[i]}}" ;;
    esac
  done
  COMPREPLY=()
  case "$at:$before" in
{}  esac
  case "$at" in
{}  esac
  if [[ $at == 'iwarp run' && $word != -* ]]; then
    COMPREPLY=($(compgen -c -- "$word"))
  elif [[ $word != -* && -n $names ]]; then
    COMPREPLY=($(compgen -W "$names" -- "$word"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  fi
}}
complete -o default -F _iwarp iwarp
)",
                     steps(all), value_cases(all, offer), words);
}

std::string zsh_script(const std::vector<Place>& all) {
  const auto offer = [](const Option& option) -> std::string {
    if (const auto words = words_of(option); !words.empty()) return "compadd " + words;
    if (option.completion == Completion::kFile) return "_files";
    if (option.completion == Completion::kDirectory) return "_files -/";
    return "";
  };
  std::string words;
  for (const auto& [path, command] : all) {
    words += fmt::format("    '{}')\n", path);
    for (const auto& sub : command->commands) {
      words += fmt::format("      offered+=('{}:{}')\n", sub.name, plain(sub.summary));
    }
    if (const auto names = arguments_of(*command); !names.empty()) {
      words += fmt::format("      names=({})\n", names);
    }
    for (const auto& option : command->options) {
      if (option.is_argument) continue;
      words +=
          fmt::format("      offered+=('{}:{}')\n", option.long_name(), first_sentence(option));
    }
    words += "      ;;\n";
  }
  return fmt::format(R"(#compdef iwarp
# zsh completion for iwarp: put it into a folder of $fpath as _iwarp
_iwarp() {{
  local at=iwarp word
  for word in ${{words[2,CURRENT-1]}}; do
    case "$at $word" in
      {}) at="$at $word" ;;
    esac
  done
  case "$at:${{words[CURRENT-1]}}" in
{}  esac
  local -a offered names
  offered=('--help:Show the help of this command')
  case "$at" in
{}  esac
  if [[ $at == 'iwarp run' && $PREFIX != -* ]]; then
    _command_names
  elif [[ $PREFIX == -* || $at == iwarp || $at == 'iwarp cost' ]]; then
    _describe 'iwarp' offered
  elif (( $#names )); then
    compadd -- $names
  else
    _files
  fi
}}
if [[ $funcstack[1] == _iwarp ]]; then _iwarp; else compdef _iwarp iwarp; fi
)",
                     steps(all), value_cases(all, offer), words);
}

std::string fish_option(const std::string& condition, const Option& option) {
  auto out = "complete -c iwarp -n '" + condition + "'";
  for (const auto& name : spellings(option)) {
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  const bool has_files = option.completion != Completion::kNothing;
  if (!option.is_flag() && !option.is_value_optional) out += has_files ? " -r -F" : " -x";
  if (const auto words = words_of(option); !words.empty()) out += fmt::format(" -a '{}'", words);
  return out + fmt::format(" -d '{}'\n", first_sentence(option));
}

std::string fish_script(const std::vector<Place>& all) {
  std::string out =
      fmt::format(R"(# fish completion for iwarp: put it into ~/.config/fish/completions/iwarp.fish
function __iwarp_at
    set -l at iwarp
    for word in (commandline -opc)[2..-1]
        if contains -- "$at $word" {}
            set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end
)",
                  [&] {
                    auto list = steps(all);
                    std::ranges::replace(list, '|', ' ');
                    return list;
                  }());
  for (const auto& [path, command] : all) {
    const auto condition = fmt::format("__iwarp_at \"{}\"", path);
    for (const auto& sub : command->commands) {
      out += fmt::format("complete -c iwarp -f -n '{}' -a {} -d '{}'\n", condition, sub.name,
                         plain(sub.summary));
    }
    if (const auto names = arguments_of(*command); !names.empty()) {
      out += fmt::format("complete -c iwarp -f -n '{}' -a '{}'\n", condition, names);
    }
    for (const auto& option : command->options) {
      if (!option.is_argument) out += fish_option(condition, option);
    }
  }
  return out + "complete -c iwarp -l help -s h -d 'Show the help of this command'\n";
}

}  // namespace

std::string completion_script(const Command& root, const std::string& shell) {
  const auto all = places(root);
  if (shell == "zsh") return zsh_script(all);
  if (shell == "fish") return fish_script(all);
  return bash_script(all);
}

}  // namespace iwarp::apps::cli
