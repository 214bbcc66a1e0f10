// SPDX-License-Identifier: Apache-2.0
// What a litmus program runs on: the memory of its hosts, and its queue pairs. Each host is the two
// or more ends of queue pairs that share its memory.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "judge/litmus/program.hpp"
#include "judge/tools/ends.hpp"

namespace iwarp::judge::litmus {

using Word = std::uint64_t;

/// Thrown if a program cannot go on.
struct Stopped {
  std::string why;
};

/// The memory of a host, which peers change at any time. As on x86, loads and stores of a thread
/// keep their order, except a store with a later load.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : lines_((bytes + kCacheLine - 1) / kCacheLine) {}
  Word* word(std::size_t at) {
    return &lines_[at / kCacheLine].words[at % kCacheLine / sizeof(Word)];
  }
  Word load(std::size_t at) { return std::atomic_ref(*word(at)).load(std::memory_order_acquire); }
  void store(std::size_t at, Word value) {
    std::atomic_ref(*word(at)).store(value, std::memory_order_release);
  }
  std::size_t size() const { return lines_.size() * kCacheLine; }

 private:
  struct alignas(kCacheLine) Line {
    Word words[kCacheLine / sizeof(Word)] = {};
  };
  std::vector<Line> lines_;
};

class Links {
 public:
  /// Connects the queue pairs. Ends as a case of the judge does if the device lacks something.
  Links(const Program& program, Judge& judge);

  Memory& memory(std::size_t host) { return memories_[host]; }

  /// Gives all locations their initial values, posts the receives and binds the windows. Call this
  /// while no thread runs and after settle().
  void reset();
  /// Waits until all requests have had their effect and discards the completions that remain.
  /// Replaces queue pairs that have failed, if the program allows it.
  void settle();

  /// Polls where no completion can be, because a device may move the data of a connection only
  /// while the program polls its queues. Any thread may call this.
  void drive(std::size_t host);

  // Statements of the program's threads. Each end belongs to one thread.

  /// Returns an errno value.
  int post(const Statement& statement);
  int deregister(const Statement& statement);
  ibv_cq* send_cq(const Statement& statement) const;
  ibv_cq* recv_cq(const Statement& statement) const;
  bool may_fail(const Statement& statement) const { return links_[statement.qp].may_fail; }

 private:
  /// One end of a queue pair, with the memory of its host registered in its PD.
  struct Side {
    End* end = nullptr;
    Memory* memory = nullptr;
    Mr mr;
    std::uint32_t rkey = 0;             // of `mr`; remains when the program deregisters it
    std::map<std::size_t, Mw> windows;  // by location
    std::vector<const Statement*> receives;
    bool is_used = false;  // whether the program posts requests here
    // How the last Read that ended a run completed; nullopt while it is outstanding.
    std::optional<ibv_wc_status> settled = IBV_WC_SUCCESS;
  };
  struct Link {
    std::unique_ptr<Pair> pair;
    std::array<Side, 2> sides;
    bool may_fail = false;
  };

  Needs needs() const;
  void connect(std::size_t qp);
  static void begin_settling(Link& link, Side& side);
  static void finish_settling(std::span<Link> links);
  ibv_sge sge(const Side& side, std::size_t location) const;
  void post_receive(const Side& side, const Statement& statement) const;
  void bind_windows(Side& side, std::size_t host);

  const Program& program_;
  Judge& judge_;
  EndOptions options_;
  std::vector<Memory> memories_;
  std::vector<Link> links_;
};

/// Calls `holds` until it returns true, for kLimit at most.
template <typename Holds>
bool wait_until(Holds holds) {
  const auto end = std::chrono::steady_clock::now() + kLimit;
  for (unsigned turn = 1; !holds(); ++turn) {
    if (turn % 64 != 0) continue;
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace iwarp::judge::litmus
