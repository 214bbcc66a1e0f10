// SPDX-License-Identifier: Apache-2.0
// A litmus program: a few short threads on two or three hosts, a question about what they can see,
// and the answer that a standard gives. rfc-notes/litmus.md describes the language.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace iwarp::judge::litmus {

inline constexpr std::size_t kNone = static_cast<std::size_t>(-1);
inline constexpr std::size_t kCacheLine = 64;  ///< in bytes

/// Named memory of a host: one or more words of 8 bytes. Each location begins a cache line.
struct Location {
  std::string name;
  std::size_t host = 0;
  std::size_t words = 1;
  std::uint64_t initial = 0;  ///< of each word
  std::size_t at = 0;         ///< offset in the memory of the host, in bytes
  bool is_window = false;     ///< peers reach it through a memory window of type 2
};

struct QueuePair {
  std::string name;
  std::array<std::size_t, 2> hosts{};
};

enum class Op : std::uint8_t {
  kStore,        // x = 1; x = r;
  kLoad,         // r = x;
  kAdd,          // x += 1; a load and a store, not atomic
  kAwait,        // await x 1;
  kTell,         // tell f;
  kHear,         // hear f;
  kPoll,         // poll;
  kTry,          // try r; polls once, and stores the number of completions
  kReceive,      // receive x;
  kDeregister,   // deregister z;
  kInvalidate,   // invalidate z;
  kWrite,        // write z = x;
  kRead,         // read x = z;
  kSend,         // send x;
  kFetchAdd,     // faa x = z 1;
  kCompareSwap,  // cas x = z 0 1;
};

/// One statement. Locations, registers, flags and queue pairs are indices into the program's lists.
struct Statement {
  std::size_t line = 0;
  Op op = Op::kStore;
  std::size_t local = kNone;   ///< the location of the thread's own host
  std::size_t word = 0;        ///< of `local`, for a load
  std::size_t remote = kNone;  ///< the peer's location, or of a Send that invalidates
  std::size_t reg = kNone;
  std::size_t flag = kNone;  ///< of tell and hear
  std::size_t qp = kNone;
  std::size_t end = 0;  ///< 0 or 1: which end of the queue pair belongs to the thread
  std::array<std::uint64_t, 2> value{};
  bool is_fenced = false;
  bool is_unsignaled = false;
  bool is_inline = false;
  bool has_immediate = false;
  bool may_fail = false;  ///< the device may refuse the request; the queue pair is then replaced
};

struct Thread {
  std::string name;
  std::size_t host = 0;
  std::vector<Statement> statements;
};

/// A number, a register, or one word of a location, after all threads have ended.
struct Operand {
  enum class Kind : std::uint8_t { kNumber, kRegister, kLocation };
  Kind kind = Kind::kNumber;
  std::uint64_t number = 0;
  std::size_t index = 0;
  std::size_t word = 0;
  std::string text;  ///< as in the file
};

struct Condition {
  enum class Kind : std::uint8_t { kAnd, kOr, kNot, kEqual, kNotEqual, kLess };
  Kind kind = Kind::kAnd;
  std::vector<Condition> parts;       // of kAnd, kOr and kNot
  std::array<Operand, 2> operands{};  // of comparisons
};

enum class Answer : std::uint8_t { kNever, kSometimes, kAlways };
std::string_view name_of(Answer answer);

struct Verdict {
  Answer answer = Answer::kSometimes;
  std::string source;  ///< where the standard says so
};

struct Program {
  std::string name;
  std::vector<std::string> hosts;
  std::vector<Location> locations;
  std::vector<QueuePair> qps;
  std::vector<Thread> threads;
  std::vector<std::string> registers;
  std::vector<std::string> flags;
  Condition question;
  std::string question_text;
  Verdict iwarp;
  Verdict ib;
  /// What an outcome shows: each register, and each word that the question names.
  std::vector<Operand> shown;
};

/// Thrown by parse().
struct SyntaxError {
  std::size_t line = 0;
  std::string expected;
  std::string found;
};

Program parse(std::string_view text);

}  // namespace iwarp::judge::litmus
