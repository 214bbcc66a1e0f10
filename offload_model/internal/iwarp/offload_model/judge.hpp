// SPDX-License-Identifier: Apache-2.0
// Compares the model with measured runs: fits the costs of sockets, predicts the cost of iWARP runs
// from micro-benchmarks and from the counters of these runs, and compares the predictions with the
// measurements. The code uses recorded runs and measures nothing itself.
#pragma once

#include <array>
#include <expected>
#include <map>

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

/// The costs of the passes of this stack, in ns per octet: Parameters::copy_llc, crc and copy_crc.
struct PassCosts {
  double copy = 0;
  double crc = 0;
  double copy_crc = 0;
};
/// The sizes of memory over which PassCosts are measured: a stream of messages of 16 KiB uses about
/// as much as the first size, and a stream of messages of 1 MiB as much as the second.
inline constexpr std::array<std::size_t, 2> kWorkingSets{1 << 20, 4 << 20};

/// The machine on which the runs were made.
struct Machine {
  Parameters host{};  ///< costs according to micro-benchmarks
  /// By the name of the CRC kernel, or "off"; one element for each of kWorkingSets.
  std::map<std::string, std::array<PassCosts, kWorkingSets.size()>> passes;
};

/// The run with the median cost among all runs of one kind, and the prediction for that run.
struct Point {
  Record run;
  /// Distance between the quartiles of the costs of identical runs, divided by the median cost.
  double spread = 0;
  Ledger predicted;  ///< processor time of both ends according to the model
  /// Returns the relative error of the prediction; negative if it is too low.
  double error() const { return predicted.total() / run.cpu_ns() - 1; }
};

/// A run of sockets, and its cost according to the fit.
struct FittedRun {
  Record run;
  double fitted = 0;  ///< processor time according to the fit, in ns
};

/// The accuracy that the model promises: upper limits of relative errors.
struct Bounds {
  double mean = 0.10, p90 = 0.20, max = 0.30;  ///< limits of ErrorSummary
  double spread = 0.15;                        ///< limit of Judgement::spread
};

/// The result of judge().
struct Judgement {
  SocketCosts sockets{};
  std::vector<FittedRun> fitted;  ///< runs of sockets, mode (a)
  /// Mode (a): errors if each size is predicted by a fit to the other sizes.
  ErrorSummary left_out;
  std::vector<Point> points;  ///< runs of software iWARP, mode (b)
  ErrorSummary errors;        ///< errors of `points`
  double spread = 0;          ///< median of Point::spread over all kinds of runs of both modes
  std::vector<MeasuredShare> copies;
  Bounds bounds;

  /// Returns whether identical runs differ too much to judge the model.
  bool noise_limited() const { return spread > bounds.spread; }
  /// Returns whether the errors of mode (b) are within the bounds.
  bool holds() const {
    return errors.mean <= bounds.mean && errors.p90 <= bounds.p90 && errors.max <= bounds.max;
  }
};

/// Compares the model with `runs`, which must include iWARP runs and at least two kinds of sockets
/// runs. If they do not, returns a text that says what is missing.
std::expected<Judgement, std::string> judge(const std::vector<Record>& runs,
                                            const Machine& machine);

}  // namespace iwarp::offload_model
