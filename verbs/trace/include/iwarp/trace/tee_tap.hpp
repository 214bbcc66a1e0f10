// SPDX-License-Identifier: Apache-2.0
// TeeTap: lets several taps observe one connection. Calls the taps in the order in which the
// constructor received them.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "iwarp/verbs/local_event.hpp"
#include "iwarp/verbs/wire_tap.hpp"

namespace iwarp::trace {

/// Forwards all calls to several taps, which it owns.
class TeeTap final : public verbs::WireTap {
 public:
  /// Ignores null pointers in `taps`.
  explicit TeeTap(std::vector<std::unique_ptr<verbs::WireTap>> taps) : taps_(std::move(taps)) {
    std::erase(taps_, nullptr);
  }

  void octets(bool outbound, bytes::View octets, mpa::TimePoint now) override {
    for (const auto& tap : taps_) tap->octets(outbound, octets, now);
  }
  void closed(bool outbound, bool reset, mpa::TimePoint now) override {
    for (const auto& tap : taps_) tap->closed(outbound, reset, now);
  }
  std::shared_ptr<verbs::LocalObserver> observer() override {
    auto all = std::make_shared<Observers>();
    for (const auto& tap : taps_) {
      if (auto one = tap->observer()) all->list.push_back(std::move(one));
    }
    return all->list.empty() ? nullptr : all;
  }

 private:
  struct Observers final : verbs::LocalObserver {
    void see(const verbs::LocalEvent& event) override {
      for (const auto& one : list) one->see(event);
    }
    std::vector<std::shared_ptr<verbs::LocalObserver>> list{};
  };

  std::vector<std::unique_ptr<verbs::WireTap>> taps_;
};

}  // namespace iwarp::trace
