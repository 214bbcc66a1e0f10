// SPDX-License-Identifier: Apache-2.0
// Decodes events. Checks each member of an event before using it.
#include "frames/connections/qlog_event.hpp"

#include <arpa/inet.h>

#include <array>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "iwarp/trace/log_words.hpp"

namespace iwarp::apps::frames {
namespace {

using nlohmann::json;
using verbs::LocalEvent;

/// Maximum number of octets in one event. It exceeds the size of any FPDU with its markers.
constexpr std::size_t kMaxOctets = 128 * 1024;

/// Reads members of a JSON object. If a member is missing or has the wrong type, every later call
/// of good() returns false.
class Members {
 public:
  explicit Members(const json& object) : object_(object) {}
  bool good() const { return good_; }
  bool has(const char* name) const { return object_.find(name) != object_.end(); }

  std::uint64_t number(const char* name) {
    const auto* value = find(name);
    if (value == nullptr || !value->is_number_unsigned()) return fail<std::uint64_t>();
    return value->get<std::uint64_t>();
  }
  bool flag(const char* name) {
    if (!has(name)) return false;
    const auto* value = find(name);
    return value != nullptr && value->is_boolean() ? value->get<bool>() : fail<bool>();
  }
  std::string_view text(const char* name) {
    const auto* value = find(name);
    if (value == nullptr || !value->is_string()) return fail<std::string_view>();
    return value->get_ref<const std::string&>();
  }
  /// Returns the value of a member that must be a string of exactly `digits` hexadecimal digits.
  std::uint64_t hex(const char* name, std::size_t digits) {
    const auto word = text(name);
    std::uint64_t out = 0;
    const auto* const end = std::to_address(word.end());
    const auto [rest, error] = std::from_chars(std::to_address(word.begin()), end, out, 16);
    if (word.size() != digits || error != std::errc() || rest != end) return fail<std::uint64_t>();
    return out;
  }
  std::uint32_t stag(const char* name) { return static_cast<std::uint32_t>(hex(name, 8)); }
  template <typename Enum>
  Enum word(const char* name) {
    const auto found = trace::of_word<Enum>(text(name));
    return found ? *found : fail<Enum>();
  }
  template <typename Event>
  std::optional<LocalEvent> made(const Event& event) const {
    return good_ ? std::optional<LocalEvent>(event) : std::nullopt;
  }

 private:
  const json* find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }
  template <typename T>
  T fail() {
    good_ = false;
    return T{};
  }

  const json& object_;
  bool good_ = true;
};

std::optional<LocalEvent> work_posted(const json& data) {
  Members m(data);
  verbs::WorkPosted out{.queue = m.word<verbs::WorkQueue>("queue"),
                        .wr_id = m.hex("wr_id", 16),
                        .length = m.number("length"),
                        .early = m.flag("early")};
  if (out.queue == verbs::WorkQueue::kSend) {
    out.opcode = m.word<verbs::WrOpcode>("opcode");
    constexpr std::array kFlags{std::pair{verbs::SendFlags::kSignaled, "signaled"},
                                std::pair{verbs::SendFlags::kSolicited, "solicited"},
                                std::pair{verbs::SendFlags::kFence, "fence"},
                                std::pair{verbs::SendFlags::kInline, "inline"},
                                std::pair{verbs::SendFlags::kLocalFence, "local_fence"}};
    const auto flags = data.find("flags");
    if (flags != data.end() && flags->is_array()) {
      for (const auto& [flag, name] : kFlags) {
        if (std::find(flags->begin(), flags->end(), name) != flags->end()) {
          out.flags = out.flags | flag;
        }
      }
    }
    if (m.has("stag")) out.remote = {.rkey = {m.stag("stag")}, .to = m.hex("to", 16)};
  }
  return m.made(out);
}

std::optional<LocalEvent> posts_missed(const json& data) {
  Members m(data);
  return m.made(
      verbs::PostsMissed{.queue = m.word<verbs::WorkQueue>("queue"), .count = m.number("count")});
}

std::optional<LocalEvent> work_completed(const json& data) {
  Members m(data);
  verbs::WorkCompleted out{.queue = m.word<verbs::WorkQueue>("queue"),
                           .wr_id = m.hex("wr_id", 16),
                           .status = m.word<verbs::WcStatus>("status")};
  if (out.status == verbs::WcStatus::kSuccess) {
    out.opcode = m.word<verbs::WcOpcode>("opcode");
    out.length = m.number("length");
    if (m.has("invalidated")) out.invalidated = verbs::Stag{m.stag("invalidated")};
  }
  return m.made(out);
}

std::optional<LocalEvent> memory_used(const json& data) {
  Members m(data);
  verbs::MemoryUsed out{.use = m.word<verbs::MemoryUse>("use"), .length = m.number("length")};
  if (out.use != verbs::MemoryUse::kReceive) {
    out.stag = {m.stag("stag")};
    out.to = m.hex("to", 16);
  }
  return m.made(out);
}

std::optional<LocalEvent> memory_refused(const json& data) {
  Members m(data);
  return m.made(verbs::MemoryRefused{.use = m.word<verbs::MemoryUse>("use"),
                                     .stag = {m.stag("stag")},
                                     .to = m.hex("to", 16),
                                     .length = m.number("length"),
                                     .why = m.word<rdmap::AccessError>("why")});
}

std::optional<LocalEvent> state_updated(const json& data) {
  Members m(data);
  const auto machine = m.word<verbs::Machine>("machine");
  verbs::StateUpdated out{.machine = machine, .now = trace::state_of_word(machine, m.text("new"))};
  if (m.has("old")) out.before = trace::state_of_word(machine, m.text("old"));
  if (out.now.empty() || (m.has("old") && out.before.empty())) return std::nullopt;
  return m.made(out);
}

std::optional<TcpEnd> end_of(const json& data, const char* name) {
  const auto end = data.find(name);
  if (end == data.end() || !end->is_object()) return std::nullopt;
  Members m(*end);
  const auto ip = m.text("ip");
  const auto port = m.number("port");
  if (!m.good() || port > UINT16_MAX) return std::nullopt;
  const std::string numeric(ip.substr(0, ip.find('%')));  // the address, without an IPv6 zone
  TcpEnd out{.port = static_cast<std::uint16_t>(port)};
  if (inet_pton(AF_INET, numeric.c_str(), out.address.octets.data()) == 1) return out;
  out.address.v6 = true;
  if (inet_pton(AF_INET6, numeric.c_str(), out.address.octets.data()) == 1) return out;
  return std::nullopt;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

std::optional<std::vector<std::byte>> raw_octets_of(const json& data) {
  const auto raw = data.find("raw");
  if (raw == data.end() || !raw->is_object()) return std::nullopt;
  Members of_raw(*raw);
  const auto length = of_raw.number("length");
  const auto hex = of_raw.text("data");
  if (!of_raw.good() || length > kMaxOctets || hex.size() != 2 * length) return std::nullopt;
  std::vector<std::byte> out;
  out.reserve(static_cast<std::size_t>(length));
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const int high = digit(hex[i]);
    const int low = digit(hex[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out.push_back(static_cast<std::byte>(high * 16 + low));
  }
  return out;
}

std::optional<LoggedOctets> octets_of(const json& data) {
  Members m(data);
  const auto offset = m.number("offset");
  auto octets = raw_octets_of(data);
  if (!m.good() || !octets) return std::nullopt;
  return LoggedOctets{.offset = offset, .octets = std::move(*octets)};
}

std::optional<LoggedConnections::Ends> datagram_ends_of(const json& data) {
  const auto local = end_of(data, "local");
  const auto remote = end_of(data, "remote");
  if (!local || !remote) return std::nullopt;
  return LoggedConnections::Ends{.local = *local, .remote = *remote};
}

std::optional<LoggedConnections::Ends> ends_of(const json& data) {
  auto out = datagram_ends_of(data);
  const auto opened = data.find("opened_by");
  if (!out || opened == data.end()) return std::nullopt;
  out->opened_locally = *opened == "local";
  return out;
}

std::optional<LocalEvent> local_event(std::string_view name, const json& data) {
  struct Row {
    std::string_view name;
    std::optional<LocalEvent> (*read)(const json&);
  };
  static constexpr std::array kRows{
      Row{"work_posted", work_posted},       Row{"posts_missed", posts_missed},
      Row{"work_completed", work_completed}, Row{"memory_used", memory_used},
      Row{"memory_refused", memory_refused}, Row{"state_updated", state_updated}};
  for (const auto& row : kRows) {
    if (row.name == name) return row.read(data);
  }
  return std::nullopt;
}

}  // namespace iwarp::apps::frames
