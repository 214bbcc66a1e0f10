// SPDX-License-Identifier: Apache-2.0
// Book: counts the events of a program, and determines which rules of a plan are due. Random draws
// depend only on the seed, the rule, the queue pair and the count, so that a seed reproduces a run
// regardless of thread timing. The Book reads no clock; callers pass the time as an argument. The
// Book removes rules that can never be due again.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "faults/plan.hpp"

namespace iwarp::rdma_core::fault {

/// A rule that is due.
struct Hit {
  std::shared_ptr<const Rule> rule;
  /// Ordinal of the queue pair or connection that triggered the rule, or 0 if there is none.
  std::uint32_t subject;
  /// Ordinal of the event or octet that triggered the rule; 0 for kTime and kNow.
  std::uint64_t count;
};
using Hits = std::vector<Hit>;

class Book {
 public:
  using Time = std::chrono::nanoseconds;  ///< time since the Book was constructed

  explicit Book(Plan plan);
  /// Adds a rule, which starts to count at the time `now`. Returns false if there are too many
  /// rules.
  bool add(Rule rule, Time now);

  /// Counts one event of the queue pair or connection `subject`, which is on the device `device`.
  /// Returns the rules that the event triggers.
  Hits count(Event event, std::uint32_t subject, std::string_view device = {});
  /// Returns how many of the `wanted` octets the connection may send before a rule is due.
  std::uint64_t room(std::uint32_t connection, std::uint64_t wanted) const;
  /// Counts the octets that the connection has sent. Returns the rules that these octets trigger.
  Hits passed(std::uint32_t connection, std::uint64_t octets);
  /// Returns the rules that are due and that have the event kNow or kTime.
  Hits due(Time now);
  /// Forgets the counts of a queue pair that was destroyed. Its ordinal is not used again.
  void gone(std::uint32_t queue_pair);
  /// Returns when the next rule with the event kNow or kTime is due.
  std::optional<Time> next() const;

  std::uint64_t seed() const { return seed_; }
  std::size_t size() const { return entries_.size(); }
  /// Returns the texts of the rules that may still become due, in the order in which they were
  /// added.
  std::vector<std::string> rules() const;

 private:
  struct Entry {
    std::shared_ptr<const Rule> rule;
    std::uint64_t order = 0;  ///< position among all rules that were ever added, counted from 1
    /// Number of events of each subject. If all subjects are counted together, the only key is 0.
    std::unordered_map<std::uint32_t, std::uint64_t> counts;
    std::optional<Time> at;  ///< for kNow and kTime, the time at which the rule is due next

    bool is_about(Event event, std::uint32_t subject) const;
    std::uint32_t key(std::uint32_t subject) const { return rule->subject.each ? subject : 0; }
  };
  /// Allocates the memory that count() and passed() need, so that all rules count an event or none
  /// does. Returns an empty list with room for all rules.
  Hits room_for(Event event, std::uint32_t subject);
  bool is_due(const Entry& entry, std::uint32_t key, std::uint64_t count) const;
  static std::uint64_t left(const Entry& entry, std::uint32_t subject);
  static bool is_spent(const Entry& entry);
  void drop_spent();

  std::uint64_t seed_;
  std::uint64_t added_ = 0;
  std::list<Entry> entries_;
};

}  // namespace iwarp::rdma_core::fault
