// SPDX-License-Identifier: Apache-2.0
// Parses plans. The tables in this file define the grammar: the words, and which acts may follow
// which events. If a word is in no table, the error message quotes this word as printable ASCII.
#include "faults/plan.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

#include "iwarp/verbs/log_record.hpp"

namespace iwarp::rdma_core::fault {
namespace {

using std::chrono::nanoseconds;

template <typename T>
struct Named {
  std::string_view name;
  T value;
};

template <typename T, std::size_t N>
const T* find(const std::array<Named<T>, N>& in, std::string_view name) {
  const auto it = std::ranges::find(in, name, &Named<T>::name);
  return it != in.end() ? &it->value : nullptr;
}

// The names of events; a plan may also use the plural.
constexpr std::array kEvents{
    Named<Event>{"completion", Event::kCompletions},
    Named<Event>{"send", Event::kSends},
    Named<Event>{"receive", Event::kReceives},
    Named<Event>{"registration", Event::kRegistrations},
    Named<Event>{"creation", Event::kCreations},
    Named<Event>{"octet", Event::kOctets},
    Named<Event>{"datagram", Event::kDatagrams},
};

// The statuses that a plan may contain, with their numbers from <infiniband/verbs.h> (IBV_WC_*).
// faults/hooks.cpp asserts that the numbers are correct. The statuses of reliable datagram domains
// and contexts are omitted, because the requests of a reliable connection cannot have them.
constexpr std::array kStatuses{
    Named<int>{"LOC_LEN_ERR", 1},       Named<int>{"LOC_QP_OP_ERR", 2},
    Named<int>{"LOC_PROT_ERR", 4},      Named<int>{"WR_FLUSH_ERR", 5},
    Named<int>{"MW_BIND_ERR", 6},       Named<int>{"BAD_RESP_ERR", 7},
    Named<int>{"LOC_ACCESS_ERR", 8},    Named<int>{"REM_INV_REQ_ERR", 9},
    Named<int>{"REM_ACCESS_ERR", 10},   Named<int>{"REM_OP_ERR", 11},
    Named<int>{"RETRY_EXC_ERR", 12},    Named<int>{"RNR_RETRY_EXC_ERR", 13},
    Named<int>{"REM_ABORT_ERR", 16},    Named<int>{"FATAL_ERR", 19},
    Named<int>{"RESP_TIMEOUT_ERR", 20}, Named<int>{"GENERAL_ERR", 21},
};

constexpr std::array kErrors{
    Named<int>{"ENOMEM", ENOMEM}, Named<int>{"EINVAL", EINVAL},
    Named<int>{"EAGAIN", EAGAIN}, Named<int>{"EIO", EIO},
    Named<int>{"EPERM", EPERM},   Named<int>{"EACCES", EACCES},
    Named<int>{"EFAULT", EFAULT}, Named<int>{"EBUSY", EBUSY},
    Named<int>{"ENOSPC", ENOSPC}, Named<int>{"EMFILE", EMFILE},
    Named<int>{"ENODEV", ENODEV}, Named<int>{"EOPNOTSUPP", EOPNOTSUPP},
};

// The asynchronous events (IBV_EVENT_*) that a plan may raise. All of them are events of the port
// or the device, because the Injector does not count the events that it raises. Events of a queue
// or a queue pair must be counted: before the queue or the queue pair is destroyed, libibverbs.so.1
// waits until the program has acknowledged all of them.
constexpr std::array kTold{
    Named<int>{"LID_CHANGE", 11},        Named<int>{"PKEY_CHANGE", 12}, Named<int>{"SM_CHANGE", 13},
    Named<int>{"CLIENT_REREGISTER", 17}, Named<int>{"GID_CHANGE", 18},
};

constexpr unsigned bit(Event event) { return 1U << static_cast<unsigned>(event); }
constexpr unsigned kAnyEvent = ~0U;
constexpr unsigned kAtTimes = bit(Event::kNow) | bit(Event::kTime);
constexpr unsigned kRequests =
    bit(Event::kCompletions) | bit(Event::kSends) | bit(Event::kReceives);
constexpr unsigned kOfQueuePairs = kRequests | bit(Event::kDatagrams);

/// The kind of subject that a timed rule may name.
enum class About : std::uint8_t { kNothing, kQp, kConnection };

struct Words {
  std::string_view first;
  std::string_view second;  ///< second word of the act, or empty if the act has only one word
  Act act;
  unsigned after;  ///< the set of events that the act may follow
  About about;     ///< the kind of subject to which the act applies in a timed rule
  std::string_view where;
};
constexpr std::array kActs{
    Words{"status", "", Act::kStatus, bit(Event::kCompletions), About::kQp, "completions"},
    Words{"fail", "", Act::kFail,
          bit(Event::kSends) | bit(Event::kReceives) | bit(Event::kRegistrations) |
              bit(Event::kCreations),
          About::kNothing, "sends, receives, registrations and creations"},
    Words{"error", "", Act::kError, kAtTimes | kRequests, About::kQp,
          "times, completions, sends and receives"},
    Words{"rnr", "", Act::kRnr, kAtTimes | kRequests, About::kQp,
          "times, completions, sends and receives"},
    Words{"reset", "", Act::kReset, kAtTimes | bit(Event::kOctets), About::kConnection,
          "times and octets"},
    Words{"lose", "", Act::kLose, bit(Event::kDatagrams), About::kQp, "datagrams"},
    Words{"delay", "", Act::kDelay, bit(Event::kDatagrams), About::kQp, "datagrams"},
    Words{"port", "down", Act::kPortDown, kAnyEvent, About::kNothing, ""},
    Words{"port", "up", Act::kPortUp, kAnyEvent, About::kNothing, ""},
    Words{"tell", "", Act::kTell, kAnyEvent, About::kNothing, ""},
    Words{"remove", "device", Act::kRemove, kAnyEvent, About::kNothing, ""},
};

/// The words of a line. The parser takes them one by one.
class Line {
 public:
  explicit Line(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r";
    text = text.substr(0, text.find('#'));
    for (auto at = text.find_first_not_of(kBlanks); at != text.npos;) {
      const auto end = std::min(text.find_first_of(kBlanks, at), text.size());
      words_.push_back(text.substr(at, end - at));
      at = text.find_first_not_of(kBlanks, end);
    }
  }
  bool empty() const { return words_.empty(); }
  bool done() const { return at_ == words_.size(); }
  /// Returns the next word, or an empty string at the end of the line.
  std::string_view peek() const { return done() ? std::string_view() : words_[at_]; }
  std::string_view take() { return done() ? std::string_view() : words_[at_++]; }
  bool take(std::string_view word) {
    const bool is = !done() && words_[at_] == word;
    if (is) ++at_;
    return is;
  }
  std::string text() const {
    std::string out;
    for (const auto word : words_) (out += out.empty() ? "" : " ") += word;
    return out;
  }

 private:
  std::vector<std::string_view> words_;
  std::size_t at_ = 0;
};

/// The result of the functions that parse a part of a line: an error message, or an empty string on
/// success.
using Why = std::string;

Why instead_of(std::string_view expected, std::string_view word) {
  if (word.empty()) return std::string(expected) + " is missing";
  constexpr std::size_t kShown = 40;
  return verbs::printable(word.substr(0, kShown)) + " is not " + std::string(expected);
}

template <typename T>
bool number(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

/// Parses a duration such as "20ms": a number of at least 1, and a unit. The maximum is one hour.
bool duration(std::string_view text, nanoseconds& out) {
  constexpr std::array kUnits{Named<std::int64_t>{"us", 1'000},
                              Named<std::int64_t>{"ms", 1'000'000},
                              Named<std::int64_t>{"s", 1'000'000'000}};
  constexpr std::int64_t kHour = 3'600'000'000'000;
  const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto* unit = find(kUnits, text.substr(digits));
  std::int64_t count = 0;
  if (unit == nullptr || !number(text.substr(0, digits), count)) return false;
  if (count < 1 || count > kHour / *unit) return false;
  out = nanoseconds(count * *unit);
  return true;
}

/// Parses a chance such as "0.1%" into parts per million. At most four digits may follow the point.
bool chance(std::string_view text, std::uint64_t& out) {
  if (!text.ends_with('%')) return false;
  text.remove_suffix(1);
  constexpr std::size_t kDigits = 4;
  const auto point = std::min(text.find('.'), text.size());
  const auto behind = point == text.size() ? std::string_view() : text.substr(point + 1);
  if (behind.size() > kDigits || (point != text.size() && behind.empty())) return false;
  const std::string digits = std::string(text.substr(0, point)) + std::string(behind) +
                             std::string(kDigits - behind.size(), '0');
  constexpr std::uint64_t kAll = 1'000'000;
  return point != 0 && number(digits, out) && out >= 1 && out <= kAll;
}

Why parse_event(Line& line, Rule& rule) {
  const auto word = line.take();
  auto singular = word;
  if (word.ends_with('s')) singular.remove_suffix(1);
  const Event* const event = find(kEvents, singular);
  if (event == nullptr) {
    return instead_of(
        "one of completions, sends, receives, registrations, creations, octets, datagrams", word);
  }
  rule.event = *event;
  return {};
}

/// Parses a range such as "10 to 20 sends".
Why parse_range(Line& line, Rule& rule) {
  rule.when = When::kRange;
  const auto first = line.take();
  if (!number(first, rule.count) || rule.count == 0) {
    return instead_of("a positive number", first);
  }
  if (!line.take("to")) return instead_of("the word \"to\"", line.peek());
  const auto last = line.take();
  if (!number(last, rule.last)) return instead_of("a number", last);
  if (rule.last < rule.count) {
    return "the range starts at " + std::to_string(rule.count) + " but ends at " +
           std::to_string(rule.last) + " (the end must not be below the start)";
  }
  if (const Why why = parse_event(line, rule); !why.empty()) return why;
  return rule.event == Event::kOctets
             ? "\"from\" cannot be used with octets (use \"after\" or \"every\")"
             : "";
}

Why parse_when(Line& line, Rule& rule) {
  const auto word = line.take();
  if (word == "now") return {};
  if (word == "from") return parse_range(line, rule);
  if (word == "chance") {
    rule.when = When::kChance;
    const auto percent = line.take();
    if (!chance(percent, rule.count)) return instead_of("a chance from 0.0001% to 100%", percent);
    if (const Why why = parse_event(line, rule); !why.empty()) return why;
    return rule.event == Event::kOctets
               ? "\"chance\" cannot be used with octets (use \"after\" or \"every\")"
               : "";
  }
  if (word != "after" && word != "every") {
    return instead_of("one of after, every, from, chance, now, seed", word);
  }
  rule.when = word == "every" ? When::kEvery : When::kAfter;
  const auto amount = line.take();
  if (nanoseconds time{}; duration(amount, time)) {
    rule.event = Event::kTime;
    rule.count = static_cast<std::uint64_t>(time.count());
    return {};
  }
  if (!number(amount, rule.count) || rule.count == 0) {
    return instead_of("a positive number, or a time from 1us to 3600s", amount);
  }
  return parse_event(line, rule);
}

/// Parses a device such as "device rxe0". The caller of the parser knows which devices there are.
Why parse_device(Line& line, Rule& rule) {
  if (!line.take("device")) return {};
  rule.device = line.take();
  if (rule.device.empty()) return instead_of("the name of a device", "");
  return rule.event == Event::kOctets ? "\"device\" cannot be used with octets (use \"connection\")"
                                      : "";
}

/// Parses a subject such as "qp any" or "connection 3".
Why parse_subject(Line& line, Rule& rule, About& about) {
  const bool of_qp = line.peek() == "qp";
  if (!of_qp && line.peek() != "connection") return {};
  line.take();
  about = of_qp ? About::kQp : About::kConnection;
  const auto word = line.take();
  rule.subject.each = word == "each";
  if (word == "any" || word == "each") return {};
  const bool is_number = number(word, rule.subject.number) && rule.subject.number != 0;
  return is_number ? "" : instead_of("\"any\", \"each\" or a positive number", word);
}

Why check_subject(const Rule& rule, const Words& act, About about) {
  if (about == About::kNothing) return {};
  const bool at_times = (bit(rule.event) & kAtTimes) != 0;
  const About allowed = at_times                                 ? act.about
                        : (bit(rule.event) & kOfQueuePairs) != 0 ? About::kQp
                        : rule.event == Event::kOctets           ? About::kConnection
                                                                 : About::kNothing;
  if (about != allowed) {
    constexpr std::array kHints{"remove it", "use \"qp\"", "use \"connection\""};
    const std::string word = about == About::kQp ? "\"qp\"" : "\"connection\"";
    return word + " is not allowed in this rule (" + kHints[static_cast<std::size_t>(allowed)] +
           ")";
  }
  return at_times && rule.subject.each
             ? "\"each\" is allowed only in a rule that counts events (use \"any\")"
             : "";
}

template <std::size_t N>
Why parse_name(Line& line, const std::array<Named<int>, N>& names, std::string_view prefix,
               std::string_view what, int& out) {
  const auto word = line.take();
  const auto name = word.starts_with(prefix) ? word.substr(prefix.size()) : word;
  const int* const value = find(names, name);
  if (value == nullptr) return instead_of(what, word);
  out = *value;
  return {};
}

Why parse_value(Line& line, Rule& rule) {
  switch (rule.act) {
    case Act::kStatus:
      return parse_name(line, kStatuses, "IBV_WC_", "a status such as WR_FLUSH_ERR", rule.value);
    case Act::kFail:
      return parse_name(line, kErrors, "", "an error such as ENOMEM", rule.value);
    case Act::kTell:
      return parse_name(line, kTold, "IBV_EVENT_", "an event such as GID_CHANGE", rule.value);
    case Act::kPortDown:
      if (line.done()) return {};
      [[fallthrough]];
    case Act::kRnr:
    case Act::kDelay: {
      const auto word = line.take();
      return duration(word, rule.duration) ? "" : instead_of("a time from 1us to 3600s", word);
    }
    default:
      return {};
  }
}

Why parse_act(Line& line, Rule& rule, About about) {
  const auto first = line.take();
  const bool has_second = std::ranges::any_of(
      kActs, [&](const Words& w) { return w.first == first && !w.second.empty(); });
  const auto second = has_second ? line.take() : std::string_view();
  const auto it = std::ranges::find_if(
      kActs, [&](const Words& w) { return w.first == first && w.second == second; });
  if (it == kActs.end()) {
    constexpr std::string_view kKnown =
        "one of status, fail, error, rnr, reset, lose, delay, port down, port up, tell, "
        "remove device";
    const std::string words =
        std::string(first) + (second.empty() ? "" : " ") + std::string(second);
    return instead_of(kKnown, words);
  }
  rule.act = it->act;
  if ((it->after & bit(rule.event)) == 0) {
    return std::string(first) + " is allowed only with " + std::string(it->where);
  }
  if (const Why why = check_subject(rule, *it, about); !why.empty()) return why;
  if (const Why why = parse_value(line, rule); !why.empty()) return why;
  if (line.done()) return "";
  return "unexpected \"" + std::string(line.peek()) + "\": the rule is already complete";
}

Why parse_into(Line& line, Rule& rule) {
  About about = About::kNothing;
  if (const Why why = parse_when(line, rule); !why.empty()) return why;
  if (const Why why = parse_device(line, rule); !why.empty()) return why;
  if (const Why why = parse_subject(line, rule, about); !why.empty()) return why;
  return parse_act(line, rule, about);
}

Why parse_seed(Line& line, Plan& plan) {
  line.take();
  const auto word = line.take();
  if (!number(word, plan.seed)) return instead_of("a number", word);
  return line.done() ? "" : instead_of("allowed after the seed", line.peek());
}

Why parse_line(std::string_view text, unsigned number_of_line, Plan& plan) {
  if (text.size() > kMaxLine) return "the line is longer than 512 bytes";
  Line line(text);
  if (line.empty()) return {};
  if (line.peek() == "seed") return parse_seed(line, plan);
  if (plan.rules.size() == kMaxRules) return "the fault file has more than 1024 rules";
  Rule rule{.line = number_of_line, .text = line.text()};
  if (Why why = parse_into(line, rule); !why.empty()) return why;
  plan.rules.push_back(std::move(rule));
  return {};
}

}  // namespace

std::expected<Plan, PlanError> parse_plan(std::string_view text) {
  if (text.size() > kMaxPlan)
    return std::unexpected(PlanError{1, "the fault file is larger than 1 MiB"});
  Plan plan;
  unsigned line = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    if (Why why = parse_line(text.substr(0, end), ++line, plan); !why.empty()) {
      return std::unexpected(PlanError{line, std::move(why)});
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return plan;
}

std::expected<std::optional<Rule>, std::string> parse_rule(std::string_view text) {
  Plan plan;
  if (text.substr(0, text.find('#')).find("seed") == 0) {
    return std::unexpected("\"seed\" is allowed only in a fault file");
  }
  if (Why why = parse_line(text, 0, plan); !why.empty()) return std::unexpected(std::move(why));
  if (plan.rules.empty()) return std::nullopt;
  return std::move(plan.rules.front());
}

}  // namespace iwarp::rdma_core::fault
