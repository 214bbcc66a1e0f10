// SPDX-License-Identifier: Apache-2.0
// Setups: the pending passive set-ups of an Rnic. PendingSetups decides which of them continue.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "setup/pending_setups.hpp"

namespace iwarp::net {

class DrivenConnection;

/// Thread-safe. Its lock is a leaf; evicted connections are ended without it.
class Setups {
 public:
  using Id = PendingSetups::Id;

  /// One pending set-up, which is over() when this is destroyed.
  class Mark {
   public:
    Mark(Setups& setups, Id id) : setups_(&setups), id_(id) {}
    Mark(Mark&& o) noexcept : setups_(std::exchange(o.setups_, nullptr)), id_(o.id_) {}
    Mark& operator=(Mark&&) = delete;
    ~Mark() { over(); }
    Id id() const { return id_; }
    void asked() const;     ///< its Request is with the application
    void accepted() const;  ///< its RTR is awaited
    void over();

   private:
    Setups* setups_;
    const Id id_;
  };

  explicit Setups(const PendingSetups::Limits& limits) : policy_(limits) {}

  /// Admits a set-up, and ends those that are evicted for it. Returns nullopt if there is no room
  /// and none can be evicted.
  std::optional<Mark> admit(const PendingSetups::Newcomer& newcomer);
  /// Sets the connection of a set-up that admit() has admitted.
  void started(Id id, const std::shared_ptr<DrivenConnection>& connection);
  std::size_t under_way();
  /// No descriptor is available: ends a set-up that can be evicted, if there is one.
  void make_room();

 private:
  void end(const std::vector<Id>& ids);

  std::mutex mutex_;
  PendingSetups policy_;
  std::unordered_map<Id, std::weak_ptr<DrivenConnection>> connections_;
};

}  // namespace iwarp::net
