// SPDX-License-Identifier: Apache-2.0
// Book: which rules an event triggers, how many octets may pass before the next one, and when the
// next timed rule is due.
#include "faults/book.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace iwarp::rdma_core::fault {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;

/// Returns a hash of `x`, in which every bit depends on every bit of `x`. The function is the last
/// step of SplitMix64.
constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

/// Returns a pseudorandom number from 0 to 999,999, which depends only on the numbers in `of`.
std::uint64_t draw(const std::array<std::uint64_t, 4>& of) {
  constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15;
  std::uint64_t x = 0;
  for (const auto part : of) x = mixed(x + kStep + part);
  return x % kMillion;
}

bool is_timed(Event event) { return event == Event::kNow || event == Event::kTime; }

/// Returns whether each event of this type belongs to one queue pair, so that the events of each
/// queue pair can be counted separately.
bool is_of_queue_pairs(Event event) {
  return event == Event::kCompletions || event == Event::kSends || event == Event::kReceives ||
         event == Event::kDatagrams;
}

}  // namespace

Book::Book(Plan plan) : seed_(plan.seed) {
  for (Rule& rule : plan.rules) (void)add(std::move(rule), Time(0));
}

bool Book::add(Rule rule, Time now) {
  if (entries_.size() == kMaxRules) return false;
  Entry& entry =
      entries_.emplace_back(Entry{.rule = std::make_shared<const Rule>(std::move(rule))});
  entry.order = ++added_;
  if (is_timed(entry.rule->event)) entry.at = now + Time(entry.rule->count);
  return true;
}

bool Book::Entry::is_about(Event event, std::uint32_t subject) const {
  return rule->event == event && (rule->subject.number == 0 || rule->subject.number == subject);
}

bool Book::is_due(const Entry& entry, std::uint32_t key, std::uint64_t count) const {
  switch (entry.rule->when) {
    case When::kAfter:
      return count == entry.rule->count;
    case When::kEvery:
      return count % entry.rule->count == 0;
    case When::kRange:
      return count >= entry.rule->count && count <= entry.rule->last;
    case When::kChance:
      return draw({seed_, entry.order, key, count}) < entry.rule->count;
  }
  return false;
}

Hits Book::room_for(Event event, std::uint32_t subject) {
  Hits out;
  out.reserve(entries_.size());
  for (Entry& entry : entries_) {
    if (entry.is_about(event, subject)) entry.counts.try_emplace(entry.key(subject));
  }
  return out;
}

Hits Book::count(Event event, std::uint32_t subject, std::string_view device) {
  Hits out = room_for(event, subject);
  for (Entry& entry : entries_) {
    const std::string& only = entry.rule->device;
    if (!entry.is_about(event, subject) || (!only.empty() && only != device)) continue;
    const auto key = entry.key(subject);
    const auto count = ++entry.counts[key];
    if (is_due(entry, key, count)) out.push_back({entry.rule, subject, count});
  }
  if (!out.empty()) drop_spent();
  return out;
}

// Returns how many more octets may pass before the rule is due, or the largest number if it is
// never due.
std::uint64_t Book::left(const Entry& entry, std::uint32_t subject) {
  constexpr auto kNever = std::numeric_limits<std::uint64_t>::max();
  if (!entry.is_about(Event::kOctets, subject)) return kNever;
  const auto it = entry.counts.find(entry.key(subject));
  const std::uint64_t had = it != entry.counts.end() ? it->second : 0;
  const auto wanted = entry.rule->count;
  if (entry.rule->when == When::kEvery) return wanted - had % wanted;
  return had < wanted ? wanted - had : kNever;
}

std::uint64_t Book::room(std::uint32_t connection, std::uint64_t wanted) const {
  for (const Entry& entry : entries_) wanted = std::min(wanted, left(entry, connection));
  return wanted;
}

Hits Book::passed(std::uint32_t connection, std::uint64_t octets) {
  Hits out = room_for(Event::kOctets, connection);
  for (Entry& entry : entries_) {
    if (!entry.is_about(Event::kOctets, connection)) continue;
    const bool is_due = left(entry, connection) == octets;
    const auto count = entry.counts[entry.key(connection)] += octets;
    if (is_due) out.push_back({entry.rule, connection, count});
  }
  if (!out.empty()) drop_spent();
  return out;
}

Hits Book::due(Time now) {
  Hits out;
  for (Entry& entry : entries_) {
    if (!entry.at || *entry.at > now) continue;
    out.push_back({entry.rule, 0, 0});
    const bool again = entry.rule->when == When::kEvery;
    // If a timed rule with `every` is late by several periods, this code skips the missed periods,
    // so that the rule does not fire several times in a row.
    const Time from = std::max(*entry.at, now - Time(entry.rule->count));
    entry.at = again ? std::optional(from + Time(entry.rule->count)) : std::nullopt;
  }
  if (!out.empty()) drop_spent();
  return out;
}

// Returns whether the rule can never be due again. A rule that counts each queue pair or connection
// separately can always be due again, because the program may make a new queue pair or connection.
bool Book::is_spent(const Entry& entry) {
  if (is_timed(entry.rule->event)) return !entry.at;
  const auto it = entry.counts.find(0);
  if (entry.rule->subject.each || it == entry.counts.end()) return false;
  switch (entry.rule->when) {
    case When::kAfter:
      return it->second >= entry.rule->count;
    case When::kRange:
      return it->second >= entry.rule->last;
    case When::kEvery:
    case When::kChance:
      return false;
  }
  return false;
}

void Book::drop_spent() { std::erase_if(entries_, is_spent); }

void Book::gone(std::uint32_t queue_pair) {
  std::erase_if(entries_, [&](const Entry& entry) {
    return is_of_queue_pairs(entry.rule->event) && entry.rule->subject.number == queue_pair;
  });
  for (Entry& entry : entries_) {
    if (is_of_queue_pairs(entry.rule->event) && entry.rule->subject.each) {
      entry.counts.erase(queue_pair);
    }
  }
}

std::optional<Book::Time> Book::next() const {
  std::optional<Time> out;
  for (const Entry& entry : entries_) {
    if (entry.at && (!out || *entry.at < *out)) out = entry.at;
  }
  return out;
}

std::vector<std::string> Book::rules() const {
  std::vector<std::string> out;
  out.reserve(entries_.size());
  for (const Entry& entry : entries_) out.push_back(entry.rule->text);
  return out;
}

}  // namespace iwarp::rdma_core::fault
