// SPDX-License-Identifier: Apache-2.0
// The Hooks of the adversary: a device that does what the standards permit and most devices never
// do. rfc-notes/adversary.md lists what it does, and the rule that permits it.
#pragma once

#include <fmt/core.h>

#include <memory>

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
/// Appends a line with the time, the process id and the formatted text to the record, unless memory
/// runs out. Thread-safe.
void note_text(fmt::string_view format, fmt::format_args args);
template <typename... Args>
void note(fmt::format_string<const Args&...> format, const Args&... args) {
  note_text(format, fmt::make_format_args(args...));
}

}  // namespace iwarp::rdma_core::adversary
