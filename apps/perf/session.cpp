// SPDX-License-Identifier: Apache-2.0
// Client: plan ->, <- port, data connections, adverts <->, phases, <- usage. Server: the other way.
#include "perf/session.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "common/error.hpp"
#include "cost/measure.hpp"
#include "perf/control.hpp"
#include "perf/roles.hpp"

namespace iwarp::apps::perf {

namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kConnectPatience{10};

// The warm-up does not count, but for what it leaves behind in caches and windows.
Report run_phases(const Plan& plan, ClientRole& client, Control& control) {
  if (plan.warm_up.count() > 0) client.run(plan.warm_up);
  const auto observed_before = cost::used_so_far();
  const auto before = client.usage();
  Report report{.plan = plan, .outcome = client.run(plan.duration)};
  report.client = client.usage() - before;
  report.observed = cost::difference(cost::used_so_far(), observed_before);
  report.observed.counters = report.client.counters;
  const auto answer = control.receive();
  if (!answer.contains("usage")) throw Error("the server's report is not understood");
  report.server = usage_from_json(answer["usage"]);
  return report;
}

net::Address data_address(const net::Address& server, const Json& answer) {
  const auto port = answer.find("port");
  if (port == answer.end() || !port->is_number_unsigned() || port->get<std::uint64_t>() > 65535) {
    throw Error("the peer does not speak as iwarp perf does");
  }
  return {.host = server.host, .port = port->get<std::uint16_t>()};
}

Report measure_at(const Plan& plan, const net::Address& server, Control& control) {
  control.send(to_json(plan));
  if (plan.is_tcp()) {
    const auto to = data_address(server, control.receive());
    auto link = conform::Link::connect(to, Clock::now() + kConnectPatience,
                                       {.congestion = plan.connection.congestion});
    const auto client = make_tcp_client(plan, std::move(link));
    return run_phases(plan, *client, control);
  }
  Endpoint endpoint(plan, Endpoint::Side::kClient);
  endpoint.connect(data_address(server, control.receive()), control);
  const auto client =
      plan.is_latency() ? make_latency_client(plan, endpoint) : make_stream_client(plan, endpoint);
  auto report = run_phases(plan, *client, control);
  endpoint.disconnect();
  return report;
}

Usage serve_phases(const Plan& plan, ServerRole& server) {
  if (plan.warm_up.count() > 0) server.serve();
  return server.serve();
}

void report_usage(Control& control, const Usage& usage) {
  control.send({{"usage", to_json(usage)}});
  try {
    control.receive();         // nothing: the client goes when it has read this
  } catch (const PeerGone&) {  // NOLINT(bugprone-empty-catch): that is what was waited for
  }
}

void serve_tcp(const Plan& plan, const ServeOptions& options, Control& control) {
  conform::Acceptor acceptor({.host = options.host, .port = 0});
  acceptor.prepare({.congestion = plan.connection.congestion});
  control.send({{"port", acceptor.port()}});
  auto link = acceptor.accept(Clock::now() + kConnectPatience);
  if (!link) throw Error("the data connection did not come in time");
  const auto server = make_tcp_server(plan, std::move(link));
  report_usage(control, serve_phases(plan, *server));
}

void serve_rdma(const Plan& plan, const ServeOptions& options, Control& control) {
  Endpoint endpoint(plan, Endpoint::Side::kServer);
  endpoint.accept(options.host, control);
  const auto server = make_rdma_server(plan, endpoint);
  report_usage(control, serve_phases(plan, *server));
}

void serve_plan(const ServeOptions& options, Control& control) {
  const auto plan = plan_from_json(control.receive());
  if (options.only != nullptr && options.only != plan.test) {
    throw Error(
        fmt::format("this server serves {} only, not {}", options.only->name, plan.test->name));
  }
  if (plan.is_tcp()) {
    serve_tcp(plan, options, control);
  } else {
    serve_rdma(plan, options, control);
  }
}

}  // namespace

Report measure(const Plan& plan, const net::Address& server) {
  Control control(conform::Link::connect(server, Clock::now() + kConnectPatience));
  try {
    return measure_at(plan, server, control);
  } catch (const PeerGone& gone) {
    throw Error(control.complaint(gone.what()));
  }
}

void serve_client(conform::Link link, const ServeOptions& options) {
  Control control(std::move(link));
  try {
    serve_plan(options, control);
  } catch (const Error& error) {
    try {
      control.send({{"error", error.what()}});
    } catch (const PeerGone&) {  // NOLINT(bugprone-empty-catch): then nobody is to be told
    }
    throw;
  }
}

}  // namespace iwarp::apps::perf
