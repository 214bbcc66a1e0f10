// SPDX-License-Identifier: Apache-2.0
// Book: counts what a program does and determines which rules of a plan are due. Random draws
// depend only on the seed, the rule, the queue pair and the count, so that a seed reproduces a run
// regardless of thread timing. The Book reads no clock: the time is an argument. It removes rules
// that can never be due again.
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
  /// Ordinal of the queue pair or connection that triggered the rule; 0: none.
  std::uint32_t subject;
  /// Ordinal of the event or octet that triggered the rule; 0 for kTime and kNow.
  std::uint64_t count;
};
using Hits = std::vector<Hit>;

class Book {
 public:
  using Time = std::chrono::nanoseconds;  ///< time since the book was made

  explicit Book(Plan plan);
  /// Adds a rule that counts from `now`. Returns false if there are too many rules.
  bool add(Rule rule, Time now);

  /// Counts one event of that subject. Returns the rules that the event triggers.
  Hits count(Event event, std::uint32_t subject);
  /// Returns how many of the `wanted` octets may pass before a rule is due.
  std::uint64_t room(std::uint32_t connection, std::uint64_t wanted) const;
  /// Counts octets that have passed. Returns the rules that they trigger.
  Hits passed(std::uint32_t connection, std::uint64_t octets);
  /// Returns the rules with the event kNow or kTime that are due.
  Hits due(Time now);
  /// Forgets a queue pair that was destroyed; its number is not used again.
  void gone(std::uint32_t queue_pair);
  /// Returns when the next rule with the event kNow or kTime is due.
  std::optional<Time> next() const;

  std::uint64_t seed() const { return seed_; }
  std::size_t size() const { return entries_.size(); }
  /// Returns the text of the rules that may still be due, in order.
  std::vector<std::string> rules() const;

 private:
  struct Entry {
    std::shared_ptr<const Rule> rule;
    std::uint64_t order = 0;  ///< position among all rules, from 1 on
    /// Number of events by subject. The key 0 is used if all subjects are counted together.
    std::unordered_map<std::uint32_t, std::uint64_t> counts;
    std::optional<Time> at;  ///< when the rule is due next, for kNow and kTime

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
