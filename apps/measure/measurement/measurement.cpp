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
#include <span>

#include "command_line/stop.hpp"
#include "common/base/error.hpp"
#include "iwarp/crc32c/crc32c.hpp"
#include "measure/basics/control.hpp"

namespace iwarp::apps::measure {

namespace {

using Json = nlohmann::json;

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

// The warm-up does not count; it fills caches and opens congestion windows.
Measurement measure_over(Control& control, const Plan& plan, const net::Address& server,
                         Intervals* shown) {
  control.send(to_json(plan));
  const auto client = plan.is_tcp() ? make_tcp_client(plan, server.host, control)
                                    : make_rdma_client(plan, server.host, control);
  Intervals none;
  if (warms_up(plan)) client->run(warm_up(plan), none);
  if (shown != nullptr) finish_on_next_stop();
  auto& intervals = shown != nullptr ? *shown : none;
  Measurement out{client->run(main_phase(plan), intervals), plan, {}, client->congestion()};
  if (!out.confirmed) return out;
  const auto answer = control.receive();
  try {
    out.server = usage::observed_from_json(answer.at("usage"));
  } catch (const Json::exception& error) {
    throw Error(std::string("cannot parse the server's report: ") + error.what());
  }
  client->disconnect();
  return out;
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

void serve_plan(const ServeOptions& options, Control& control) {
  auto plan = plan_from_json(control.receive());
  if (plan.connection.tls.wanted() != options.tls.wanted()) {
    throw Error(options.tls.wanted()
                    ? "this server requires TLS (use --tls)"
                    : "the client uses TLS, but this server was started without --tls (start both "
                      "with --tls, or both without it)");
  }
  plan.connection.tls = options.tls;
  if (options.only != nullptr && options.only != plan.test) {
    throw Error(fmt::format("this server allows only the test {}, not {}", options.only->name,
                            plan.test->name));
  }
  if (plan.is_counted() && !options.own_process) {
    throw Error(
        "a run with a fixed number of messages needs a server process of its own, because the "
        "server's counters include those of its other clients");
  }
  set_up_process(plan, false);
  const auto server = plan.is_tcp() ? make_tcp_server(plan, options.host, control)
                                    : make_rdma_server(plan, options.host, control);
  if (warms_up(plan)) server->serve(warm_up(plan));
  report_usage(control, server->serve(main_phase(plan)));
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

Outcome ClientRole::run(const Phase& phase, Intervals& intervals) {
  outcome_ = {};
  intervals_ = &intervals;
  counts_.assign(plan_.qps, 0);
  begin();
  const auto used_before = observed();
  const auto start = Clock::now();
  intervals.begin(start, phase.duration);
  try {
    move(phase, start);
  } catch (const Interrupted&) {
    outcome_.confirmed = false;
  }
  const auto end = Clock::now();
  outcome_.seconds = std::chrono::duration<double>(end - start).count();
  outcome_.used = usage::difference(observed(), used_before);
  outcome_.messages = messages();
  const auto carriers = std::span(counts_).first(plan_.carriers());
  const auto mean = static_cast<double>(outcome_.messages) / static_cast<double>(carriers.size());
  outcome_.slowest_share = mean > 0 ? static_cast<double>(std::ranges::min(carriers)) / mean : 0;
  intervals.end(end, outcome_.messages, outcome_.latency);
  return outcome_;
}

Measurement take_measurement(const Plan& plan, const net::Address& server, Intervals* shown) {
  set_up_process(plan, true);
  Control control(Socket::connect(server, Clock::now() + kConnectPatience));
  try {
    return measure_over(control, plan, server, shown);
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
