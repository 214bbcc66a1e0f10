// SPDX-License-Identifier: Apache-2.0
// Keeps count of what a program does, and says which rules of a plan are due. What is drawn depends
// on the seed, the rule, the queue pair and the count alone, so that a run is repeated by its seed
// whatever its threads do. No clock: time is an argument. A rule that can never be due again
// leaves.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "faults/plan.hpp"

namespace iwarp::rdma_core::fault {

/// A rule that is due.
struct Hit {
  std::shared_ptr<const Rule> rule;
  std::uint32_t subject;  ///< the queue pair or connection it was due at; 0: none
  std::uint64_t count;    ///< the how manieth event or octet it was; kTime, kNow: 0
};
using Hits = std::vector<Hit>;

class Book {
 public:
  using Time = std::chrono::nanoseconds;  ///< since the book was opened

  explicit Book(Plan plan);
  /// A rule that comes later; `now` is when it counts from. False: there are too many.
  bool add(Rule rule, Time now);

  /// One event of that subject.
  Hits count(Event event, std::uint32_t subject);
  /// How many of `wanted` octets may pass before a rule is due.
  std::uint64_t room(std::uint32_t connection, std::uint64_t wanted) const;
  /// They have passed.
  Hits passed(std::uint32_t connection, std::uint64_t octets);
  /// Those of kNow and kTime that are due.
  Hits due(Time now);
  /// That queue pair is gone, and no other gets its number.
  void gone(std::uint32_t queue_pair);
  /// When the next of these is.
  std::optional<Time> next() const;

  std::uint64_t seed() const { return seed_; }
  std::size_t size() const { return entries_.size(); }
  /// Those that may still be due, as they were written, in order.
  std::vector<std::string> rules() const;

 private:
  struct Entry {
    std::shared_ptr<const Rule> rule;
    std::uint64_t order = 0;                                  ///< among all rules, from 1 on
    std::unordered_map<std::uint32_t, std::uint64_t> counts;  ///< by subject; 0: all in one
    std::optional<Time> at;                                   ///< of kNow and kTime

    bool is_about(Event event, std::uint32_t subject) const;
    std::uint32_t key(std::uint32_t subject) const { return rule->subject.each ? subject : 0; }
  };
  bool is_due(const Entry& entry, std::uint32_t key, std::uint64_t count) const;
  static std::uint64_t left(const Entry& entry, std::uint32_t subject);
  static bool is_spent(const Entry& entry);
  void drop_spent();

  std::uint64_t seed_;
  std::uint64_t added_ = 0;
  std::list<Entry> entries_;
};

}  // namespace iwarp::rdma_core::fault
