// SPDX-License-Identifier: Apache-2.0
// Learns a card from a few measurements of it, and predicts other message sizes, connection counts
// and depths. A law with few parameters gives the shape. Near a measurement, the deviation of the
// measurement from the law corrects the prediction, so a prediction is right where the card was
// measured. rfc-notes/offload-model.md explains the law.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "iwarp/offload_model/fit.hpp"
#include "iwarp/offload_model/samples.hpp"
#include "iwarp/offload_model/uncertainty.hpp"

namespace iwarp::offload_model {

/// What to predict: `depth` messages of `size` octets in flight on each of `connections`.
struct CardLoad {
  double size = 64;
  double connections = 1;
  double depth = 1;
};

/// A prediction for one way of moving messages. The `median` of a band is the prediction.
struct CardPrediction {
  Band rate;               ///< messages per second
  Band cpu;                ///< us of processor time per message; 0 if the file does not say it
  double latency = 0;      ///< us that a message is in flight on average, by Little's law
  std::string_view limit;  ///< what limits the rate: "octets", "messages" or "waiting"
};

/// The parameters of the law for the rate, T in rfc-notes/offload-model.md.
struct RateLaw {
  double message = 0;    ///< ln of us per message at great depth
  double wait = 0;       ///< ln of us that a single message in flight adds
  double growth = 0;     ///< exponent of connections in `wait`
  double overlap = 1;    ///< exponent of the depth
  double spread = 0;     ///< exponent of connections in `message`
  double bandwidth = 0;  ///< octets per us
};
/// The parameters of the law for processor time, C in rfc-notes/offload-model.md.
struct CpuLaw {
  double work = 0;    ///< ln of us per message
  double octet = 0;   ///< ln of ns per octet
  double wake = 0;    ///< ln of us per wake-up
  double growth = 0;  ///< exponent of connections in `wake`
  double batch = 1;   ///< exponent of b: how the rate beyond that of single messages joins wake-ups
  double spread = 0;  ///< exponent of connections in `work`
};

/// What to assume if no sample tells.
struct UsualCard {
  double round_trip = 3;     ///< us for a single message of a single connection
  double bandwidth = 12500;  ///< octets per us; matters if no size was large enough to reach it
};

/// One way of moving messages, fitted to the samples of it.
class FittedWay {
 public:
  /// Fits the samples of `all` whose way is `way`; there is at least one.
  FittedWay(std::span<const CardSample> all, std::string way, const UsualCard& usual);

  const std::string& way() const { return way_; }
  CardPrediction predict(const CardLoad& load) const;
  /// Returns the errors of rates if each sample is predicted from the others; 0 with one sample.
  const ErrorSummary& rate_errors() const { return rate_errors_; }
  /// Returns the errors of processor times if each sample is predicted from the others.
  const ErrorSummary& cpu_errors() const { return cpu_errors_; }
  /// Returns the cores that are busy at any rate because the way polls, or 0 if it does not poll.
  double polling_cores() const { return polling_; }
  /// Returns the samples that deviate from the law by more than a factor of 3. They are not used.
  std::vector<CardSample> ignored() const;
  const std::vector<CardSample>& samples() const { return samples_; }

 private:
  FittedWay() = default;
  void fit(double bandwidth, double round_trip);
  void cross_validate(double bandwidth, double round_trip);
  double time_of(const CardLoad& load) const;
  double cpu_of(const CardLoad& load) const;
  double distance(const CardSample& s, const CardLoad& load) const;
  double corrected(double law, const std::vector<double>& deviations, const CardLoad& load) const;
  double unmeasured(const CardLoad& load) const;
  Band band_of(double value, const ErrorSummary& errors, const CardLoad& load) const;
  double relative(double connections) const;

  std::string way_;
  std::vector<CardSample> samples_;
  double fewest_ = 1, most_ = 1;  // connections of the samples
  double polling_ = 0;
  RateLaw rate_;
  CpuLaw cpu_;
  std::vector<double> rate_deviations_, cpu_deviations_;  // ln of measured / law, for each sample
  ErrorSummary rate_errors_, cpu_errors_;
};

/// Fits each way of the samples, in the order of the file.
std::vector<FittedWay> fit_ways(const CardSamples& samples, const UsualCard& usual);

}  // namespace iwarp::offload_model
