// SPDX-License-Identifier: Apache-2.0
// Compares memory with the octets that the requests should have written.
#include "target.hpp"

#include <algorithm>
#include <cstring>

#include "violation.hpp"

namespace iwarp::chaos {
namespace {

constexpr const char* kMisplaced = "memory of a target is not what was written";

bool is_tainted(const std::vector<Taint>& taints, std::size_t at, std::byte difference) {
  return std::ranges::any_of(taints,
                             [&](const Taint& t) { return t.at == at && t.mask == difference; });
}

std::uint64_t load(const std::byte* at) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Returns the octets that `op` may still write, without those beyond the end of the target.
bytes::View reach(const Op& op) {
  const auto room = op.target->size - std::min(op.target->size, op.target_at);
  return bytes::View(op.payload).first(std::min(room, op.payload.size()));
}

bool writes_to(const Op& op, const Block* block) {
  return op.is_write() && !op.is_word && op.target == block && !op.is_late && !op.payload.empty();
}

}  // namespace

bool same_but(bytes::View found, bytes::View wanted, const std::vector<Taint>& taints,
              std::size_t at) {
  if (found.size() != wanted.size()) return false;
  if (wanted.empty() || std::memcmp(found.data(), wanted.data(), wanted.size()) == 0) return true;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (found[i] != wanted[i] && !is_tainted(taints, at + i, found[i] ^ wanted[i])) return false;
  }
  return true;
}

void Target::use(Block* block) {
  block_ = block;
  adopt();
}

void Target::adopt() {
  posted_.assign(block_->data(), block_->data() + block_->size);
  placed_ = posted_;
  taints_.clear();
}

std::uint64_t Target::word(std::size_t at) const { return load(posted_.data() + at); }
void Target::set_word(std::size_t at, std::uint64_t value) {
  std::memcpy(posted_.data() + at, &value, sizeof value);
}

void Target::post(const Op& op) {
  if (op.target != block_ || op.is_refused || op.is_late) return;
  if (op.is_atomic()) return set_word(op.target_at, op.new_word);
  if (op.is_write()) std::ranges::copy(op.payload, posted_.data() + op.target_at);
}

bool Target::is_same(std::size_t at, bytes::View wanted) const {
  return same_but(block_->span(at, wanted.size()), wanted, taints_, at);
}

// Returns whether the octet at `at` may be from one of the requests that are not known to be
// placed.
bool Target::may_be(const Ops& ops, std::size_t from, std::size_t at) const {
  const std::byte found = *(block_->data() + at);
  for (std::size_t i = from; i < ops.size(); ++i) {
    const Op& op = ops[i];
    if (!writes_to(op, block_) || !op.overlaps(block_, at, 1)) continue;
    const auto wanted = op.payload[at - op.target_at];
    if (found == wanted || is_tainted(taints_, at, found ^ wanted)) return true;
  }
  return false;
}

void Target::settle(const Ops& ops, std::size_t from, std::size_t end) {
  for (std::size_t i = from; i < end; ++i) {
    if (writes_to(ops[i], block_)) {
      std::ranges::copy(reach(ops[i]), placed_.data() + ops[i].target_at);
    }
  }
  for (std::size_t i = from; i < end; ++i) {
    if (!writes_to(ops[i], block_)) continue;
    const auto at = ops[i].target_at;
    const auto n = reach(ops[i]).size();
    const bytes::View wanted = bytes::View(placed_).subspan(at, n);
    if (is_same(at, wanted)) continue;
    for (std::size_t j = 0; j < n; ++j) {
      const bool right = is_same(at + j, wanted.subspan(j, 1)) || may_be(ops, end, at + j);
      require(right, kMisplaced, "request {}, octet {} of {}", i, j, n);
    }
  }
}

void Target::check_all_placed() const {
  for (std::size_t i = 0; i < posted_.size(); ++i) {
    require(is_same(i, bytes::View(posted_).subspan(i, 1)), kMisplaced,
            "octet {} of the target is {:02x} instead of {:02x}, and nothing is under way", i,
            std::to_integer<int>(*(block_->data() + i)), std::to_integer<int>(posted_[i]));
  }
}

// Returns whether memory equals `state`. If `next` is not null, the memory may also contain a
// prefix of the octets of `next`.
bool Target::fits_prefix(const std::vector<std::byte>& state, const Op* next) const {
  const auto rest = [&](std::size_t from, std::size_t to) {
    return is_same(from, bytes::View(state).subspan(from, to - from));
  };
  if (next == nullptr) return rest(kZone, state.size());
  const auto written = reach(*next);
  const auto begin = next->target_at;
  const auto end = begin + written.size();
  if (!rest(kZone, begin) || !rest(end, state.size())) return false;
  std::size_t cut = 0;
  while (cut < written.size() && is_same(begin + cut, written.subspan(cut, 1))) ++cut;
  return rest(begin + cut, end);
}

void Target::check_prefix(const Ops& ops, std::size_t first, std::size_t from, std::size_t limit) {
  check_words(ops, first, from, limit);
  auto state = placed_;
  for (std::size_t i = from; i < limit; ++i) {
    if (!writes_to(ops[i], block_)) continue;
    if (fits_prefix(state, &ops[i])) return;
    require(!ops[i].is_refused, kMisplaced,
            "request {} was to be refused, and more than what is in front of it came", i);
    std::ranges::copy(reach(ops[i]), state.data() + ops[i].target_at);
  }
  require(fits_prefix(state, nullptr), kMisplaced,
          "not what any prefix of the requests {} to {} makes of it", from, limit);
}

void Target::check_words(const Ops& ops, std::size_t first, std::size_t from,
                         std::size_t limit) const {
  for (std::size_t at = 0; at < kZone; at += 8) {
    std::vector<std::uint64_t> allowed{load(placed_.data() + at)};
    for (std::size_t i = first; i < limit; ++i) {
      const Op& op = ops[i];
      if (!op.is_word || op.target != block_ || op.target_at != at || op.is_read()) continue;
      if (op.is_refused || op.is_late) continue;
      const bool certain = op.is_atomic() ? op.status == verbs::WcStatus::kSuccess : i < from;
      if (certain) allowed.clear();
      allowed.push_back(op.is_atomic() ? op.new_word : load(op.payload.data()));
    }
    const auto found = load(block_->data() + at);
    require(std::ranges::find(allowed, found) != allowed.end(),
            "a word is not what atomics made of it", "word {} is {:#x}", at / 8, found);
  }
}

}  // namespace iwarp::chaos
