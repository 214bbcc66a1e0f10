// SPDX-License-Identifier: Apache-2.0
// The table of counter names. It must contain every counter.
#include "iwarp/verbs/counter_names.hpp"

#include <array>

namespace iwarp::verbs {
namespace {

constexpr std::array kCounters{
    CounterName{"octets_placed", &Counters::octets_placed,
                "Octets of inbound payload placed in registered memory"},
    CounterName{"octets_copied", &Counters::octets_copied,
                "Octets copied by the CPU in user space"},
    CounterName{"octets_crced", &Counters::octets_crced, "Octets over which a CRC32c was computed"},
    CounterName{"octets_sent", &Counters::octets_sent,
                "Octets of TCP payload sent, excluding the MPA startup"},
    CounterName{"octets_received", &Counters::octets_received,
                "Octets of TCP payload received, excluding the MPA startup"},
    CounterName{"fpdus_sent", &Counters::fpdus_sent, "FPDUs sent (one DDP segment each)"},
    CounterName{"fpdus_received", &Counters::fpdus_received,
                "FPDUs received (one DDP segment each)"},
    CounterName{"markers_sent", &Counters::markers_sent, "MPA markers sent"},
    CounterName{"markers_received", &Counters::markers_received, "MPA markers received"},
    CounterName{"pad_sent", &Counters::pad_sent, "Octets of PAD sent"},
    CounterName{"pad_received", &Counters::pad_received, "Octets of PAD received"},
    CounterName{"send_calls", &Counters::send_calls, "System calls that send"},
    CounterName{"receive_calls", &Counters::receive_calls, "System calls that receive"},
    CounterName{"wait_calls", &Counters::wait_calls, "System calls that wait for events"},
    CounterName{"wakeups", &Counters::wakeups, "Wake-ups of a sleeping program or worker"},
    CounterName{"completions", &Counters::completions,
                "Work completions added to completion queues"},
    CounterName{"registrations", &Counters::registrations, "Memory registrations"},
};
static_assert(sizeof(Counters) == kCounters.size() * sizeof(std::uint64_t), "a counter is missing");

}  // namespace

std::span<const CounterName> counter_names() { return kCounters; }

Counters& Counters::operator+=(const Counters& o) {
  for (const CounterName& one : kCounters) this->*one.member += o.*one.member;
  return *this;
}

}  // namespace iwarp::verbs
