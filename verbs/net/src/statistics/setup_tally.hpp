// SPDX-License-Identifier: Apache-2.0
// SetupTally: counts the outcomes of the active set-ups, or of the passive set-ups, of an Rnic.
// Thread-safe, without a lock.
#pragma once

#include <array>
#include <atomic>
#include <optional>

#include "iwarp/net/statistics.hpp"

namespace iwarp::net {

class SetupTally {
 public:
  void begun() { ++begun_; }
  void established() { ++established_; }
  void failed(SetupFailure why) { ++failed_[static_cast<std::size_t>(why)]; }

  /// Returns the counts. Reads `begun` last, so that it is never less than the sum of the other
  /// counts.
  SetupStatistics read() const {
    SetupStatistics out;
    out.established = established_.load();
    for (std::size_t i = 0; i < failed_.size(); ++i) out.failed[i] = failed_[i].load();
    out.begun = begun_.load();
    return out;
  }

 private:
  using Count = std::atomic<std::uint64_t>;

  Count begun_{0};
  Count established_{0};
  std::array<Count, kSetupFailures> failed_{};
};

/// Counts one set-up: its beginning, and exactly one outcome. Not thread-safe.
class CountedSetup {
 public:
  explicit CountedSetup(SetupTally& tally) : tally_(tally) { tally_.begun(); }
  ~CountedSetup() { failed(SetupFailure::kAbandoned); }
  CountedSetup(const CountedSetup&) = delete;
  CountedSetup& operator=(const CountedSetup&) = delete;

  /// Sets the reason why the set-up is going to fail. Only the first call has an effect.
  void blame(SetupFailure why) {
    if (!blame_) blame_ = why;
  }
  void established() {
    if (!is_over()) tally_.established();
    outcome_ = Outcome::kEstablished;
  }
  /// Counts the set-up as failed. The reason is the one passed to blame(), or `why` if blame() was
  /// not called. Returns the reason, or nullopt if the set-up was over before.
  std::optional<SetupFailure> failed(SetupFailure why) {
    if (is_over()) return std::nullopt;
    outcome_ = Outcome::kFailed;
    tally_.failed(blame_.value_or(why));
    return blame_.value_or(why);
  }
  bool is_established() const { return outcome_ == Outcome::kEstablished; }

 private:
  enum class Outcome : std::uint8_t { kNone, kEstablished, kFailed };
  bool is_over() const { return outcome_ != Outcome::kNone; }

  SetupTally& tally_;
  std::optional<SetupFailure> blame_;
  Outcome outcome_ = Outcome::kNone;
};

}  // namespace iwarp::net
