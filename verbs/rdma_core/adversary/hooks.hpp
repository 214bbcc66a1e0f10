// SPDX-License-Identifier: Apache-2.0
// The Hooks of the adversary: a device that does what the standards permit and most devices never
// do. rfc-notes/adversary.md lists what it does, and the rule that permits it.
#pragma once

#include <memory>
#include <string_view>

#include "iwarp/net/carrier.hpp"
#include "process/core.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core::adversary {

/// Call only if `settings.adversary` is set.
std::unique_ptr<Hooks> make_hooks(const Settings& settings, std::unique_ptr<Hooks> behind);

/// Makes carriers that delay what a connection sends and receives. While a carrier holds its output
/// back, the connection does not look at its requests, so that these are executed late. `below`
/// makes the carriers below, those of TLS; null for plain TCP.
std::shared_ptr<const net::CarrierFactory> make_carriers(
    std::uint64_t seed, std::shared_ptr<const net::CarrierFactory> below);

/// Replaces the system call that sends datagrams, for the whole process: some datagrams are lost,
/// and others are sent late, after later ones. Call once.
void attach_datagrams(const options::Adversary& choice);

// The record of what the adversary did. `iwarp run` reads its end after a failure.
/// Returns whether settings().adversary_record names a file. If not, note() does nothing.
bool is_recorded();
/// Appends a line with the time, the process id and `what` to the record. Thread-safe.
void note(std::string_view what);

}  // namespace iwarp::rdma_core::adversary
