// SPDX-License-Identifier: Apache-2.0
// A table with one row per verb. The code parses, writes and describes actions according to this
// table.
#include "lab/action.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <vector>

namespace iwarp::apps::lab {
namespace {

struct Form {
  Verb verb;
  std::string_view word;
  bool end;
  std::size_t numbers;
  bool target;
  /// Format of the description. {0} is the end, {1} its peer, {2} and {3} are the numbers, {4}
  /// is the target, and {5} is the plural "s" of {2}.
  std::string_view says;
};

constexpr std::array kForms{
    Form{Verb::kDeliver, "", false, 1, false, "{2} octet{5} delivered"},
    Form{Verb::kConnect, "connect", false, 0, false, "initiator connects"},
    Form{Verb::kTell, "tell", true, 0, false, "{0} advertises its STag in a Send"},
    Form{Verb::kSend, "send", true, 1, false, "{0}: Send of {2} octet{5}"},
    Form{Verb::kInvalidate, "invalidate", true, 1, false,
         "{0}: Send with Invalidate of {2} octet{5}, which invalidates the {1}'s window"},
    Form{Verb::kWrite, "write", true, 2, true, "{0}: RDMA Write of {2} octet{5} {4}"},
    Form{Verb::kRead, "read", true, 2, true, "{0}: RDMA Read of {2} octet{5} {4}"},
    Form{Verb::kAdd, "add", true, 1, true, "{0}: FetchAdd {4}"},
    Form{Verb::kReceive, "receive", true, 0, false, "{0} posts a Receive"},
    Form{Verb::kFlip, "flip", true, 2, false,
         "bit {3} of octet {2} in the stream from the {0} is flipped"},
    Form{Verb::kClose, "close", true, 0, false, "{0} closes"},
    Form{Verb::kCut, "cut", false, 0, false, "the link is cut"},
    Form{Verb::kWait, "wait", false, 0, false, "time passes until a timer expires"},
};

constexpr std::array<std::string_view, 4> kTargets{"", "stag", "bounds", "rights"};
constexpr std::array<std::string_view, 4> kTargetTexts{
    "at octet {1} of the {0}'s window", "with a wrong STag",
    "that extends beyond the end of the {0}'s window",
    "in the {0}'s memory that permits no remote access"};

const Form& form_of(Verb verb) { return kForms[static_cast<std::size_t>(verb)]; }

std::vector<std::string_view> split(std::string_view word) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto dot = word.find('.');
    parts.push_back(word.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    word.remove_prefix(dot + 1);
  }
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Parses the parts of the word that the verb's form requires, in order. Returns false if a part is
/// missing or invalid.
bool fill(Action& action, const Form& form, std::vector<std::string_view>& rest) {
  const auto next = [&rest] {
    const auto part = rest.empty() ? std::string_view() : rest.front();
    if (!rest.empty()) rest.erase(rest.begin());
    return part;
  };
  if (form.end) {
    const auto end = next();
    if (end != "a" && end != "b") return false;
    action.end = end == "a" ? Side::kNear : Side::kFar;
  }
  for (std::size_t i = 0; i < form.numbers; ++i) {
    const auto value = number(next());
    if (!value) return false;
    action.numbers[i] = *value;
  }
  if (!form.target || rest.empty()) return true;
  const auto name = next();
  for (std::size_t i = 1; i < kTargets.size(); ++i) {
    if (kTargets[i] != name) continue;
    action.target = static_cast<Target>(i);
    return true;
  }
  return false;
}

}  // namespace

const char* name_of(Side side) { return side == Side::kNear ? "initiator" : "responder"; }

std::expected<Action, std::string> parse_action(std::string_view word) {
  Action action;
  auto parts = split(word);
  if (const auto octets = number(word)) {
    action.numbers[0] = *octets;
    return action;
  }
  for (const auto& form : kForms) {
    if (form.word.empty() || form.word != parts.front()) continue;
    action.verb = form.verb;
    parts.erase(parts.begin());
    if (fill(action, form, parts) && parts.empty()) return action;
  }
  return std::unexpected(fmt::format("unknown action \"{}\"", word.substr(0, 40)));
}

std::string to_word(const Action& action) {
  const Form& form = form_of(action.verb);
  std::string word(form.word);
  if (form.end) word += action.end == Side::kNear ? ".a" : ".b";
  for (std::size_t i = 0; i < form.numbers; ++i) {
    word += fmt::format("{}{}", word.empty() ? "" : ".", action.numbers[i]);
  }
  if (action.target != Target::kWindow) {
    word += fmt::format(".{}", kTargets[static_cast<std::size_t>(action.target)]);
  }
  return word;
}

std::string describe(const Action& action) {
  const char* const peer = name_of(other(action.end));
  const auto octet = action.numbers[action.verb == Verb::kAdd ? 0 : 1];
  const auto target =
      fmt::format(fmt::runtime(kTargetTexts[static_cast<std::size_t>(action.target)]), peer, octet);
  return fmt::format(fmt::runtime(form_of(action.verb).says), name_of(action.end), peer,
                     action.numbers[0], action.numbers[1], target,
                     action.numbers[0] == 1 ? "" : "s");
}

}  // namespace iwarp::apps::lab
