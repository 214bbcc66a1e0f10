// SPDX-License-Identifier: Apache-2.0
// Limits the time of child processes, and passes a child's result to the parent.
#include "measure/measurement/processes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "measure/basics/control.hpp"
#include "usage/json_number.hpp"

namespace iwarp::apps::measure {

namespace {

using Json = nlohmann::json;

constexpr unsigned kLongest = 120;  // maximum lifetime of a child, in seconds
constexpr const char* kLoopback = "127.0.0.1";

// Serves the client, which is in the parent process. Prints no errors, because the client reports
// them.
int serve_parent(Listener& listener, const options::TlsSettings& tls) {
  try {
    // Ctrl-C sends SIGINT to this process too. Ignore it, because the parent handles it and then
    // kills this process.
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    if (auto socket = listener.accept(Clock::now() + kTimeout)) {
      serve_client(Control(std::move(*socket)),
                   {.host = kLoopback, .own_process = true, .tls = tls});
    }
    return 0;
  } catch (const std::exception&) {
    return kExitFailure;
  }
}

Json result_json(const Plan& plan, const net::Address& server) {
  const auto result = take_measurement(plan, server);
  if (!result.confirmed) throw Interrupted();
  return {{"messages", result.messages},
          {"seconds", result.seconds},
          {"client", usage::to_json(result.used)},
          {"server", usage::to_json(result.server)}};
}

/// Makes the kernel kill this process after `seconds`; 0 means no limit.
void limit_time(unsigned seconds) {
  signal(SIGALRM, SIG_DFL);
  alarm(seconds);
}

}  // namespace

ServerProcess::ServerProcess(unsigned seconds, const options::TlsSettings& tls) {
  Listener listener({.host = kLoopback});
  address_ = {.host = kLoopback, .port = listener.port()};
  process_.emplace([&] {
    limit_time(seconds);
    return serve_parent(listener, tls);
  });
}

Json json_apart(const std::function<Json()>& work, unsigned seconds) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error("cannot create a pipe: " + errno_text());
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> in(fdopen(ends[0], "r"), &std::fclose);
  net::UniqueFd out(ends[1]);
  const Child child([&] {
    limit_time(seconds);
    Json result;
    try {
      result = work();
    } catch (const std::exception& error) {
      result = {{"error", error.what()}};
    }
    dprintf(out.get(), "%s", result.dump().c_str());
    return 0;
  });
  out.reset();
  auto json = Json::parse(in.get(), nullptr, false);
  if (!json.is_object()) throw Error("a measurement process ended early");
  if (json.contains("error")) throw Error(json["error"].get<std::string>());
  return json;
}

Measurement measure_apart(const Plan& plan) {
  const ServerProcess server(kLongest);
  const auto json = json_apart([&] { return result_json(plan, server.address()); }, kLongest);
  Measurement out;
  out.plan = plan;
  usage::read_number(json, "messages", out.messages);
  usage::read_number(json, "seconds", out.seconds);
  out.used = usage::observed_from_json(json.at("client"));
  out.server = usage::observed_from_json(json.at("server"));
  return out;
}

}  // namespace iwarp::apps::measure
