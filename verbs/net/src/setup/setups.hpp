// SPDX-License-Identifier: Apache-2.0
// Setups: the set-ups of inbound connections that an Rnic has in progress. PendingSetups decides
// which of them continue.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "setup/pending_setups.hpp"

namespace iwarp::net {

class DrivenConnection;

/// Thread-safe. Takes no other lock while it holds its own lock, and releases that lock before it
/// ends evicted connections.
class Setups {
 public:
  using Id = PendingSetups::Id;

  /// Registers one pending set-up. The destructor calls over().
  class Mark {
   public:
    Mark(Setups& setups, Id id) : setups_(&setups), id_(id) {}
    Mark(Mark&& o) noexcept : setups_(std::exchange(o.setups_, nullptr)), id_(o.id_) {}
    Mark& operator=(Mark&&) = delete;
    ~Mark() { over(); }
    Id id() const { return id_; }
    void request_arrived() const;  ///< calls PendingSetups::request_arrived()
    void accepted() const;         ///< calls PendingSetups::accepted()
    void over();

   private:
    Setups* setups_;
    const Id id_;
  };

  explicit Setups(const PendingSetups::Limits& limits) : policy_(limits) {}

  /// Admits a set-up, and ends the set-ups that PendingSetups evicts for it. Returns nullopt if
  /// there is no room and no set-up can be evicted.
  std::optional<Mark> admit(const PendingSetups::Newcomer& newcomer);
  /// Sets the connection of a set-up that admit() has admitted.
  void started(Id id, const std::shared_ptr<DrivenConnection>& connection);
  std::size_t under_way();
  /// Evicts set-ups, see PendingSetups::make_room(). Returns whether it has evicted any.
  bool make_room(std::size_t count);

 private:
  void end(const std::vector<Id>& ids);

  std::mutex mutex_;
  PendingSetups policy_;
  std::unordered_map<Id, std::weak_ptr<DrivenConnection>> connections_;
};

}  // namespace iwarp::net
