// SPDX-License-Identifier: Apache-2.0
// Fits the costs of kernel sockets to measured runs: the costs of a call, a piece, an octet and a
// context switch. The number of pieces is the number of segments that TCP sent at both ends.
#pragma once

#include <array>

#include "iwarp/offload_model/fit.hpp"
#include "iwarp/offload_model/record.hpp"

namespace iwarp::offload_model {

/// The costs to be fitted, in nanoseconds: the cost of a send call, of a receive call or wait, of a
/// piece that TCP and the network driver exchange (both ends together), of an octet (both ends
/// together), and of a context switch.
enum class Unknown : std::uint8_t { kSend, kReceive, kPiece, kOctet, kSwitch };
inline constexpr std::size_t kUnknowns = 5;         ///< number of unknowns
using SocketCosts = std::array<double, kUnknowns>;  ///< nanoseconds, by Unknown

/// Returns how often each cost was incurred in a run, by both ends.
Observation observation_of(const Record& record);

/// Fits the costs to `runs`. A cost that the runs hardly determine stays near its value in `host`.
SocketCosts fit_sockets(const std::vector<Record>& runs, const Parameters& host);
/// Predicts the runs of each message size with costs that were fitted to the runs of all other
/// sizes, and returns the errors.
ErrorSummary leave_one_size_out(const std::vector<Record>& runs, const Parameters& host);

/// Returns `host` with its costs of sockets replaced by `costs`. A cost that is known only for both
/// ends together is split evenly between them.
Parameters with_sockets(Parameters host, const SocketCosts& costs);

}  // namespace iwarp::offload_model
