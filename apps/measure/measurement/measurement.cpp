// SPDX-License-Identifier: Apache-2.0
// Runs a measurement. The client sends the plan, receives the port of the data connections,
// connects, exchanges adverts, runs the phases, and receives the server's usage. The server does
// the counterpart of each step.
#include "measure/measurement/measurement.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "command_line/stop.hpp"
#include "common/base/error.hpp"
#include "iwarp/crc32c/crc32c.hpp"
#include "measure/basics/control.hpp"

namespace iwarp::apps::measure {

namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kConnectPatience{10};

/// Raises the limit of descriptors if the connections of the plan need that. Throws UsageError if
/// the limit cannot be raised so far.
void allow_descriptors(const Plan& plan) {
  constexpr std::uint64_t kOthers = 64;  // descriptors that are not those of connections
  const auto wanted = plan.qps + kOthers;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  if (limit.rlim_max < wanted) {
    throw UsageError(fmt::format(
        "--qps {}: this process may open only {} file descriptors, and needs {} (see ulimit -Hn)",
        plan.qps, limit.rlim_max, wanted));
  }
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

/// Prepares the process: raises the limit of descriptors and, for a counted stream, selects the CRC
/// kernel, and pins the process to a processor.
void set_up_process(const Plan& plan, bool sender) {
  allow_descriptors(plan);
  if (!plan.is_counted()) return;
  for (const auto& kernel : crc32c::kernels()) {
    if (plan.counted.crc_kernel == kernel.name) crc32c::use(kernel);
  }
  if (plan.counted.cpus == "any") return;
  const auto cpus = allowed_cpus();
  run_on(sender || plan.counted.cpus == "same" ? cpus.front() : cpus.back());
}

/// Returns the warm-up, which is a tenth of the messages of a counted stream.
Phase warm_up(const Plan& plan) {
  return {plan.warm_up, std::max<std::uint64_t>(plan.counted.messages / 10, 4)};
}
Phase main_phase(const Plan& plan) { return {plan.duration, plan.counted.messages}; }
bool warms_up(const Plan& plan) { return plan.is_counted() || plan.warm_up.count() > 0; }

// Runs the warm-up and the measured phase. The warm-up does not count; it fills caches and opens
// congestion windows.
Measurement run_phases(const Plan& plan, ClientRole& client, Control& control,
                       MeasureOptions& options, const std::string& congestion) {
  Intervals none;
  if (warms_up(plan)) client.run(warm_up(plan), none);
  if (options.signal_finishes) finish_on_next_stop();
  Measurement out{.plan = plan,
                  .outcome = client.run(main_phase(plan), options.intervals),
                  .client = {},
                  .server = {},
                  .congestion = congestion};
  out.client = out.outcome.used;
  if (!out.outcome.confirmed) return out;
  const auto answer = control.receive();
  try {
    out.server = usage::observed_from_json(answer.at("usage"));
  } catch (const Json::exception& error) {
    throw Error(std::string("cannot parse the server's report: ") + error.what());
  }
  return out;
}

net::Address data_address(const net::Address& server, const Json& answer) {
  const auto port = answer.find("port");
  if (port == answer.end() || !port->is_number_unsigned() || port->get<std::uint64_t>() > 65535) {
    throw Error("the peer does not speak the protocol of iwarp perf");
  }
  return {.host = server.host, .port = port->get<std::uint16_t>()};
}

std::unique_ptr<ClientRole> rdma_client(const Plan& plan, Endpoint& endpoint) {
  return plan.is_latency() ? make_latency_client(plan, endpoint)
                           : make_stream_client(plan, endpoint);
}

Measurement measure_over(Control& control, const Plan& plan, const net::Address& server,
                         MeasureOptions& options) {
  control.send(to_json(plan));
  if (plan.is_tcp()) {
    const auto to = data_address(server, control.receive());
    const auto deadline = Clock::now() + kConnectPatience;
    std::vector<Socket> sockets;
    while (sockets.size() < plan.qps) {
      sockets.push_back(Socket::connect(to, deadline, plan.connection.congestion));
    }
    const auto congestion = sockets.front().congestion();
    const auto client = make_tcp_client(plan, std::move(sockets));
    return run_phases(plan, *client, control, options, congestion);
  }
  Endpoint endpoint(plan, Endpoint::Side::kClient);
  endpoint.connect(data_address(server, control.receive()), control);
  const auto client = rdma_client(plan, endpoint);
  const auto out = run_phases(plan, *client, control, options, endpoint.congestion());
  if (out.outcome.confirmed) endpoint.disconnect();
  return out;
}

Observed serve_phases(const Plan& plan, ServerRole& server) {
  if (warms_up(plan)) server.serve(warm_up(plan));
  return server.serve(main_phase(plan));
}

void report_usage(Control& control, const Observed& used) {
  control.send({{"usage", usage::to_json(used)}});
  try {
    // Wait until the client disconnects. It does so once it has read the usage, without sending
    // another object.
    control.receive();
  } catch (const PeerGone&) {  // NOLINT(bugprone-empty-catch): the expected end
  }
}

void serve_tcp(const Plan& plan, const ServeOptions& options, Control& control) {
  std::vector<Socket> sockets;
  {
    Listener listener({.host = options.host, .port = 0}, plan.connection.congestion);
    control.send({{"port", listener.port()}});
    const auto deadline = Clock::now() + kConnectPatience;
    while (sockets.size() < plan.qps) {
      auto socket = listener.accept(deadline);
      if (!socket) throw Error("no data connection arrived in time");
      sockets.push_back(std::move(*socket));
    }
  }
  const auto server = make_tcp_server(plan, std::move(sockets));
  report_usage(control, serve_phases(plan, *server));
}

void serve_rdma(const Plan& plan, const ServeOptions& options, Control& control) {
  Endpoint endpoint(plan, Endpoint::Side::kServer);
  endpoint.accept(options.host, control);
  const auto server = make_rdma_server(plan, endpoint);
  report_usage(control, serve_phases(plan, *server));
}

void serve_plan(const ServeOptions& options, Control& control) {
  auto plan = plan_from_json(control.receive());
  if (plan.connection.tls.wanted() != options.tls.wanted()) {
    throw Error(options.tls.wanted()
                    ? "this server requires TLS (use --tls)"
                    : "this server was started without --tls, but the client uses it (start the "
                      "server with --tls, or the client without it)");
  }
  plan.connection.tls = options.tls;
  if (options.only != nullptr && options.only != plan.test) {
    throw Error(fmt::format("this server allows only the test {}, not {}", options.only->name,
                            plan.test->name));
  }
  if (plan.is_counted() && !options.own_process) {
    throw Error(
        "this server does not accept a fixed number of messages, because it serves other clients "
        "as well");
  }
  set_up_process(plan, false);
  if (plan.is_tcp()) {
    serve_tcp(plan, options, control);
  } else {
    serve_rdma(plan, options, control);
  }
}

void tell(Control& control, std::string_view what) {
  try {
    control.send({{"error", what}});
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the peer is gone
  }
}

}  // namespace

std::vector<unsigned> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<unsigned> out;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) out.push_back(cpu);
  }
  return out;
}

void run_on(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  // Ignore a failure: some containers do not permit setting the affinity. The scheduler then
  // selects the processor, although the record contains the requested one.
  sched_setaffinity(0, sizeof set, &set);
}

double Measurement::octets() const {
  return static_cast<double>(outcome.messages) * static_cast<double>(plan.size);
}

Measurement take_measurement(const Plan& plan, const net::Address& server, MeasureOptions options) {
  set_up_process(plan, true);
  Control control(Socket::connect(server, Clock::now() + kConnectPatience));
  try {
    return measure_over(control, plan, server, options);
  } catch (const PeerGone& gone) {
    throw Error(control.complaint(gone.what()));
  }
}

void serve_client(Control control, const ServeOptions& options) {
  try {
    serve_plan(options, control);
  } catch (const Interrupted&) {
    tell(control, "this server was interrupted");
    throw;
  } catch (const Error& error) {
    tell(control, error.what());
    throw;
  }
}

}  // namespace iwarp::apps::measure
