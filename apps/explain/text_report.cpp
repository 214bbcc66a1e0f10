// SPDX-License-Identifier: Apache-2.0
// Writes a line for each frame. Below the line, writes the frame's layers as verbs/trace describes
// them.
#include "explain/text_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "frames/report/append.hpp"
#include "frames/report/frame_line.hpp"
#include "frames/report/local_line.hpp"
#include "iwarp/bytes/hex.hpp"
#include "iwarp/trace/text_printer.hpp"

namespace iwarp::apps::explain {
namespace {

using frames::ConnectionInfo;
using trace::Side;

constexpr std::string_view kMargin = "        ";
constexpr std::size_t kOctetsPerLine = 16;
constexpr std::size_t kUsualLine = 160;

constexpr std::string_view kLegend =
    "N.M: frame M of connection N; #K: operation K of a connection; all segments of a message have "
    "the same K, and a response has the K of its request\n";

const char* arrow(Side from) { return from == Side::kNear ? "-->" : "<--"; }

/// Returns the text that marks an event on the lifeline of `end`.
const char* dot(Side end) { return end == Side::kNear ? "*  " : "  *"; }

const char* closing_text(frames::Closing how) {
  constexpr std::array kTexts{"closed by both ends", "reset",
                              "replaced by a new connection with the same ports",
                              "stopped following this connection: too many connections are open",
                              "still open when the capture ends"};
  return kTexts[static_cast<std::size_t>(how)];
}

/// Returns "1 frame" or "2 frames", for example.
std::string counted(std::uint64_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

/// Returns what cannot be known about a connection, or an empty text. The text is written before
/// the connection's first frame.
std::string beginning(const ConnectionInfo& info) {
  const bool startup = info.startup_seen[0] || info.startup_seen[1];
  if (startup) return "";
  if (!info.opening_seen) {
    return "the capture begins in the middle of the connection: revision, IRD, ORD and RTR are "
           "unknown; CRC and marker use is inferred from the frames";
  }
  return "no startup frame in the capture: CRC and marker use is inferred from the frames";
}

std::vector<std::string> remarks(const ConnectionInfo& info, const frames::Closed& closed) {
  std::vector<std::string> out;
  for (const Side side : {Side::kNear, Side::kFar}) {
    const auto i = static_cast<std::size_t>(side);
    const auto name = to_string(side == Side::kNear ? info.near : info.far);
    const auto& tcp = closed.tcp[i];
    if (!info.seen[i]) {
      out.push_back(
          fmt::format("the capture contains nothing that {} sent: its requests, STag "
                      "advertisements and responses are unknown",
                      name));
    }
    if (info.guessed[i] && (info.startup_seen[0] || info.startup_seen[1])) {
      out.push_back(
          fmt::format("the capture lacks part of MPA startup: whether {} uses CRCs and markers is "
                      "inferred from the frames",
                      name));
    }
    if (closed.unanswered[i] != 0) {
      out.push_back(fmt::format("not answered in the capture: {} from {}",
                                counted(closed.unanswered[i], "request"), name));
    }
    if (tcp.missing != 0) {
      out.push_back(
          fmt::format("not in the capture: {} from {}", counted(tcp.missing, "octet"), name));
    }
    if (tcp.repeated != 0) {
      out.push_back(fmt::format("{} sent {} more than once", name, counted(tcp.repeated, "octet")));
    }
    if (tcp.reordered != 0) {
      out.push_back(
          fmt::format("{} from {} arrived out of order", counted(tcp.reordered, "segment"), name));
    }
  }
  return out;
}

}  // namespace

TextReport::TextReport(const TextOptions& options, const frames::Filter& filter, frames::Out out)
    : options_(options), filter_(filter), out_(std::move(out)) {}

void TextReport::start(const frames::PacketMark& mark) {
  if (start_ < 0) start_ = mark.nanoseconds;
}

/// Returns the time since the first frame, in seconds, with a sign and six decimals.
std::string TextReport::time(const frames::PacketMark& mark) {
  start(mark);
  constexpr std::uint64_t kMicros = 1'000'000;
  const std::int64_t micros = (mark.nanoseconds - start_) / 1000;
  const auto size = static_cast<std::uint64_t>(micros < 0 ? -micros : micros);
  std::string text(1, micros < 0 ? '-' : '+');
  frames::append_number(text, size / kMicros);
  // Print 1 000 000 plus the microseconds, so that leading zeros are kept. Then the decimal point
  // replaces the leading 1.
  const auto point = text.size();
  frames::append_number(text, kMicros + size % kMicros);
  text[point] = '.';
  return text;
}

std::string TextReport::red(std::string text) const {
  return options_.colour ? "\033[31m" + std::move(text) + "\033[0m" : text;
}

void TextReport::introduce(const ConnectionInfo& info, bool log) {
  if (!introduced_.insert(info.number).second) return;
  if (!std::exchange(legend_shown_, true)) out_(kLegend);
  out_(fmt::format("connection {}: {} --> {}\n", info.number, to_string(info.near),
                   to_string(info.far)));
  if (log) return;
  if (const auto text = beginning(info); !text.empty()) out_(fmt::format("{}{}\n", kMargin, text));
}

void TextReport::frame(const ConnectionInfo& info, const frames::Explained& e,
                       const frames::PacketMark& mark) {
  start(mark);
  ++frames_;
  violations_ += e.violations.size();
  if (!filter_.wants(info, e)) return;
  introduce(info);
  if (e.frame->unsure && unsure_.emplace(info.number, e.frame->from).second) {
    out_(fmt::format(
        "{}frames {} marked \"(unsure)\" may be payload: they have no CRC, and were recognized "
        "only by several plausible headers in succession; these frames are not checked against the "
        "rules\n",
        kMargin, arrow(e.frame->from)));
  }
  std::string text;
  text.reserve(kUsualLine);
  frames::append_number(text, info.number);
  text += '.';
  frames::append_number(text, e.number);
  text.append(" ").append(time(mark)).append(" ").append(arrow(e.frame->from)).append(" ");
  text += frames::frame_line(e);
  for (const auto& relation : frames::relations(e)) text.append("; ").append(relation);
  std::string in_full;
  for (const auto& violation : e.violations) {
    // A violation of kReadByteOrder is detected in a response, but the end that sent the request
    // has caused the violation.
    const bool by_peer = violation.rule == frames::Rule::kReadByteOrder && e.request;
    const auto by = by_peer ? other(e.frame->from) : e.frame->from;
    const std::tuple key{info.number, by, violation.rule};
    if (options_.detail != Detail::kLine || reported_.insert(key).second) {
      in_full += fmt::format("{}{}\n", kMargin, red("! " + frames::violation_line(violation)));
    } else {
      text += ' ' + red(fmt::format("! [{}] again", frames::info(violation.rule).id));
    }
  }
  text += '\n';
  if (options_.detail != Detail::kLine) {
    const trace::PrinterOptions printer{.near = to_string(info.near),
                                        .far = to_string(info.far),
                                        .colour = options_.colour,
                                        .max_payload = 16,
                                        .header_octets = false,
                                        .start = {}};
    text = trace::frame_text(*e.frame, std::move(text), printer);
  }
  out_(text + in_full);
  if (options_.detail == Detail::kOctets) octets(e.frame->octets);
}

void TextReport::datagram(const frames::SeenDatagram& seen, const frames::PacketMark& mark) {
  start(mark);
  violations_ += seen.has_right_crc ? 0 : 1;
  if (!filter_.wants(seen)) return;
  auto text = fmt::format("UDP {} {} --> {} {}", time(mark), to_string(seen.source),
                          to_string(seen.destination), verbs::describe_datagram(seen.octets));
  out_((seen.has_right_crc ? text : red(std::move(text))) + "\n");
  if (options_.detail == Detail::kOctets) octets(seen.octets);
}

/// Writes all octets of the frame in the order of the wire, 16 per line.
void TextReport::octets(bytes::View octets) {
  std::string text;
  for (std::size_t at = 0; at < octets.size(); at += kOctetsPerLine) {
    const auto line = octets.subspan(at, std::min(kOctetsPerLine, octets.size() - at));
    std::string readable;
    for (const std::byte b : line) {
      const auto c = std::to_integer<char>(b);
      readable += c >= ' ' && c <= '~' ? c : '.';
    }
    text += fmt::format("{}{:05x}  {:<36} {}\n", kMargin, at, bytes::to_hex(line), readable);
  }
  out_(text);
}

void TextReport::skipped(const ConnectionInfo& info, const frames::Skipped& skipped) {
  if (!filter_.wants_skipped(info)) return;
  const auto at = time(skipped.mark);
  introduce(info);
  auto text = fmt::format("{}   {} {} {}", info.number, at, arrow(skipped.from),
                          counted(skipped.octets, "octet"));
  if (skipped.missing == skipped.octets) {
    text += fmt::format(" not in the capture, at offset {} of the stream", skipped.offset);
  } else {
    text += fmt::format(" outside any frame, at offset {} of the stream", skipped.offset);
    if (skipped.missing != 0) {
      text += fmt::format(", {} of them not in the capture", skipped.missing);
    }
    if (*skipped.why != '\0') text += fmt::format(": {}", skipped.why);
  }
  out_(red(std::move(text)) + "\n");
}

void TextReport::closed(const ConnectionInfo& info, const frames::Closed& closed,
                        const frames::PacketMark& mark) {
  if (!filter_.shows_all() || !filter_.wants(info)) return;
  introduce(info);
  introduced_.erase(info.number);
  for (const Side side : {Side::kNear, Side::kFar}) unsure_.erase({info.number, side});
  std::erase_if(reported_, [&info](const auto& key) { return std::get<0>(key) == info.number; });
  out_(fmt::format(
      "{}   {} {}: {} -->, {} <--\n", info.number, time(mark),
      closing_text(closed.how) + std::string(info.rejected ? " after the rejection" : ""),
      counted(info.frames[0], "frame"), counted(info.frames[1], "frame")));
  for (const auto& remark : remarks(info, closed)) out_(fmt::format("{}{}\n", kMargin, remark));
}

void TextReport::local(const ConnectionInfo& info, Side end, const verbs::LocalEvent& event,
                       const frames::PacketMark& mark) {
  start(mark);
  if (!filter_.wants(info, event)) return;
  introduce(info, true);
  auto text =
      fmt::format("{}   {} {} {}", info.number, time(mark), dot(end), frames::local_line(event));
  out_((frames::is_failure(event) ? red(std::move(text)) : text) + "\n");
}

void TextReport::summary(const frames::Connections::Counts& counts) {
  using frames::PacketKind;
  const auto of = [&](PacketKind kind) { return counts.packets[static_cast<std::size_t>(kind)]; };
  std::uint64_t packets = 0;
  for (const auto n : counts.packets) packets += n;
  std::string read;
  if (packets != 0 || counts.records == 0) read = counted(packets, "packet") + ", ";
  if (counts.records != 0) read += counted(counts.records, "record") + ", ";
  out_(fmt::format("{}{}, {} with MPA, {}, {}\n", read,
                   counted(counts.connections, "TCP connection"), counts.mpa,
                   counted(frames_, "frame"), counted(violations_, "violation")));
  const auto datagrams = counts.datagrams + counts.logged_datagrams;
  if (datagrams != 0) out_(counted(datagrams, "datagram") + " over UDP\n");
  constexpr std::array kLeftOut{
      std::pair{PacketKind::kOther, "without TCP"},
      std::pair{PacketKind::kFragment, "of fragmented IP datagrams, which are not reassembled"},
      std::pair{PacketKind::kCut, "whose headers the capture truncated"},
      std::pair{PacketKind::kMalformed, "with contradictory length fields"}};
  const auto leave_out = [&](std::uint64_t n, std::string_view what, std::string_view text) {
    if (n != 0) out_(fmt::format("left out: {} {}\n", counted(n, what), text));
  };
  leave_out(counts.tls, "TCP connection", "encrypted with TLS");
  leave_out(counts.plain, "TCP connection", "without MPA (plain TCP)");
  leave_out(counts.roce, "packet", "of RoCE v2 (UDP 4791)");
  for (const auto& [kind, text] : kLeftOut) {
    const bool is_other = kind == PacketKind::kOther;
    leave_out(of(kind) - (is_other ? counts.datagrams + counts.roce : 0), "packet", text);
  }
  if (counts.set_aside != 0) {
    out_(fmt::format("stopped following {}: too many connections were open at the same time\n",
                     counted(counts.set_aside, "connection")));
  }
}

}  // namespace iwarp::apps::explain
