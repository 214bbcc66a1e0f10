// SPDX-License-Identifier: Apache-2.0
// Mode (a) from real runs: what a call, a piece, an octet and a wake-up cost, so that the runs come
// out. Five unknowns; with how far the fit can be trusted.
#pragma once

#include <array>

#include "iwarp/offload_model/fit.hpp"
#include "iwarp/offload_model/record.hpp"

namespace iwarp::offload_model {

/// The unknowns, in this order.
enum class Unknown : std::uint8_t { kSend, kReceive, kPiece, kOctet, kSwitch };
inline constexpr std::size_t kUnknowns = 5;
using SocketCosts = std::array<double, kUnknowns>;  ///< nanoseconds

/// How often each was paid, by both ends.
Observation observation_of(const Record& record);

/// Fitted to `runs`; where they say little, near to what `host` says.
SocketCosts fit_sockets(const std::vector<Record>& runs, const Parameters& host);
/// The same with each size left out in turn.
ErrorSummary leave_one_size_out(const std::vector<Record>& runs, const Parameters& host);

/// `host` with its mode (a) replaced. What is only known of both sides together is split evenly.
Parameters with_sockets(Parameters host, const SocketCosts& costs);

}  // namespace iwarp::offload_model
