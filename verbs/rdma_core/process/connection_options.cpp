// SPDX-License-Identifier: Apache-2.0
// Makes the options of connections and listeners from the settings of the process. Also opens the
// file that IWARP_TRACE names: the first connection or datagram queue pair opens it, and all later
// ones write to the same file.
#include "process/connection_options.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "iwarp/trace/trace_file.hpp"
#include "process/core.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {
namespace {

constexpr std::chrono::milliseconds kRetryRefusedFor{250};

trace::Endpoint endpoint(const net::Address& address) { return {address.host, address.port}; }

const trace::TraceFile* open_trace() {
  if (settings().trace.empty()) return nullptr;
  const trace::CaptureClock clock{std::chrono::system_clock::now(), mpa::Clock::now()};
  auto created = trace::TraceFile::create(settings().trace, clock, mpa::Clock::now);
  if (!created) {
    std::fputs(("iwarp: tracing is off: " + created.error() + "\n").c_str(), stderr);
    return nullptr;
  }
  // The object is never destroyed, because the Core, which is never destroyed, uses it.
  static const auto* const kFile = new trace::TraceFile(*created);
  std::atexit([] {
    if (const auto error = kFile->error(); !error.empty()) {
      std::fputs(("iwarp: the trace is cut short: " + error + "\n").c_str(), stderr);
    }
  });
  return kFile;
}

/// Returns the open file of IWARP_TRACE, or null if there is no trace.
const trace::TraceFile* trace_file() {
  static const trace::TraceFile* const kOpened = open_trace();
  return kOpened;
}

net::TapFactory tap() {
  const auto* const file = trace_file();
  if (file == nullptr) return {};
  return [file](const net::Address& local, const net::Address& peer, bool outgoing) {
    return file->tap({endpoint(local), endpoint(peer), outgoing});
  };
}

/// Lets the hooks change the options.
template <typename Options>
void configure(Options& options) {
  Hooks* const hooks = Core::get().hooks();
  if (hooks != nullptr) hooks->configuring(options.connection, options.carrier);
}

}  // namespace

// [RCM-138, RCM-139]
net::ConnectOptions connect_options() {
  net::ConnectOptions out;
  out.connection = settings().connection;
  out.fall_back_to_revision_1 = settings().fall_back_to_revision_1;
  out.congestion = settings().congestion;
  out.retry_refused_for = kRetryRefusedFor;
  out.tap = tap();
  out.carrier = Core::get().carriers().connecting();
  configure(out);
  return out;
}

net::ListenOptions listen_options() {
  net::ListenOptions out;
  out.connection = settings().connection;
  out.congestion = settings().congestion;
  out.tap = tap();
  out.carrier = Core::get().carriers().listening();
  out.setup_failed = log_refused_peers();
  configure(out);
  return out;
}

std::shared_ptr<verbs::DatagramTap> datagram_tap() {
  const auto* const file = trace_file();
  return file != nullptr ? file->datagram_tap() : nullptr;
}

net::PortRange port_range() {
  const auto& ports = settings().ports;
  return ports ? net::PortRange{.first = ports->first, .last = ports->second} : net::PortRange{};
}

}  // namespace iwarp::rdma_core
