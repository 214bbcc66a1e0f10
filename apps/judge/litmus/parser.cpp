// SPDX-License-Identifier: Apache-2.0
// Parser: builds a Program from tokens by recursive descent. Refuses a program that some device
// could not run, with the line and what was expected there.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "judge/litmus/program.hpp"
#include "judge/litmus/tokens.hpp"

namespace iwarp::judge::litmus {
namespace {

constexpr std::size_t kMaxWords = 1 << 17;   // 1 MiB
constexpr std::size_t kMostStatements = 16;  // of a thread: fits the queues of every device

template <typename T>
std::size_t find(const std::vector<T>& list, std::string_view name) {
  const auto found = std::ranges::find_if(list, [&](const T& one) {
    if constexpr (std::is_same_v<T, std::string>) {
      return one == name;
    } else {
      return one.name == name;
    }
  });
  return found == list.end() ? kNone : static_cast<std::size_t>(found - list.begin());
}

std::size_t find_or_add(std::vector<std::string>& list, std::string_view name) {
  const std::size_t at = find(list, name);
  if (at == kNone) list.emplace_back(name);
  return at == kNone ? list.size() - 1 : at;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(tokens_of(text)) {}

  Program parse() {
    expect("RDMA");
    program_.name = name("the name of the program");
    while (accept("host")) host();
    while (accept("qp")) queue_pair();
    while (accept("thread")) thread();
    if (program_.threads.empty()) fail("'host', 'qp' or 'thread'");
    check_messages();
    for (std::size_t i = 0; i < program_.registers.size(); ++i) {
      program_.shown.push_back(
          {.kind = Operand::Kind::kRegister, .index = i, .text = program_.registers[i]});
    }
    expect("exists");
    const char* const begin = peek().text.data();
    expect("(");
    program_.question = any_of();
    const Token& end = peek();
    expect(")");
    program_.question_text = std::string(begin, end.text.data() + end.text.size());
    program_.iwarp = verdict("iwarp");
    program_.ib = verdict("ib");
    if (peek().kind != Token::Kind::kEnd) fail("the end of the file");
    return std::move(program_);
  }

 private:
  const Token& peek() const { return tokens_[at_]; }
  const Token& take() { return tokens_[at_ + 1 == tokens_.size() ? at_ : at_++]; }
  [[noreturn]] void fail(std::string expected) { fail_at(peek(), std::move(expected)); }
  [[noreturn]] static void fail_at(const Token& token, std::string expected) {
    throw SyntaxError{token.line, std::move(expected), shown(token)};
  }
  bool accept(std::string_view text) {
    const bool is = peek().kind != Token::Kind::kString && peek().text == text;
    if (is) take();
    return is;
  }
  void expect(std::string_view text) {
    if (!accept(text)) fail(fmt::format("'{}'", text));
  }
  std::string name(std::string_view what) {
    if (peek().kind != Token::Kind::kName) fail(std::string(what));
    return std::string(take().text);
  }
  std::uint64_t number(std::string_view what = "a number") {
    const Token& token = peek();
    std::uint64_t value = 0;
    const std::string_view text = token.text;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(&*text.begin(), end, value);
    if (token.kind != Token::Kind::kNumber || read.ptr != end || read.ec != std::errc{}) {
      fail(std::string(what));
    }
    take();
    return value;
  }

  /// An object that is declared already.
  template <typename T>
  std::size_t known(const std::vector<T>& list, std::string_view what) {
    const std::size_t at = find(list, peek().text);
    if (at == kNone || peek().kind != Token::Kind::kName) fail(std::string(what));
    take();
    return at;
  }
  /// A name that is not used yet.
  std::string new_name(std::string_view what) {
    const Token& token = peek();
    std::string out = name(what);
    if (find(program_.hosts, out) != kNone || find(program_.locations, out) != kNone ||
        find(program_.qps, out) != kNone || find(program_.threads, out) != kNone) {
      fail_at(token, "an unused name");
    }
    return out;
  }

  void host() {
    const std::size_t host = program_.hosts.size();
    program_.hosts.push_back(new_name("a host"));
    expect("{");
    std::size_t at = 0;
    while (!accept("}")) {
      Location location{.name = {}, .host = host, .at = at, .is_window = accept("window")};
      location.name = new_name("a location or '}'");
      if (accept("[")) {
        const Token& token = peek();
        location.words = number("the number of words");
        if (location.words == 0 || location.words > kMaxWords) {
          fail_at(token, fmt::format("1 to {} words", kMaxWords));
        }
        expect("]");
      }
      if (accept("=")) location.initial = number();
      expect(";");
      at += (location.words * sizeof(std::uint64_t) + kCacheLine - 1) / kCacheLine * kCacheLine;
      program_.locations.push_back(std::move(location));
    }
  }

  void queue_pair() {
    QueuePair qp{.name = new_name("a queue pair")};
    expect("=");
    qp.hosts[0] = known(program_.hosts, "a host");
    const Token& second = peek();
    qp.hosts[1] = known(program_.hosts, "a host");
    if (qp.hosts[0] == qp.hosts[1]) fail_at(second, "another host");
    expect(";");
    program_.qps.push_back(std::move(qp));
    owners_.push_back({kNone, kNone});
  }

  void thread() {
    Thread thread{.name = new_name("a thread"), .host = 0, .statements = {}};
    expect("on");
    thread.host = known(program_.hosts, "a host");
    host_ = thread.host;
    expect("{");
    while (!accept("}")) {
      if (thread.statements.size() == kMostStatements) {
        fail(fmt::format("'}}', because a thread has at most {} statements", kMostStatements));
      }
      thread.statements.push_back(statement());
    }
    program_.threads.push_back(std::move(thread));
  }

  /// A location of this thread's host.
  std::size_t local() {
    const Token& token = peek();
    const std::size_t at = known(program_.locations, "a location");
    if (program_.locations[at].host != host_) {
      fail_at(token, fmt::format("a location of host {}", program_.hosts[host_]));
    }
    return at;
  }
  /// A location of another host, which thereby is the peer.
  std::size_t remote(std::size_t& peer) {
    const Token& token = peek();
    const std::size_t at = known(program_.locations, "a location of another host");
    peer = program_.locations[at].host;
    if (peer == host_) fail_at(token, "a location of another host");
    return at;
  }

  Statement statement() {
    struct Word {
      std::string_view text;
      Op op;
    };
    constexpr Word kWords[] = {
        {"await", Op::kAwait},
        {"tell", Op::kTell},
        {"hear", Op::kHear},
        {"poll", Op::kPoll},
        {"try", Op::kTry},
        {"receive", Op::kReceive},
        {"deregister", Op::kDeregister},
        {"invalidate", Op::kInvalidate},
        {"write", Op::kWrite},
        {"read", Op::kRead},
        {"send", Op::kSend},
        {"faa", Op::kFetchAdd},
        {"cas", Op::kCompareSwap},
    };
    Statement out{.line = peek().line};
    const auto* const word = std::ranges::find(kWords, peek().text, &Word::text);
    if (word == std::end(kWords)) {
      assignment(out);
    } else {
      take();
      out.op = word->op;
      operands(out);
    }
    expect(";");
    return out;
  }

  void assignment(Statement& out) {
    const Token& token = peek();
    const std::string target = name("a statement or '}'");
    if (const std::size_t location = find(program_.locations, target); location != kNone) {
      --at_;
      out.local = local();
      if (accept("+=")) {
        out.op = Op::kAdd;
        out.value[0] = number();
        return;
      }
      expect("=");
      out.op = Op::kStore;
      if (peek().kind == Token::Kind::kNumber) {
        out.value[0] = number();
      } else {
        out.reg = known(program_.registers, "a number or a register");
      }
      return;
    }
    if (peek().text != "=") fail_at(token, "a statement or '}'");
    --at_;
    out.reg = new_register();
    take();
    out.op = Op::kLoad;
    out.local = local();
    out.word = word_of(out.local);
  }

  std::size_t new_register() {
    const Token& token = peek();
    const std::string out = name("a register");
    if (find(program_.registers, out) != kNone || find(program_.locations, out) != kNone) {
      fail_at(token, "a register that is not assigned yet");
    }
    return find_or_add(program_.registers, out);
  }

  std::size_t word_of(std::size_t location) {
    if (!accept("[")) return 0;
    const Token& token = peek();
    const std::size_t word = number("the index of a word");
    if (word >= program_.locations[location].words) {
      fail_at(token, fmt::format("an index below {}", program_.locations[location].words));
    }
    expect("]");
    return word;
  }

  void operands(Statement& out) {
    std::size_t peer = kNone;  // any
    switch (out.op) {
      case Op::kAwait:
        out.local = local();
        out.word = word_of(out.local);
        out.value[0] = number();
        return;
      case Op::kTell:
      case Op::kHear:
        out.flag = find_or_add(program_.flags, name("a flag"));
        return;
      case Op::kDeregister:
      case Op::kInvalidate:
        window_or_region(out);
        break;
      case Op::kTry:
        out.reg = new_register();
        break;
      case Op::kReceive:
        if (peek().text != ";" && peek().text != "via") out.local = local();
        break;
      case Op::kSend:
        out.local = local();
        if (accept("invalidating")) {
          const Token& token = peek();
          out.remote = remote(peer);
          if (!program_.locations[out.remote].is_window) fail_at(token, "a window");
        }
        break;
      case Op::kWrite:
        out.remote = remote(peer);
        expect("=");
        out.local = local();
        break;
      case Op::kRead:
      case Op::kFetchAdd:
      case Op::kCompareSwap:
        out.local = local();
        expect("=");
        out.remote = remote(peer);
        if (out.op != Op::kRead) out.value[0] = number();
        if (out.op == Op::kCompareSwap) out.value[1] = number("the value to store");
        break;
      default:
        break;
    }
    if (out.op == Op::kWrite || out.op == Op::kRead) check_sizes(out);
    choose_queue_pair(out, peer);
    options(out);
  }

  void check_sizes(const Statement& out) {
    const std::size_t words = program_.locations[out.local].words;
    if (program_.locations[out.remote].words != words) {
      throw SyntaxError{
          out.line, "two locations of the same size",
          fmt::format("sizes of {} and {} words", words, program_.locations[out.remote].words)};
    }
  }

  void window_or_region(Statement& out) {
    const Token& token = peek();
    out.local = local();
    if (program_.locations[out.local].is_window == (out.op == Op::kInvalidate)) return;
    fail_at(token, out.op == Op::kInvalidate ? "a window" : "a location that is not a window");
  }

  void choose_queue_pair(Statement& out, std::size_t peer) {
    const Token& token = peek();
    std::vector<std::size_t> fitting;
    const bool is_named = accept("via");
    const std::string_view chosen = peek().text;
    if (is_named) known(program_.qps, "a queue pair");
    for (std::size_t i = 0; i < program_.qps.size(); ++i) {
      const auto& hosts = program_.qps[i].hosts;
      const std::size_t end = hosts[0] == host_ ? 0 : 1;
      if (hosts[end] != host_ || (peer != kNone && hosts[1 - end] != peer)) continue;
      if (is_named && program_.qps[i].name != chosen) continue;
      fitting.push_back(i);
    }
    if (fitting.size() != 1) {
      throw SyntaxError{token.line,
                        is_named ? "a queue pair that connects the two hosts" : "'via QUEUE-PAIR'",
                        is_named ? fmt::format("'{}'", chosen)
                                 : fmt::format("{} queue pairs to choose from", fitting.size())};
    }
    out.qp = fitting[0];
    out.end = program_.qps[out.qp].hosts[0] == host_ ? 0 : 1;
    std::size_t& owner = owners_[out.qp][out.end];
    if (owner == kNone) owner = program_.threads.size();
    if (owner != program_.threads.size()) {
      throw SyntaxError{token.line, "a queue pair that no other thread of the host uses",
                        fmt::format("'{}'", program_.qps[out.qp].name)};
    }
  }

  void options(Statement& out) {
    const bool is_request = out.op >= Op::kWrite;
    const bool has_payload = out.op == Op::kWrite || out.op == Op::kSend;
    for (;;) {
      if (is_request && accept("fenced")) {
        out.is_fenced = true;
      } else if (is_request && accept("unsignaled")) {
        out.is_unsignaled = true;
      } else if (is_request && accept("may-fail")) {
        out.may_fail = true;
      } else if (has_payload && accept("inline")) {
        out.is_inline = true;
      } else if (has_payload && out.remote != kNone && accept("immediate")) {
        out.has_immediate = true;
      } else {
        return;
      }
    }
  }

  /// Each message that consumes a receive needs one, or the connection fails.
  void check_messages() {
    std::vector<std::array<std::array<std::size_t, 2>, 2>> counts(program_.qps.size());
    for (const Thread& thread : program_.threads) {
      for (const Statement& each : thread.statements) {
        if (each.op == Op::kSend || each.has_immediate) ++counts[each.qp][each.end][0];
        if (each.op == Op::kReceive) ++counts[each.qp][1 - each.end][1];
      }
    }
    for (std::size_t qp = 0; qp < counts.size(); ++qp) {
      for (const auto& [messages, receives] : counts[qp]) {
        if (messages == receives) continue;
        throw SyntaxError{peek().line,
                          fmt::format("{} statements 'receive' for the messages of {}", messages,
                                      program_.qps[qp].name),
                          fmt::format("{}", receives)};
      }
    }
  }

  Condition any_of() {
    return list(Condition::Kind::kOr, "\\/", [&] { return all_of(); });
  }
  Condition all_of() {
    return list(Condition::Kind::kAnd, "/\\", [&] { return term(); });
  }
  template <typename Part>
  Condition list(Condition::Kind kind, std::string_view sign, Part part) {
    Condition first = part();
    if (peek().text != sign) return first;
    Condition out{.kind = kind, .parts = {std::move(first)}};
    while (accept(sign)) out.parts.push_back(part());
    return out;
  }

  Condition term() {
    if (accept("~")) return {.kind = Condition::Kind::kNot, .parts = {term()}};
    if (accept("(")) {
      Condition out = any_of();
      expect(")");
      return out;
    }
    Condition out;
    out.operands[0] = operand();
    if (accept("=")) {
      out.kind = Condition::Kind::kEqual;
    } else if (accept("!=")) {
      out.kind = Condition::Kind::kNotEqual;
    } else if (accept("<")) {
      out.kind = Condition::Kind::kLess;
    } else {
      fail("'=', '!=' or '<'");
    }
    out.operands[1] = operand();
    return out;
  }

  Operand operand() {
    if (peek().kind == Token::Kind::kNumber) return {.number = number(), .text = {}};
    if (const std::size_t reg = find(program_.registers, peek().text); reg != kNone) {
      return {.kind = Operand::Kind::kRegister, .index = reg, .text = std::string(take().text)};
    }
    Operand out{.kind = Operand::Kind::kLocation, .text = std::string(peek().text)};
    out.index = known(program_.locations, "a number, a register or a location");
    out.word = word_of(out.index);
    if (out.word != 0) out.text += fmt::format("[{}]", out.word);
    if (std::ranges::find(program_.shown, out.text, &Operand::text) == program_.shown.end()) {
      program_.shown.push_back(out);
    }
    return out;
  }

  Verdict verdict(std::string_view persona) {
    expect(persona);
    const Token& token = peek();
    const std::string answer = name("'Never', 'Sometimes' or 'Always'");
    Verdict out;
    for (out.answer = Answer::kNever; name_of(out.answer) != answer;) {
      if (out.answer == Answer::kAlways) fail_at(token, "'Never', 'Sometimes' or 'Always'");
      out.answer = static_cast<Answer>(static_cast<int>(out.answer) + 1);
    }
    if (peek().kind != Token::Kind::kString) fail("the source, in quotes");
    if (peek().text.empty()) fail("a source that is not empty");
    out.source = std::string(take().text);
    expect(";");
    return out;
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  Program program_;
  std::size_t host_ = 0;                            // of the thread that is being read
  std::vector<std::array<std::size_t, 2>> owners_;  // the threads that use the ends of each qp
};

}  // namespace

std::string_view name_of(Answer answer) {
  constexpr std::string_view kNames[] = {"Never", "Sometimes", "Always"};
  return kNames[static_cast<std::size_t>(answer)];
}

Program parse(std::string_view text) { return Parser(text).parse(); }

}  // namespace iwarp::judge::litmus
