// SPDX-License-Identifier: Apache-2.0
// Fits the laws by a search along each parameter in turn, which halves its steps when no step
// helps. Priors hold parameters that the samples do not determine; they are weak, so a few samples
// outweigh them. The loss grows only logarithmically, so that one wrong row cannot move the law.
#include "iwarp/offload_model/card_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <numbers>

namespace iwarp::offload_model {

namespace {

constexpr double kUsPerSecond = 1e6;
constexpr double kNsPerUsOfCard = 1e3;
constexpr double kIgnored = 1.1;         // ln 3: a larger deviation from the law is an error
constexpr double kSuspect = 0.25;        // weight of rows with errors
constexpr double kQuantile = 1.645;      // of the normal distribution, for the 90 % band
constexpr double kSigmaOfMedian = 1.48;  // standard deviation / median of absolute deviations
/// Repeatability of a measurement, as the standard deviation of a logarithm: that of the rates of
/// messages of 2 to 1024 octets, 26 rows in three published runs of perftest, which differ for no
/// reason that the runs show.
constexpr double kLeastDeviation = 0.06;
/// What twice as many octets, connections or messages in flight may do if no sample varies their
/// number: anything between nothing and doubling the result. This is the standard deviation of a
/// logarithm that is distributed evenly over a factor of 2.
const double kForEachDoubling = std::numbers::ln2 / std::sqrt(12);
/// Uncertainty of a guess, as in the presets.
constexpr double kGuess = std::numbers::ln2;

using Searched = std::vector<double>;

/// Minimises `loss`, starting from `at`.
std::pair<Searched, double> search(const std::function<double(const Searched&)>& loss,
                                   Searched at) {
  constexpr int kRounds = 400;
  constexpr double kSmallest = 1e-4;
  Searched steps(at.size(), 0.5);
  double best = loss(at);
  for (int round = 0; round < kRounds && std::ranges::max(steps) > kSmallest; ++round) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      bool better = false;
      for (const double sign : {1.0, -1.0}) {
        auto next = at;
        next[i] += sign * steps[i];
        const auto value = loss(next);
        if (value < best - 1e-12) {
          best = value;
          at = std::move(next);
          better = true;
          break;
        }
      }
      steps[i] *= better ? 1.5 : 0.6;
    }
  }
  return {at, best};
}

/// Returns the best result of searches from several values of the first parameter.
Searched best_of(const std::function<double(const Searched&)>& loss, const Searched& start,
                 std::initializer_list<double> firsts) {
  std::pair<Searched, double> best{start, INFINITY};
  for (const auto first : firsts) {
    auto from = start;
    from[0] = first;
    auto found = search(loss, from);
    if (found.second < best.second) best = std::move(found);
  }
  return best.first;
}

double loss_of(double deviation) { return 0.25 * std::log1p(4 * deviation * deviation); }
double weight_of(const CardSample& s) { return s.errors > 0 ? kSuspect : 1; }
double prior(double value, double mean, double sigma, double weight = 0.02) {
  const auto z = (value - mean) / sigma;
  return weight * z * z;
}

/// Returns the largest throughput of the samples in octets per us. A stream may be twice as fast as
/// a few messages in flight, which wait for each other.
double fastest(std::span<const CardSample> samples) {
  constexpr double kStream = 8;
  double stream = 0;
  double few = 0;
  for (const auto& s : samples) {
    const auto rate = s.size * s.rate / kUsPerSecond;
    (s.connections * s.depth < kStream ? few : stream) =
        std::max(s.connections * s.depth < kStream ? few : stream, rate);
  }
  return stream > 0 ? std::max(stream, few) : 2 * few;
}

/// Returns whether a larger message lowers the rate of messages anywhere. If not, the samples do
/// not tell the bandwidth.
bool reached_link(std::span<const CardSample> samples) {
  constexpr double kLower = 0.75;
  return std::ranges::any_of(samples, [&](const CardSample& large) {
    return std::ranges::any_of(samples, [&](const CardSample& small) {
      return small.way == large.way && small.connections == large.connections &&
             small.depth == large.depth && small.size < large.size &&
             large.rate < kLower * small.rate;
    });
  });
}

RateLaw rate_law(const Searched& v, double bandwidth) {
  return {v[0], v[1], v[2], v[3], v[4], bandwidth};
}
CpuLaw cpu_law(const Searched& v) { return {v[0], v[1], v[2], v[3], v[4], v[5]}; }

CardLoad load_of(const CardSample& s) { return {s.size, s.connections, s.depth}; }

}  // namespace

/// Returns the connections in units of the fewest that were measured. Fewer connections than these
/// do not make a message cheaper.
double FittedWay::relative(double connections) const {
  return std::max(connections, fewest_) / fewest_;
}

double FittedWay::time_of(const CardLoad& load) const {
  const auto c = relative(load.connections);
  const auto alone = std::exp(rate_.wait) * std::pow(c, rate_.growth / std::sqrt(load.depth)) +
                     load.size / (rate_.bandwidth * load.connections);
  auto time = std::exp(rate_.message) * std::pow(c, rate_.spread) +
              alone / std::pow(load.depth, rate_.overlap);
  // With fewer connections the rate falls: in proportion if it was limited by waiting, and not at
  // all if it was limited by the card. The prediction lies in the middle.
  if (load.connections < fewest_) time *= std::sqrt(fewest_ / load.connections);
  return std::max(time, load.size / rate_.bandwidth);
}

double FittedWay::cpu_of(const CardLoad& load) const {
  const auto c = relative(load.connections);
  // The same rate on more connections is taken to join as many messages.
  const auto single = time_of({load.size, fewest_, 1});
  const auto batch =
      std::pow(std::clamp(single / time_of(load), 1.0, std::max(1.0, load.depth)), cpu_.batch);
  return std::exp(cpu_.work) * std::pow(c, cpu_.spread) +
         load.size * std::exp(cpu_.octet) / kNsPerUsOfCard +
         std::exp(cpu_.wake) * std::pow(c, cpu_.growth / std::sqrt(load.depth)) / batch;
}

/// Returns a distance without unit. It is 1 for a factor of 8 in size, 2 in connections, or 4 in
/// depth.
double FittedWay::distance(const CardSample& s, const CardLoad& load) const {
  const auto size = std::log2(load.size / s.size) / 3;
  const auto connections = std::log2(load.connections / s.connections);
  const auto depth = std::log2(load.depth / s.depth) / 2;
  return size * size + connections * connections + depth * depth;
}

/// Corrects a value of the law by the deviations of the samples, near ones most.
double FittedWay::corrected(double law, const std::vector<double>& deviations,
                            const CardLoad& load) const {
  constexpr double kNear = 1e-3;
  double sum = 0;
  double weights = 0;
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    if (std::abs(deviations[i]) > kIgnored) continue;
    const auto d = distance(samples_[i], load);
    const auto weight = weight_of(samples_[i]) / (d * d + kNear * kNear);
    sum += weight * deviations[i];
    weights += weight;
  }
  return weights > 0 ? law * std::exp(sum / weights) : law;
}

/// Returns the uncertainty of what no sample varies, as the standard deviation of a logarithm: a
/// card that was measured with one number of connections may do anything with another.
double FittedWay::unmeasured(const CardLoad& load) const {
  double doublings = 0;
  for (const auto& [sample, asked] : {std::pair{&CardSample::size, load.size},
                                      std::pair{&CardSample::connections, load.connections},
                                      std::pair{&CardSample::depth, load.depth}}) {
    const auto [low, high] = std::ranges::minmax(samples_, {}, sample);
    if (low.*sample == high.*sample) doublings += std::abs(std::log2(asked / (low.*sample)));
  }
  return kForEachDoubling * doublings;
}

Band FittedWay::band_of(double value, const ErrorSummary& errors, const CardLoad& load) const {
  double near = INFINITY;
  for (const auto& s : samples_) near = std::min(near, distance(s, load));
  // A file with one sample says nothing about its errors.
  const auto far = errors.median > 0 ? kSigmaOfMedian * std::log1p(errors.median) : kGuess;
  const auto sigma =
      std::hypot(kLeastDeviation, far * std::sqrt(near / (1 + near)), unmeasured(load));
  const auto factor = std::exp(kQuantile * sigma);
  return {value / factor, value, value * factor};
}

void FittedWay::fit(double bandwidth, double round_trip) {
  fewest_ = std::ranges::min(samples_, {}, &CardSample::connections).connections;
  most_ = std::ranges::max(samples_, {}, &CardSample::connections).connections;
  // A few connections wait each for itself, so the rate grows with them; many compete.
  const bool few = most_ < 4;
  const auto wait = std::log(round_trip / fewest_);
  const auto rate_loss = [&](const Searched& v) {
    rate_ = rate_law(v, bandwidth);
    auto out = prior(v[0], 0, 1, 1e-4) + prior(v[1], wait, 1, 1e-3) +
               prior(v[2], few ? -1 : 0.3, 0.5) + prior(v[3], 1, 0.3) + prior(v[4], 0, 0.1);
    for (const auto& s : samples_) {
      out += weight_of(s) * loss_of(std::log(time_of(load_of(s)) * s.rate / kUsPerSecond));
    }
    return out;
  };
  rate_ = rate_law(best_of(rate_loss, {0, wait, few ? -1 : 0.3, 1, 0}, {-2, -1, 0}), bandwidth);
  rate_deviations_.clear();
  for (const auto& s : samples_) {
    rate_deviations_.push_back(std::log(kUsPerSecond / s.rate / time_of(load_of(s))));
  }
  cpu_deviations_.assign(samples_.size(), INFINITY);
  const auto paid = [](const CardSample& s) { return s.cpu > 0; };
  if (std::ranges::none_of(samples_, paid)) return;
  const auto cores = [](const CardSample& s) { return s.cpu * s.rate / kUsPerSecond; };
  const auto [low, high] = std::ranges::minmax(samples_, {}, cores);
  constexpr double kSteady = 1.05;
  const bool varied = std::ranges::max(samples_, {}, &CardSample::rate).rate >
                      1.5 * std::ranges::min(samples_, {}, &CardSample::rate).rate;
  polling_ = varied && cores(high) < kSteady * cores(low) ? cores(low) : 0;
  if (polling_ > 0) return;
  const auto cpu_loss = [&](const Searched& v) {
    cpu_ = cpu_law(v);
    auto out = prior(v[1], -2, 1, 1e-3) + prior(v[2], 1, 2, 1e-3) + prior(v[3], 0.9, 0.5) +
               prior(v[4], 1, 0.3) + prior(v[5], 0, 0.1);
    for (const auto& s : samples_) {
      if (paid(s)) out += weight_of(s) * loss_of(std::log(cpu_of(load_of(s)) / s.cpu));
    }
    return out;
  };
  cpu_ = cpu_law(best_of(cpu_loss, {0, -2, 2, 0.9, 1, 0}, {-1, 0, 1}));
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    const auto& s = samples_[i];
    if (paid(s)) cpu_deviations_[i] = std::log(s.cpu / cpu_of(load_of(s)));
  }
}

/// Predicts each sample from the others. Ignored samples are neither predicted nor used.
void FittedWay::cross_validate(double bandwidth, double round_trip) {
  std::vector<double> rates;
  std::vector<double> costs;
  for (std::size_t i = 0; i < samples_.size() && samples_.size() > 1; ++i) {
    if (std::abs(rate_deviations_[i]) > kIgnored) continue;
    FittedWay others;
    others.samples_ = samples_;
    others.samples_.erase(others.samples_.begin() + static_cast<std::ptrdiff_t>(i));
    others.fit(bandwidth, round_trip);
    const auto& s = samples_[i];
    const auto prediction = others.predict(load_of(s));
    rates.push_back(std::abs(prediction.rate.median / s.rate - 1));
    if (s.cpu > 0) costs.push_back(std::abs(prediction.cpu.median / s.cpu - 1));
  }
  rate_errors_ = summarise(std::move(rates));
  cpu_errors_ = summarise(std::move(costs));
}

FittedWay::FittedWay(std::span<const CardSample> all, std::string way, const UsualCard& usual)
    : way_(std::move(way)) {
  std::ranges::copy_if(all, std::back_inserter(samples_),
                       [&](const CardSample& s) { return s.way == way_; });
  // The link is the same for all ways of a file, unless a way came close to it and stopped there.
  const auto link = fastest(all);
  const auto own = fastest(samples_);
  auto bandwidth = own > link / 2 ? own : link;
  if (!reached_link(all)) bandwidth = std::max(bandwidth, usual.bandwidth);
  fit(bandwidth, usual.round_trip);
  cross_validate(bandwidth, usual.round_trip);
}

std::vector<CardSample> FittedWay::ignored() const {
  std::vector<CardSample> out;
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    if (std::abs(rate_deviations_[i]) > kIgnored) out.push_back(samples_[i]);
  }
  return out;
}

CardPrediction FittedWay::predict(const CardLoad& load) const {
  CardPrediction out;
  const auto law = time_of(load);
  const auto time = corrected(law, rate_deviations_, load);
  out.rate = band_of(kUsPerSecond / time, rate_errors_, load);
  const auto most = rate_.bandwidth / load.size * kUsPerSecond * (1 + kLeastDeviation);
  out.rate.high = std::max(out.rate.median, std::min(out.rate.high, most));
  out.latency = load.connections * load.depth * time;
  const auto wait = law - std::exp(rate_.message);
  out.limit = law <= load.size / rate_.bandwidth ? "octets"
              : wait > std::exp(rate_.message)   ? "waiting"
                                                 : "messages";
  if (polling_ > 0) {
    out.cpu = {polling_ / out.rate.high * kUsPerSecond, polling_ * time,
               polling_ / out.rate.low * kUsPerSecond};
  } else if (std::ranges::any_of(cpu_deviations_, [](double d) { return std::isfinite(d); })) {
    out.cpu = band_of(corrected(cpu_of(load), cpu_deviations_, load), cpu_errors_, load);
  }
  return out;
}

std::vector<FittedWay> fit_ways(const CardSamples& samples, const UsualCard& usual) {
  std::vector<FittedWay> out;
  for (const auto& s : samples.rows) {
    if (std::ranges::find(out, s.way, &FittedWay::way) != out.end()) continue;
    out.emplace_back(samples.rows, s.way, usual);
  }
  return out;
}

}  // namespace iwarp::offload_model
