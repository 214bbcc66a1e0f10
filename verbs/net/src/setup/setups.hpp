// SPDX-License-Identifier: Apache-2.0
// Setups: the passive set-ups under way of an Rnic, of which PendingSetups says which go on.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "setup/pending_setups.hpp"

namespace iwarp::net {

class DrivenConnection;

/// Thread safe. Its lock is a leaf; connections that give way are ended without it.
class Setups {
 public:
  using Id = PendingSetups::Id;

  /// One set-up, while it lives.
  class Mark {
   public:
    Mark(Setups& setups, Id id) : setups_(&setups), id_(id) {}
    Mark(Mark&& o) noexcept : setups_(std::exchange(o.setups_, nullptr)), id_(o.id_) {}
    Mark& operator=(Mark&&) = delete;
    ~Mark() { over(); }
    Id id() const { return id_; }
    void asked() const;     ///< its Request is with the program
    void accepted() const;  ///< its RTR is awaited
    void over();

   private:
    Setups* setups_;
    const Id id_;
  };

  explicit Setups(const PendingSetups::Limits& limits) : policy_(limits) {}

  /// Ends those that give way. nullopt: none does, and there is no room.
  std::optional<Mark> admit(const PendingSetups::Newcomer& newcomer);
  /// Whom an Id of admit() stands for.
  void started(Id id, const std::shared_ptr<DrivenConnection>& connection);
  std::size_t under_way();
  /// There is no descriptor to be had: ends one, if there is one to be ended.
  void make_room();

 private:
  void end(const std::vector<Id>& ids);

  std::mutex mutex_;
  PendingSetups policy_;
  std::unordered_map<Id, std::weak_ptr<DrivenConnection>> connections_;
};

}  // namespace iwarp::net
