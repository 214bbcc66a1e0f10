// SPDX-License-Identifier: Apache-2.0
// The table, which has to have all of them.
#include "common/counter_names.hpp"

#include <array>

namespace iwarp::apps {
namespace {

using verbs::Counters;

constexpr std::array kCounters{
    CounterName{"octets_placed", &Counters::octets_placed},
    CounterName{"octets_copied", &Counters::octets_copied},
    CounterName{"octets_crced", &Counters::octets_crced},
    CounterName{"octets_sent", &Counters::octets_sent},
    CounterName{"octets_received", &Counters::octets_received},
    CounterName{"fpdus_sent", &Counters::fpdus_sent},
    CounterName{"fpdus_received", &Counters::fpdus_received},
    CounterName{"markers_sent", &Counters::markers_sent},
    CounterName{"markers_received", &Counters::markers_received},
    CounterName{"pad_sent", &Counters::pad_sent},
    CounterName{"pad_received", &Counters::pad_received},
    CounterName{"send_calls", &Counters::send_calls},
    CounterName{"receive_calls", &Counters::receive_calls},
    CounterName{"wait_calls", &Counters::wait_calls},
    CounterName{"wakeups", &Counters::wakeups},
    CounterName{"completions", &Counters::completions},
    CounterName{"registrations", &Counters::registrations},
};
static_assert(sizeof(Counters) == kCounters.size() * sizeof(std::uint64_t), "a counter is missing");

}  // namespace

std::span<const CounterName> counter_names() { return kCounters; }

}  // namespace iwarp::apps
