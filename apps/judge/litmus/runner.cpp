// SPDX-License-Identifier: Apache-2.0
// Runner: the threads of a program, the random delays between their statements, and the count of
// outcomes. All threads start each run together.
#include "judge/litmus/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "judge/litmus/links.hpp"

namespace iwarp::judge::litmus {
namespace {

class Runner {
 public:
  Runner(const Program& program, Judge& judge, std::uint64_t runs, std::uint64_t seed)
      : program_(program),
        seed_(seed),
        links_(program, judge),
        registers_(program.registers.size()),
        flags_(program.flags.size()) {
    result_.runs = runs;
    result_.expected = judge.is_iwarp() ? program.iwarp : program.ib;
  }

  Result run() {
    const auto start = std::chrono::steady_clock::now();
    std::barrier between(static_cast<std::ptrdiff_t>(program_.threads.size()),
                         [this]() noexcept { next_run(); });
    {
      std::vector<std::jthread> threads;
      threads.reserve(program_.threads.size());
      for (const Thread& thread : program_.threads) {
        threads.emplace_back([&, index = threads.size()] {
          std::minstd_rand random(static_cast<std::uint32_t>(seed_ * 64 + index + 1));
          for (std::uint64_t run = 1;; ++run) {
            between.arrive_and_wait();
            if (is_over_) return;
            await_start(run);
            try {
              for (const Statement& each : thread.statements) {
                delay(random, thread);
                execute(thread, each);
              }
            } catch (const Stopped& stopped) {
              stop(stopped.why);
            }
          }
        });
      }
    }
    if (why_stopped_) throw Stopped{*why_stopped_};
    result_.took = std::chrono::steady_clock::now() - start;
    const bool is_forbidden =
        (result_.expected.answer == Answer::kNever && result_.hits != 0) ||
        (result_.expected.answer == Answer::kAlways && result_.hits != result_.runs);
    result_.verdict = is_forbidden ? Result::Verdict::kForbidden : Result::Verdict::kRight;
    return std::move(result_);
  }

 private:
  // Between two runs. One of the threads executes this while the others wait.

  void next_run() noexcept {
    try {
      if (is_started_ && !why_stopped_) {
        links_.settle();
        count();
        ++done_;
      }
      is_started_ = true;
      if (why_stopped_ || done_ == result_.runs) {
        is_over_ = true;
      } else {
        for (auto& flag : flags_) flag.store(false);
        links_.reset();
      }
    } catch (const Stopped& stopped) {
      stop(stopped.why);
      is_over_ = true;
    } catch (const Ended&) {
      stop("a call failed");
      is_over_ = true;
    } catch (const Refused& refused) {
      stop(refused.why);
      is_over_ = true;
    }
  }

  Word value(const Operand& operand) {
    switch (operand.kind) {
      case Operand::Kind::kNumber:
        return operand.number;
      case Operand::Kind::kRegister:
        return registers_[operand.index];
      case Operand::Kind::kLocation:
        break;
    }
    const Location& location = program_.locations[operand.index];
    return links_.memory(location.host).load(location.at + operand.word * sizeof(Word));
  }

  bool holds(const Condition& condition) {
    const auto part_holds = [this](const Condition& part) { return holds(part); };
    const auto& [left, right] = condition.operands;
    switch (condition.kind) {
      case Condition::Kind::kAnd:
        return std::ranges::all_of(condition.parts, part_holds);
      case Condition::Kind::kOr:
        return std::ranges::any_of(condition.parts, part_holds);
      case Condition::Kind::kNot:
        return !holds(condition.parts[0]);
      case Condition::Kind::kEqual:
        return value(left) == value(right);
      case Condition::Kind::kNotEqual:
        return value(left) != value(right);
      case Condition::Kind::kLess:
        break;
    }
    return value(left) < value(right);
  }

  void count() {
    std::vector<Word> outcome;
    outcome.reserve(program_.shown.size());
    for (const Operand& each : program_.shown) outcome.push_back(value(each));
    const auto [entry, is_new] = result_.histogram.try_emplace(std::move(outcome));
    if (is_new) entry->second.is_hit = holds(program_.question);
    ++entry->second.runs;
    result_.hits += entry->second.is_hit ? 1 : 0;
  }

  /// Waits until all threads run. The barrier wakes one after the other, and the time between the
  /// first and the last exceeds that of a program.
  void await_start(std::uint64_t run) {
    awake_.fetch_add(1);
    for (unsigned turn = 1; awake_.load() < run * program_.threads.size(); ++turn) {
      if (turn % 256 == 0) std::this_thread::yield();
    }
  }

  // Statements.

  void delay(std::minstd_rand& random, const Thread& thread) {
    const auto number = random();
    if (number % 2 == 0) return;
    if (number % 8 < 4) links_.drive(thread.host);
    if (number % 64 == 1) std::this_thread::yield();
    const auto scale = (number >> 6) % 20;
    if (scale >= 16) return std::this_thread::sleep_for(std::chrono::microseconds(number >> 21));
    const auto turns = (number >> 10) % (1U << scale);
    for (std::uint_fast32_t i = 0; i < turns; ++i)
      std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  void execute(const Thread& thread, const Statement& statement) {
    Memory& memory = links_.memory(thread.host);
    const Location* const local =
        statement.local != kNone ? &program_.locations[statement.local] : nullptr;
    const std::size_t at = local != nullptr ? local->at + statement.word * sizeof(Word) : 0;
    const auto fail = [&](std::string_view what) {
      throw Stopped{fmt::format("{}, line {}: {}", thread.name, statement.line, what)};
    };
    const auto complete = [&](ibv_cq* cq) {
      const auto wc = next(cq);
      if (!wc) fail("no completion arrived");
      if (wc->status != IBV_WC_SUCCESS && !links_.may_fail(statement)) {
        fail(ibv_wc_status_str(wc->status));
      }
    };
    switch (statement.op) {
      case Op::kStore: {
        const Word value = statement.reg != kNone ? registers_[statement.reg] : statement.value[0];
        for (std::size_t i = 0; i < local->words; ++i) memory.store(at + i * sizeof(Word), value);
        break;
      }
      case Op::kLoad:
        registers_[statement.reg] = memory.load(at);
        break;
      case Op::kAdd:
        memory.store(at, memory.load(at) + statement.value[0]);
        break;
      case Op::kAwait:
        if (!wait_until([&] { return memory.load(at) == statement.value[0]; })) {
          fail("the awaited value did not arrive");
        }
        break;
      case Op::kTell:
        flags_[statement.flag].store(true);
        break;
      case Op::kHear:
        if (!wait_until([&] { return flags_[statement.flag].load(); }))
          fail("no thread set the flag");
        break;
      case Op::kTry: {
        ibv_wc wc{};
        registers_[statement.reg] =
            static_cast<Word>(ibv_poll_cq(links_.send_cq(statement), 1, &wc));
        break;
      }
      case Op::kPoll:
        complete(links_.send_cq(statement));
        break;
      case Op::kReceive:
        complete(links_.recv_cq(statement));
        break;
      case Op::kDeregister:
        if (const int code = links_.deregister(statement); code != 0) {
          fail("ibv_dereg_mr: " + errno_name(code));
        }
        break;
      default:
        if (const int code = links_.post(statement); code != 0) {
          fail("ibv_post_send: " + errno_name(code));
        }
    }
  }

  void stop(const std::string& why) {
    const std::scoped_lock lock(mutex_);
    if (!why_stopped_) why_stopped_ = why;
  }

  const Program& program_;
  const std::uint64_t seed_;
  Links links_;
  std::vector<Word> registers_;
  std::vector<std::atomic<bool>> flags_;
  Result result_;
  std::uint64_t done_ = 0;
  std::atomic<std::uint64_t> awake_ = 0;  ///< threads that have started a run, of all runs
  bool is_started_ = false;
  bool is_over_ = false;
  std::mutex mutex_;
  std::optional<std::string> why_stopped_;
};

std::string text_of(const Observation& one) {
  return fmt::format("{}: expected {}; observed {}", one.step, one.expected, one.observed);
}

}  // namespace

Result run(const Program& program, const Target& target, std::uint64_t runs, std::uint64_t seed) {
  Observation last_wrong;
  Judge judge(target, [&](const Observation& one) {
    if (!one.is_right) last_wrong = one;
  });
  Result out;
  try {
    return Runner(program, judge, runs, seed).run();
  } catch (const Stopped& stopped) {
    out.verdict = Result::Verdict::kFailed;
    out.why = stopped.why;
    if (!last_wrong.step.empty()) {
      out.why += fmt::format(" ({})", text_of(last_wrong));
    }
  } catch (const Ended&) {
    out.verdict = Result::Verdict::kFailed;
    out.why = text_of(last_wrong);
  } catch (const Refused& refused) {
    out.verdict = Result::Verdict::kNotApplicable;
    out.why = refused.why;
  } catch (const NotApplicable& reason) {
    out.verdict = Result::Verdict::kNotApplicable;
    out.why = reason.why;
  }
  return out;
}

}  // namespace iwarp::judge::litmus
