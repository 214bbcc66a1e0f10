// SPDX-License-Identifier: Apache-2.0
// The capture file of IWARP_TRACE is opened with the first connection and shared by all.
#include "connection_options.hpp"

#include <unistd.h>

#include <cstdio>
#include <memory>

#include "iwarp/trace/capture_file.hpp"
#include "iwarp/trace/capture_tap.hpp"
#include "settings.hpp"

namespace iwarp::rdma_core {
namespace {

constexpr std::chrono::milliseconds kRetryRefusedFor{250};

trace::Endpoint endpoint(const net::Address& address) { return {address.host, address.port}; }

net::TapFactory open_trace() {
  if (settings().trace.empty()) return {};
  const trace::CaptureClock clock{std::chrono::system_clock::now(), mpa::Clock::now()};
  auto capture = trace::CaptureFile::create(settings().trace, clock);
  if (!capture) {
    std::fputs(("iwarp: no trace: " + capture.error() + "\n").c_str(), stderr);
    return {};
  }
  return [file = *capture](const net::Address& local, const net::Address& peer, bool outgoing) {
    return std::make_unique<trace::CaptureTap>(
        file, trace::CaptureEnds{endpoint(local), endpoint(peer), outgoing});
  };
}

const net::TapFactory& tap() {
  // Never destroyed: connections end when the process does.
  static const auto* const kTap = new net::TapFactory(open_trace());
  return *kTap;
}

}  // namespace

net::ConnectOptions connect_options() {
  net::ConnectOptions out;
  out.connection = settings().connection;
  out.fall_back_to_revision_1 = settings().fall_back_to_revision_1;
  out.congestion = settings().congestion;
  out.retry_refused_for = kRetryRefusedFor;
  out.tap = tap();
  return out;
}

net::ListenOptions listen_options() {
  net::ListenOptions out;
  out.connection = settings().connection;
  out.congestion = settings().congestion;
  out.tap = tap();
  return out;
}

net::PortRange port_range() {
  const auto& ports = settings().ports;
  return ports ? net::PortRange{.first = ports->first, .last = ports->second} : net::PortRange{};
}

}  // namespace iwarp::rdma_core
