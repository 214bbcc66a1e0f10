// SPDX-License-Identifier: Apache-2.0
// Splits a delivery if the user steps by octets, and joins its parts again when they are undone.
#include "lab/history.hpp"

#include <algorithm>
#include <utility>

namespace iwarp::apps::lab {
namespace {

constexpr std::string_view kHere = "here";

bool is_delivery(const History::Entry& entry) { return entry.action.verb == Verb::kDeliver; }

Action delivery(std::size_t octets) { return {.numbers = {static_cast<std::uint32_t>(octets), 0}}; }

}  // namespace

History::History() : session_(std::make_unique<Session>(settings_)) {}

std::expected<void, std::string> History::open(std::string_view script) {
  settings_ = {};
  done_.clear();
  ahead_.clear();
  std::size_t stop = SIZE_MAX;
  std::expected<void, std::string> result;
  if (script.size() > kMaxScript)
    result = std::unexpected("the session is too long (begin a new one)");
  while (!script.empty() && result) {
    const auto word = script.substr(0, script.find('+'));
    script.remove_prefix(std::min(script.size(), word.size() + 1));
    if (word == kHere) {
      stop = ahead_.size();
    } else if (word.contains('=')) {
      result = set(settings_, word);
    } else if (const auto action = parse_action(word)) {
      ahead_.push_back({*action, false});
    } else {
      result = std::unexpected(action.error());
    }
  }
  session_ = std::make_unique<Session>(settings_);
  while (result && done_.size() < stop && !ahead_.empty()) {
    const auto applied = session_->apply(ahead_.front().action);
    if (!applied) {
      result = std::unexpected(to_word(ahead_.front().action) + ": " + applied.error());
    } else {
      done_.push_back(ahead_.front());
      ahead_.pop_front();
    }
  }
  if (!result) ahead_.clear();
  return result;
}

std::expected<void, std::string> History::act(const Action& action) {
  if (auto applied = session_->apply(action); !applied) return applied;
  ahead_.clear();
  done_.push_back({action, false});
  return {};
}

bool History::perform(const Action& action) {
  const auto due = session_->due();
  if (!session_->apply(action)) return false;
  done_.push_back({action, action.verb == Verb::kDeliver && due && due->begun});
  return true;
}

bool History::perform_next() {
  const Entry entry = ahead_.front();
  ahead_.pop_front();
  if (perform(entry.action)) return true;
  ahead_.clear();
  return false;
}

bool History::forward(Step step) {
  if (ahead_.empty()) {
    if (step != Step::kOperation) return deliver(step);
    bool moved = false;
    while (deliver(Step::kSegment)) moved = true;
    return moved;
  }
  auto& next = ahead_.front();
  if (step == Step::kOctet && is_delivery(next) && next.action.numbers[0] > 1) {
    next.action.numbers[0] -= 1;
    next.begun = true;
    return perform(delivery(1));
  }
  bool moved = perform_next();
  if (step == Step::kOctet || !is_delivery(done_.back())) {
    if (step != Step::kOperation) return moved;
  }
  // If the redone delivery was the first part of a segment, redo the other parts too. With
  // Step::kOperation, redo all deliveries up to the next action of the user.
  while (!ahead_.empty() && is_delivery(ahead_.front()) &&
         (step == Step::kOperation || ahead_.front().begun)) {
    moved |= perform_next();
  }
  return moved;
}

bool History::deliver(Step step) {
  const auto due = session_->due();
  if (!due) return false;
  return perform(
      delivery(step == Step::kOctet ? std::min<std::size_t>(due->octets, 1) : due->octets));
}

/// Puts an entry that was undone in front of `ahead_`. If this entry and the first one in `ahead_`
/// deliver parts of the same segment, joins them into one entry.
void History::put_back(Entry entry) {
  if (!ahead_.empty() && is_delivery(entry) && ahead_.front().begun) {
    entry.action.numbers[0] += ahead_.front().action.numbers[0];
    ahead_.pop_front();
  }
  ahead_.push_front(entry);
}

bool History::back(Step step) {
  if (done_.empty()) return false;
  auto& last = done_.back();
  if (step == Step::kOctet && is_delivery(last) && last.action.numbers[0] > 1) {
    last.action.numbers[0] -= 1;
    put_back({delivery(1), true});
  } else {
    for (bool more = true; more && !done_.empty();) {
      const Entry entry = done_.back();
      done_.pop_back();
      put_back(entry);
      more = (step == Step::kSegment && entry.begun) ||
             (step == Step::kOperation && is_delivery(entry));
    }
  }
  replay();
  return true;
}

void History::replay() {
  session_ = std::make_unique<Session>(settings_);
  for (const auto& entry : done_) (void)session_->apply(entry.action);
}

std::string History::script() const {
  auto text = to_words(settings_);
  for (const auto& entry : done_) text += "+" + to_word(entry.action);
  if (ahead_.empty()) return text;
  text += "+" + std::string(kHere);
  for (const auto& entry : ahead_) text += "+" + to_word(entry.action);
  return text;
}

}  // namespace iwarp::apps::lab
