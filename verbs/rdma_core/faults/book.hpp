// SPDX-License-Identifier: Apache-2.0
// Counts what a program does and determines which rules of a plan are due. Random draws depend only
// on the seed, the rule, the queue pair and the count, so that a seed reproduces a run regardless
// of thread timing. No clock: time is an argument. A rule that can never be due again is removed.
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
  std::uint32_t subject;  ///< queue pair or connection that triggered it; 0: none
  std::uint64_t count;    ///< ordinal of the event or octet that triggered it; kTime, kNow: 0
};
using Hits = std::vector<Hit>;

class Book {
 public:
  using Time = std::chrono::nanoseconds;  ///< since the book was opened

  explicit Book(Plan plan);
  /// Adds a rule that counts from `now`. Returns false if there are too many rules.
  bool add(Rule rule, Time now);

  /// Counts one event of that subject. Returns the rules that it triggers.
  Hits count(Event event, std::uint32_t subject);
  /// Returns how many of `wanted` octets may pass before a rule is due.
  std::uint64_t room(std::uint32_t connection, std::uint64_t wanted) const;
  /// Counts octets that have passed. Returns the rules that they trigger.
  Hits passed(std::uint32_t connection, std::uint64_t octets);
  /// Returns the rules of kNow and kTime that are due.
  Hits due(Time now);
  /// Forgets a queue pair that was destroyed; its number is not used again.
  void gone(std::uint32_t queue_pair);
  /// Returns when the next rule of kNow or kTime is due.
  std::optional<Time> next() const;

  std::uint64_t seed() const { return seed_; }
  std::size_t size() const { return entries_.size(); }
  /// Returns the text of the rules that may still be due, in order.
  std::vector<std::string> rules() const;

 private:
  struct Entry {
    std::shared_ptr<const Rule> rule;
    std::uint64_t order = 0;  ///< position among all rules, from 1 on
    std::unordered_map<std::uint32_t, std::uint64_t> counts;  ///< by subject; 0: one count for all
    std::optional<Time> at;                                   ///< for kNow and kTime

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
