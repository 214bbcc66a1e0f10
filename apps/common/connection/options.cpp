// SPDX-License-Identifier: Apache-2.0
// Adds the rows of the table of options to a command as options. Converts the settings that these
// options change to the options of a connection.
#include "common/connection/options.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "command_line/help.hpp"
#include "common/base/error.hpp"
#include "common/base/input_file.hpp"
#include "common/connection/tls.hpp"
#include "common/connection/trace.hpp"
#include "iwarp/net/metrics.hpp"

namespace iwarp::apps {

namespace {

using options::Kind;

std::string metrics_fault(const std::string& where) {
  const auto address = net::parse_metrics_address(where);
  return address ? "" : fmt::format("\"{}\": {}", cli::excerpt(where), address.error());
}

/// Checks a word that the table of options accepts but that may still be invalid: this system may
/// not support the congestion control that the word names, and the table does not parse addresses
/// for metrics. Returns an error text, or an empty string if the word is valid.
std::string fault_here(std::string_view variable, const std::string& word) {
  if (variable == "IWARP_CONGESTION") return congestion_fault(word);
  if (variable == "IWARP_METRICS") return metrics_fault(word);
  return "";
}

std::string take(const options::Option& option, const cli::Option::Words& words,
                 CommonOptions& settings) {
  const options::Value& value = option.value;
  const bool is_flag = value.kind == Kind::kFlag;
  if (is_flag && !words.empty() && words.back() != value.title) {
    return fmt::format("accepts only the value \"{}\", not \"{}\"", value.title,
                       cli::excerpt(words.back()));
  }
  std::string word = is_flag ? "on" : words.empty() ? std::string(value.if_omitted) : words.back();
  if (value.is_opened_late) word = rereadable(word);
  if (auto fault = fault_here(option.variable, word); !fault.empty()) return fault;
  if (options::set(option, spelled_out(option, word), settings)) return "";
  return "\"" + cli::excerpt(word) + "\" " + options::refusal(option, word);
}

void add_row(cli::Command& command, const options::Option& option, CommonOptions& settings) {
  const options::Value& value = option.value;
  const bool is_flag = value.kind == Kind::kFlag;
  const bool has_list = value.kind == Kind::kWord;
  const auto now = options::show(option, settings);
  const bool is_nothing = is_flag || (value.kind == Kind::kNumber && now == "0");
  command.add(
      {.names = std::string(option.names),
       .value_name =
           has_list ? fmt::format("{}", fmt::join(value.words, "|")) : std::string(value.title),
       .help = std::string(option.help),
       .default_text = is_nothing ? "" : now,
       .choices = has_list ? cli::Option::Words(value.words.begin(), value.words.end())
                           : cli::Option::Words(),
       .is_value_optional = (is_flag && !value.title.empty()) || !value.if_omitted.empty(),
       .completion = value.kind == Kind::kFile ? cli::Completion::kFile : cli::Completion::kNothing,
       .take = [&option, &settings](const cli::Option::Words& words) {
         return take(option, words, settings);
       }});
}

}  // namespace

void add_options(cli::Command& command, options::Group group, CommonOptions& settings) {
  for (const auto& option : options::all()) {
    if (option.group == group && !option.names.empty()) add_row(command, option, settings);
  }
}

void add_option(cli::Command& command, std::string_view variable, CommonOptions& settings) {
  add_row(command, options::find(variable), settings);
}

void add_common_options(cli::Command& command, CommonOptions& settings) {
  command.begin_group(cli::kConnectionGroup);
  add_options(command, options::Group::kConnection, settings);
}

void add_tls_options(cli::Command& command, CommonOptions& settings) {
  command.begin_group("TLS");
  add_options(command, options::Group::kTls, settings);
}

std::string spelled_out(const options::Option& option, const std::string& word) {
  const auto size = option.value.is_size ? cli::parse_size(word) : std::nullopt;
  return size ? std::to_string(*size) : word;
}

std::string json_name(const options::Option& option) {
  std::string out(option.long_name().substr(2));
  std::ranges::replace(out, '-', '_');
  return out;
}

std::string shown(std::string_view variable, const CommonOptions& settings) {
  return options::show(options::find(variable), settings);
}

verbs::ConnectionOptions connection_options(const CommonOptions& options) {
  const auto& startup = options.connection.startup;
  if (startup.revision == 1 && startup.rtr != mpa::Rtr::kNone) {
    throw UsageError("--rtr " + shown("IWARP_RTR", options) +
                     " needs --mpa-rev 2: revision 1 has no RTR");
  }
  return options.connection;
}

net::ConnectOptions connect_options(const CommonOptions& options) {
  net::ConnectOptions out;
  out.connection = connection_options(options);
  out.congestion = options.congestion;
  out.fall_back_to_revision_1 = options.fall_back_to_revision_1;
  out.tap = make_tap_factory(options.trace);
  out.carrier = connecting_carrier(options.tls);
  return out;
}

std::string congestion_fault(const std::string& name) {
  constexpr auto kList = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto size = static_cast<socklen_t>(name.size());
  const bool taken =
      size != 0 && ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), size) == 0;
  ::close(fd);
  if (taken) return "";
  return fmt::format("\"{}\" is not an allowed TCP congestion control algorithm (see {})",
                     cli::excerpt(name), kList);
}

net::Address address_argument(const std::string& text, std::uint16_t default_port) {
  auto address = net::parse_address(text, default_port);
  if (!address)
    throw UsageError("invalid address \"" + text + "\": use HOST, HOST:PORT or [V6]:PORT");
  return *address;
}

}  // namespace iwarp::apps
