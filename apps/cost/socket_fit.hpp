// SPDX-License-Identifier: Apache-2.0
// Mode (a) from real runs: what a call, a piece, an octet and a wake-up cost, so that the runs come
// out. Shared by calibrate and validate.
#pragma once

#include "cost/measure.hpp"
#include "iwarp/offload_model/fit.hpp"

namespace iwarp::apps::cost {

/// The unknowns, in this order.
enum class Unknown : std::uint8_t { kSend, kReceive, kPiece, kOctet, kSwitch };
inline constexpr std::size_t kUnknowns = 5;
using SocketCosts = std::array<double, kUnknowns>;  ///< nanoseconds

/// How often each was paid, by both ends.
model::Observation observation_of(const Record& record);

/// Runs of the same kind become one: each count and the cost is the median.
std::vector<Record> medians(const std::vector<Record>& records);

/// Fitted to `runs`; where they say little, near to what `host` says.
SocketCosts fit_sockets(const std::vector<Record>& runs, const model::Parameters& host);
/// The same with each size left out in turn.
model::ErrorSummary leave_one_size_out(const std::vector<Record>& runs,
                                       const model::Parameters& host);

/// `host` with its mode (a) replaced. What is only known of both sides together is split evenly.
model::Parameters with_sockets(model::Parameters host, const SocketCosts& costs);

/// The sweep of sockets: sizes, and small receive calls, or nobody could tell what a call costs.
std::vector<Job> sweep(double seconds, const std::string& cpus);

}  // namespace iwarp::apps::cost
