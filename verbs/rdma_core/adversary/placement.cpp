// SPDX-License-Identifier: Apache-2.0
// A Landing cuts the payload of each Write into pieces. A thread of the process copies each piece
// at the time that was chosen for it, unless the connection needs all of them before that time.
#include "adversary/placement.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <thread>
#include <vector>

#include "adversary/hooks.hpp"
#include "iwarp/bytes/touch.hpp"
#include "iwarp/net/quiet_thread.hpp"

namespace iwarp::rdma_core::adversary {
namespace {

using options::Freedom;
using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr std::size_t kMostPieces = 16;
constexpr std::size_t kMostPending = std::size_t{1} << 20;  // bytes of one connection
constexpr microseconds kLongestPlacement{3000};
constexpr microseconds kLongestPause{3000};  // in a Read or an atomic
constexpr std::size_t kSmall = 256;          // bytes; a longer Read pauses in few of its segments

/// Copies octets from or to memory of the application. If this memory is not accessible any more,
/// copies only some of them. Holds no lock that the caller does not hold.
bool copy_octets(const std::byte* from, std::byte* to, std::size_t size) {
  return bytes::guarded([=] {
    bytes::begin_touch();
    std::memcpy(to, from, size);
    bytes::end_touch();
  });
}

}  // namespace

class Landing final : public verbs::Latitude {
 public:
  Landing(Lander& lander, const options::Adversary& choice, Persona persona)
      : lander_(lander),
        choice_(choice),
        is_in_order_(persona == Persona::kRoce),
        dice_(choice.first, Dice::Kind::kPlacement) {}
  ~Landing() override {
    lander_.remove(*this);
    place_all();
  }

  void place_later(verbs::Grant target, std::vector<std::byte> payload) override {
    auto due = Clock::time_point::max();
    {
      const std::lock_guard lock(mutex_);
      pending_octets_ += payload.size();
      Write& write = writes_.emplace_back();
      write.target = std::move(target);
      write.payload = std::move(payload);
      cut(write);
      if (!is_in_order_) overtake(write);
      if (is_recorded()) note_write(write);
      const bool is_late = choice_.has(Freedom::kPlacement) && pending_octets_ < kMostPending;
      due = place_until(is_late ? lander_.now() : Clock::time_point::max());
    }
    if (due != Clock::time_point::max()) lander_.wake(*this, due);
  }

  void place_all() override {
    const std::lock_guard lock(mutex_);
    place_until(Clock::time_point::max());
  }

  void copy(bytes::View from, bytes::Span to) override {
    const auto size = to.size();
    if (size == 0) return;
    const std::size_t step = choice_.has(Freedom::kReads) ? piece_size(size) : size;
    const std::size_t count = (size + step - 1) / step;
    const bool is_backward = count > 1 && dice_.one_in(2);
    // Before the first octet, another Read may already have been placed.
    const bool pauses = choice_.has(Freedom::kReads) && dice_.one_in(size <= kSmall ? 2 : 8);
    const std::size_t pause_at = dice_.below(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (pauses && i == pause_at) std::this_thread::sleep_for(dice_.up_to(kLongestPause));
      const auto at = (is_backward ? count - 1 - i : i) * step;
      bytes::begin_touch();
      std::memcpy(to.data() + at, from.data() + at, std::min(step, size - at));
      bytes::end_touch();
    }
  }

  bool delays_read() override { return choice_.has(Freedom::kReads) && dice_.one_in(2); }

  // InfiniBand orders a Read after a Read, but not an atomic after a Read.
  bool overtakes_read(bool is_read) override {
    return choice_.has(Freedom::kReads) && !(is_read && is_in_order_) && dice_.one_in(2);
  }

  std::uint64_t change(std::byte* at,
                       const std::function<std::uint64_t(std::uint64_t)>& next) override {
    static std::mutex changing;
    const std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(at));
    const bool pauses = choice_.has(Freedom::kAtomics) && dice_.one_in(2);
    std::uint64_t before = 0;
    {
      const std::lock_guard lock(changing);
      const bool is_done = bytes::guarded([&] {
        bytes::begin_touch();
        before = word.load();
        std::uint64_t after = next(before);
        if (pauses) {
          std::this_thread::sleep_for(dice_.up_to(kLongestPause));
          if (after != before) word.store(after);
        } else {
          while (after != before && !word.compare_exchange_weak(before, after))
            after = next(before);
        }
        bytes::end_touch();
      });
      if (is_done) return before;
    }
    // The memory is gone. Touch it again without the lock, so that the connection notices.
    bytes::begin_touch();
    before = word.load();
    bytes::end_touch();
    return before;
  }

  /// Places the pieces that are due, and returns when the next one is due.
  Clock::time_point place_due(Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    return place_until(now);
  }

 private:
  struct Piece {
    std::size_t at;
    std::size_t size;
    Clock::time_point due;
  };
  struct Write {
    verbs::Grant target;
    std::vector<std::byte> payload;
    std::vector<Piece> pieces;  ///< the pieces that are not placed yet
  };

  /// Chooses the size of the pieces: often a few octets, so that words are torn.
  std::size_t piece_size(std::size_t size) {
    const std::size_t least = (size + kMostPieces - 1) / kMostPieces;
    return std::max<std::size_t>(least, std::size_t{1} << dice_.below(8));
  }

  // Call the next four functions with the mutex locked.
  void cut(Write& write) {
    const auto now = lander_.now();
    const auto step = piece_size(write.payload.size());
    const std::uint64_t longest = dice_.one_in(4) ? 0 : kLongestPlacement.count() >> dice_.below(6);
    for (std::size_t at = 0; at < write.payload.size(); at += step) {
      // Half of the octets are placed at once, because a program that looks for the others soon
      // stops to look.
      const microseconds delay(dice_.one_in(2) ? 0 : dice_.below(longest + 1));
      write.pieces.push_back(
          {.at = at, .size = std::min(step, write.payload.size() - at), .due = now + delay});
    }
    // Pieces with the same time are placed in this order.
    for (auto i = write.pieces.size(); i > 1; --i) {
      std::swap(write.pieces[i - 1], write.pieces[dice_.below(i)]);
    }
  }
  // If older Writes to the same memory are not placed yet, places `write` at once, and them later.
  void overtake(Write& write) {
    const auto now = lander_.now();
    const bytes::Span memory = write.target.memory();
    for (Write& older : writes_) {
      const bytes::Span its = older.target.memory();
      const bool overlaps =
          its.data() < memory.data() + memory.size() && memory.data() < its.data() + its.size();
      if (&older == &write || !overlaps) continue;
      for (Piece& piece : older.pieces) piece.due = now + dice_.up_to(kLongestPlacement);
      for (Piece& piece : write.pieces) piece.due = now;
    }
  }
  void note_write(const Write& write) const {
    const auto last = std::ranges::max(write.pieces, {}, &Piece::due).due;
    const auto after = std::chrono::duration_cast<microseconds>(last - lander_.now());
    note("a Write of {} octets at {} is placed in {} pieces within {} us", write.payload.size(),
         verbs::virtual_address(write.target.memory().data()), write.pieces.size(),
         std::max<std::int64_t>(0, after.count()));
  }
  Clock::time_point place_until(Clock::time_point now) {
    auto next = Clock::time_point::max();
    // When all payload has to be placed, Writes may become visible in any order, too.
    const bool is_reversed = now == next && !is_in_order_ && writes_.size() > 1 && dice_.one_in(2);
    if (is_reversed) std::ranges::reverse(writes_);
    for (Write& write : writes_) {
      std::erase_if(write.pieces, [&](const Piece& piece) {
        if (piece.due > now) {
          next = std::min(next, piece.due);
          return false;
        }
        const auto at = static_cast<std::ptrdiff_t>(piece.at);
        (void)copy_octets(write.payload.data() + at, write.target.memory().data() + at, piece.size);
        return true;
      });
      if (is_in_order_ && !write.pieces.empty()) break;
    }
    std::erase_if(writes_, [this](const Write& write) {
      if (!write.pieces.empty()) return false;
      pending_octets_ -= write.payload.size();
      return true;
    });
    return next;
  }

  Lander& lander_;
  const options::Adversary choice_;
  const bool is_in_order_;
  Dice dice_;  ///< used with the connection's lock held
  std::mutex mutex_;
  std::deque<Write> writes_;
  std::atomic<std::size_t> pending_octets_{0};
};

Lander::Lander(const options::Adversary& choice, Persona persona)
    : choice_(choice), persona_(persona), dice_(choice.first, Dice::Kind::kPlacement) {
  net::quiet_thread([this] { run(); }).detach();
}

std::unique_ptr<verbs::Latitude> Lander::make_latitude() {
  auto out = std::make_unique<Landing>(*this, choice_, persona_);
  const std::lock_guard lock(mutex_);
  due_[out.get()] = Clock::time_point::max();
  return out;
}

void Lander::polled() {
  const std::lock_guard lock(mutex_);
  for (const auto& [landing, due] : due_) {
    if (due != Clock::time_point::max() && dice_.one_in(4)) landing->place_all();
  }
}

void Lander::remove(Landing& landing) {
  const std::lock_guard lock(mutex_);
  due_.erase(&landing);
}

void Lander::wake(Landing& landing, Clock::time_point due) {
  {
    const std::lock_guard lock(mutex_);
    auto& at = due_[&landing];
    at = std::min(at, due);
    is_due_ = true;
  }
  changed_.notify_one();
}

// Places the pieces of all connections in the order of their times, also if the thread wakes up
// late.
void Lander::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    is_due_ = false;
    const auto first =
        std::ranges::min_element(due_, {}, [](const auto& each) { return each.second; });
    const auto at = first != due_.end() ? first->second : Clock::time_point::max();
    if (const auto clock = now(); at <= clock) {
      lag_.store(lag_.load() + (clock - at));
      first->second = first->first->place_due(at);
      continue;
    }
    const auto hour = Clock::now() + std::chrono::hours(1);
    const auto next = at < hour ? at + lag_.load() : hour;
    changed_.wait_until(lock, next, [this] { return is_due_; });
  }
}

}  // namespace iwarp::rdma_core::adversary
