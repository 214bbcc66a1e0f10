// SPDX-License-Identifier: Apache-2.0
// Judges runs: sockets are fitted, iWARP is predicted from micro-benchmarks and the runs' own
// counters, and compared with what was measured. Runs nothing itself.
#pragma once

#include <expected>
#include <map>

#include "iwarp/offload_model/socket_fit.hpp"

namespace iwarp::offload_model {

/// What a judgement needs to know of the machine beside the runs.
struct Machine {
  Parameters host{};
  std::map<std::string, double> crc;  ///< ns per octet by kernel
};

/// The runs of one kind, and the prediction for the one of median cost.
struct Point {
  Record run;
  double spread = 0;  ///< of identical runs, between the quartiles, relative
  Ledger predicted;   ///< both ends
  double error() const { return predicted.total() / run.cpu_ns() - 1; }
};

/// A run of sockets, and what the fit says it should have cost.
struct FittedRun {
  Record run;
  double fitted = 0;  ///< ns
};

/// What CRC costs in the whole stack, against its micro-benchmark.
struct MarginalCrc {
  std::string kernel;
  double in_place = 0;  ///< ns per octet
  double bench = 0;
  int pairs = 0;  ///< runs with and without it that were compared
};

/// What is promised; relative.
struct Bounds {
  double mean = 0.10, p90 = 0.20, max = 0.30;
  double spread = 0.15;
  double crc = 0.20;
};

struct Judgement {
  SocketCosts sockets{};
  std::vector<FittedRun> fitted;  ///< mode (a)
  ErrorSummary left_out;          ///< mode (a), each size left out
  std::vector<Point> points;      ///< mode (b)
  ErrorSummary errors;            ///< of those
  double spread = 0;              ///< median over kinds, both modes
  std::vector<MarginalCrc> crc;
  std::vector<MeasuredShare> copies;
  Bounds bounds;

  bool noise_limited() const { return spread > bounds.spread; }
  bool holds() const {
    return errors.mean <= bounds.mean && errors.p90 <= bounds.p90 && errors.max <= bounds.max;
  }
};

/// The error says what is missing: there must be both sockets, of several sizes, and iWARP.
std::expected<Judgement, std::string> judge(const std::vector<Record>& runs,
                                            const Machine& machine);

}  // namespace iwarp::offload_model
