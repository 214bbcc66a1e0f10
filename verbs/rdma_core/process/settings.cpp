// SPDX-License-Identifier: Apache-2.0
// One row per variable: its name, what it may say, and what that sets.
#include "process/settings.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace iwarp::rdma_core {
namespace {

constexpr unsigned kMinFpdu = 128;
constexpr unsigned kMaxFpdu = 64768;
constexpr unsigned kMaxDelay = 4000;
constexpr unsigned kMaxGatherDelay = 1000;
constexpr unsigned kMaxHold = 3'600'000;
constexpr std::size_t kMaxCongestion = 15;  // TCP_CA_NAME_MAX and its zero
constexpr std::chrono::milliseconds kDefaultHold = std::chrono::seconds(10);

/// Sets what `text` says; false: it says nothing known.
using Apply = bool (*)(Settings& settings, std::string_view text);

struct Variable {
  const char* name;
  const char* values;  ///< for the complaint
  Apply apply;
};

bool number(std::string_view text, unsigned low, unsigned high, unsigned& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && out >= low && out <= high;
}

/// A name that the system may know; whether it does, and permits it, a connection finds out.
bool congestion(Settings& s, std::string_view text) {
  s.congestion = text;
  return text.size() <= kMaxCongestion;
}

bool on_off(std::string_view text, bool& out) {
  out = text == "on" || text == "1";
  return out || text == "off" || text == "0";
}

bool crc(Settings& s, std::string_view text) { return on_off(text, s.connection.startup.crc); }
bool markers(Settings& s, std::string_view text) {
  return on_off(text, s.connection.startup.markers);
}

bool mpa_revision(Settings& s, std::string_view text) {
  if (text != "1" && text != "2" && text != "2-only") return false;
  s.connection.startup.revision = text == "1" ? 1 : 2;
  s.fall_back_to_revision_1 = text != "2-only";
  return true;
}

template <typename T, std::size_t N>
bool choose(const std::array<std::pair<std::string_view, T>, N>& from, std::string_view text,
            T& out) {
  for (const auto& [name, value] : from) {
    if (name != text) continue;
    out = value;
    return true;
  }
  return false;
}

bool rtr(Settings& s, std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, mpa::Rtr>, 4> kKinds{
      {{"none", mpa::Rtr::kNone},
       {"write", mpa::Rtr::kWrite},
       {"read", mpa::Rtr::kRead},
       {"send", mpa::Rtr::kSend}}};
  return choose(kKinds, text, s.connection.startup.rtr);
}

bool fpdu(Settings& s, std::string_view text) {
  unsigned octets = 0;
  if (text == "max") {
    octets = kMaxFpdu;
  } else if (text != "emss" && !number(text, kMinFpdu, kMaxFpdu, octets)) {
    return false;
  }
  s.connection.max_ulpdu = octets;
  return true;
}

bool placement(Settings& s, std::string_view text) {
  if (text != "verified" && text != "direct") return false;
  s.connection.placement =
      text == "direct" ? verbs::Placement::kDirect : verbs::Placement::kVerified;
  return true;
}

bool extensions(Settings& s, std::string_view text) {
  s.connection.startup.extensions = text == "auto";
  return text == "auto" || text == "off";
}

bool completions(Settings& s, std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, verbs::Completions>, 2> kKinds{
      {{"sent", verbs::Completions::kSent}, {"acked", verbs::Completions::kAcknowledged}}};
  return choose(kKinds, text, s.connection.completions);
}

bool first_fpdu_delay(Settings& s, std::string_view text) {
  unsigned delay = 0;
  if (!number(text, 0, kMaxDelay, delay)) return false;
  s.connection.first_fpdu_delay = std::chrono::milliseconds(delay);
  return true;
}

bool gather_delay(Settings& s, std::string_view text) {
  unsigned delay = 0;
  if (!number(text, 0, kMaxGatherDelay, delay)) return false;
  s.connection.gather_delay = std::chrono::microseconds(delay);
  return true;
}

bool receive_hold(Settings& s, std::string_view text) {
  unsigned hold = 0;
  if (!number(text, 0, kMaxHold, hold)) return false;
  s.connection.receive_hold = std::chrono::milliseconds(hold);
  return true;
}

bool port_range(Settings& s, std::string_view text) {
  unsigned low = 0;
  unsigned high = 0;
  const auto dash = text.find('-');
  if (dash == std::string_view::npos || !number(text.substr(0, dash), 1, UINT16_MAX, low) ||
      !number(text.substr(dash + 1), low, UINT16_MAX, high)) {
    return false;
  }
  s.ports.emplace(static_cast<std::uint16_t>(low), static_cast<std::uint16_t>(high));
  return true;
}

bool port_offset(Settings& s, std::string_view text) {
  unsigned offset = 0;
  if (!number(text, 0, kMaxPortOffset, offset)) return false;
  s.port_offset = static_cast<std::uint16_t>(offset);
  return true;
}

bool persona(Settings& s, std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, Persona>, 2> kPersonas{
      {{"iwarp", Persona::kIwarp}, {"roce", Persona::kRoce}}};
  return choose(kPersonas, text, s.persona);
}

bool list_loopback(Settings& s, std::string_view text) { return on_off(text, s.list_loopback); }

bool presence(Settings& s, std::string_view text) { return on_off(text, s.presence); }

bool out_of_band(Settings& s, std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, OutOfBandPeers>, 3> kPeers{
      {{"off", OutOfBandPeers::kOff},
       {"loopback", OutOfBandPeers::kLoopback},
       {"on", OutOfBandPeers::kOn}}};
  return choose(kPeers, text, s.out_of_band);
}

bool log(Settings& s, std::string_view text) {
  const auto level = verbs::log_level(text);
  s.log = level.value_or(s.log);
  return level.has_value();
}

bool log_format(Settings& s, std::string_view text) {
  const auto format = verbs::log_format(text);
  s.log_format = format.value_or(s.log_format);
  return format.has_value();
}

/// %p stands for the process id, so that every process of a job has a file of its own.
std::string with_pid(std::string_view text) {
  std::string out(text);
  const auto at = out.find("%p");
  if (at != out.npos) out.replace(at, 2, std::to_string(getpid()));
  return out;
}

bool trace(Settings& s, std::string_view text) {
  s.trace = with_pid(text);
  return true;
}

bool careful(Settings& s, std::string_view text) { return on_off(text, s.careful); }

bool careful_reports(Settings& s, std::string_view text) {
  s.careful_reports = text;
  return true;
}

bool fault(Settings& s, std::string_view text) {
  s.fault = text;
  return true;
}

bool fault_seed(Settings& s, std::string_view text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  s.fault_seed = seed;
  return error == std::errc{} && end == text.data() + text.size();
}

bool fault_socket(Settings& s, std::string_view text) {
  s.fault_socket = with_pid(text);
  return true;
}

/// Whether they make sense together, who opens the device finds out: nothing of TLS is ignored.
template <std::string TlsSettings::* Field>
bool tls(Settings& s, std::string_view text) {
  s.tls.*Field = text;
  return true;
}

/// Whether it is a place, who opens it finds out: one of its words is about the process.
bool metrics(Settings& s, std::string_view text) {
  s.metrics = text;
  return true;
}

/// What programs of that persona expect.
verbs::Completions completions_as(const char* persona) {
  const bool roce = persona != nullptr && std::string_view(persona) == "roce";
  return roce ? verbs::Completions::kAcknowledged : verbs::Completions::kSent;
}

verbs::LocalErrors local_errors_as(const char* persona) {
  const bool roce = persona != nullptr && std::string_view(persona) == "roce";
  return roce ? verbs::LocalErrors::kDepart : verbs::LocalErrors::kTerminate;
}

/// On an adapter for RoCE every program may bring its queue pairs up itself.
OutOfBandPeers out_of_band_as(const char* persona) {
  const bool roce = persona != nullptr && std::string_view(persona) == "roce";
  return roce ? OutOfBandPeers::kOn : OutOfBandPeers::kLoopback;
}

constexpr std::array kVariables{
    Variable{"IWARP_AS", "iwarp or roce", persona},
    Variable{"IWARP_LOOPBACK", "on or off", list_loopback},
    Variable{"IWARP_PRESENCE", "on or off", presence},
    Variable{"IWARP_CRC", "on or off", crc},
    Variable{"IWARP_MARKERS", "on or off", markers},
    Variable{"IWARP_MPA_REV", "1, 2 or 2-only", mpa_revision},
    Variable{"IWARP_RTR", "none, write, read or send", rtr},
    Variable{"IWARP_FPDU", "emss, max or a number from 128 to 64768", fpdu},
    Variable{"IWARP_PLACEMENT", "verified or direct", placement},
    Variable{"IWARP_EXTENSIONS", "auto or off", extensions},
    Variable{"IWARP_COMPLETIONS", "sent or acked", completions},
    Variable{"IWARP_CONGESTION", "a name of at most 15 characters", congestion},
    Variable{"IWARP_FIRST_FPDU_DELAY", "milliseconds, at most 4000", first_fpdu_delay},
    Variable{"IWARP_GATHER_DELAY", "microseconds, at most 1000", gather_delay},
    Variable{"IWARP_RECEIVE_HOLD", "milliseconds, at most 3600000", receive_hold},
    Variable{"IWARP_PORT_RANGE", "LOW-HIGH, such as 20000-20999", port_range},
    Variable{"IWARP_PORT_OFFSET", "a number from 0 to 64511", port_offset},
    Variable{"IWARP_OOB", "off, loopback or on", out_of_band},
    Variable{"IWARP_TRACE", "a file name", trace},
    Variable{"IWARP_CAREFUL", "on or off", careful},
    Variable{"IWARP_CAREFUL_REPORTS", "a file name", careful_reports},
    Variable{"IWARP_FAULT", "a file name", fault},
    Variable{"IWARP_FAULT_SEED", "a number", fault_seed},
    Variable{"IWARP_FAULT_SOCKET", "a path", fault_socket},
    Variable{"IWARP_TLS", "on or off", tls<&TlsSettings::demand>},
    Variable{"IWARP_TLS_CERT", "a file name", tls<&TlsSettings::certificate>},
    Variable{"IWARP_TLS_KEY", "a file name", tls<&TlsSettings::key>},
    Variable{"IWARP_TLS_CA", "a file name", tls<&TlsSettings::authorities>},
    Variable{"IWARP_TLS_PEER", "names", tls<&TlsSettings::peers>},
    Variable{"IWARP_TLS_PSK", "a file name", tls<&TlsSettings::shared_keys>},
    Variable{"IWARP_METRICS", "[ADDR:]PORT or unix:PATH", metrics},
    Variable{"IWARP_LOG", "off, error, warning, info or debug", log},
    Variable{"IWARP_LOG_FORMAT", "text, logfmt or json", log_format},
};

}  // namespace

Settings read_settings(const Environment& environment,
                       const std::function<void(const std::string&)>& complain) {
  Settings out;
  out.connection.startup.rtr = mpa::Rtr::kWrite;
  out.connection.startup.send_immediate = true;
  out.connection.receive_hold = kDefaultHold;
  out.connection.completions = completions_as(environment("IWARP_AS"));
  out.connection.local_errors = local_errors_as(environment("IWARP_AS"));
  out.out_of_band = out_of_band_as(environment("IWARP_AS"));
  for (const Variable& variable : kVariables) {
    const char* text = environment(variable.name);
    if (text == nullptr || *text == '\0') continue;
    Settings changed = out;
    if (variable.apply(changed, text)) {
      out = changed;
    } else {
      complain(std::string(variable.name) + "=" + text + " is not " + variable.values +
               "; it is ignored");
    }
  }
  // Revision 1 has no RTR.
  if (out.connection.startup.revision == 1) out.connection.startup.rtr = mpa::Rtr::kNone;
  return out;
}

const Settings& settings() {
  // Never destroyed: threads may look at it while the process exits.
  static const Settings* const kSettings = [] {
    std::vector<std::string> complaints;
    auto* const out =
        new Settings(read_settings([](const char* name) { return ::secure_getenv(name); },
                                   [&](const std::string& line) { complaints.push_back(line); }));
    for (const std::string& line : complaints) {
      const verbs::LogRecord record{verbs::LogLevel::kWarning, "bad_setting", line, {}};
      std::fputs(line_of(record, out->log_format).c_str(), stderr);
    }
    return out;
  }();
  return *kSettings;
}

std::string line_of(const verbs::LogRecord& record, verbs::LogFormat format) {
  const bool is_text = format == verbs::LogFormat::kText;
  const auto now = std::chrono::system_clock::now();
  return (is_text ? "iwarp: " : "") + verbs::log_line(record, format, now, ::getpid()) + "\n";
}

}  // namespace iwarp::rdma_core
