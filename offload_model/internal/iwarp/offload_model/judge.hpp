// SPDX-License-Identifier: Apache-2.0
// Compares the model with measured runs: fits sockets, predicts iWARP from micro-benchmarks and the
// runs' own counters, and compares with the measurements. Runs nothing itself.
#pragma once

#include <expected>
#include <map>

#include "iwarp/offload_model/socket_fit.hpp"

namespace iwarp::offload_model {

/// The machine on which the runs were made.
struct Machine {
  Parameters host{};                  ///< from micro-benchmarks
  std::map<std::string, double> crc;  ///< ns per octet, by name of the CRC kernel
};

/// The run of median cost of one kind, with its prediction.
struct Point {
  Record run;
  double spread = 0;  ///< of identical runs: distance of the quartiles over the median
  Ledger predicted;   ///< both ends
  /// Returns the relative error of the prediction; negative if it is too low.
  double error() const { return predicted.total() / run.cpu_ns() - 1; }
};

/// A run of sockets, and its cost according to the fit.
struct FittedRun {
  Record run;
  double fitted = 0;  ///< ns
};

/// The cost of a CRC kernel in the whole stack, compared with its micro-benchmark.
struct MarginalCrc {
  std::string kernel;
  double in_place = 0;  ///< in the stack, ns per octet
  double bench = 0;     ///< in the micro-benchmark, ns per octet
  int pairs = 0;        ///< pairs of runs, with and without CRC, that were compared
};

/// The promised accuracy, relative.
struct Bounds {
  double mean = 0.10, p90 = 0.20, max = 0.30;  ///< of ErrorSummary
  double spread = 0.15;                        ///< of identical runs
  double crc = 0.20;                           ///< of MarginalCrc::in_place to its benchmark
};

/// The result of judge().
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

  /// Returns whether identical runs differ too much to judge the model.
  bool noise_limited() const { return spread > bounds.spread; }
  /// Returns whether the errors of mode (b) are within the bounds.
  bool holds() const {
    return errors.mean <= bounds.mean && errors.p90 <= bounds.p90 && errors.max <= bounds.max;
  }
};

/// Compares the model with runs, which must include sockets of at least two kinds, and iWARP. On
/// failure returns a sentence that says what is missing.
std::expected<Judgement, std::string> judge(const std::vector<Record>& runs,
                                            const Machine& machine);

}  // namespace iwarp::offload_model
