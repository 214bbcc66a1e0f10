// SPDX-License-Identifier: Apache-2.0
// Prints one frame as indented layers. The text of each layer comes from that layer's describe()
// function.
#include "iwarp/trace/text_printer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "iwarp/bytes/hex.hpp"
#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/mpa/layout.hpp"
#include "iwarp/rdmap/atomic_header.hpp"
#include "iwarp/rdmap/describe.hpp"
#include "iwarp/rdmap/message_header.hpp"
#include "meaning.hpp"

namespace iwarp::trace {
namespace {

using bytes::View;

constexpr std::string_view kNearColour = "\033[36m";
constexpr std::string_view kFarColour = "\033[33m";
constexpr std::string_view kBold = "\033[1m";
constexpr std::string_view kFaint = "\033[2m";
constexpr std::string_view kRed = "\033[31m";
constexpr std::string_view kPlain = "\033[0m";

/// The lines of one frame, each layer indented two columns deeper than the layer that carries it.
class Lines {
 public:
  Lines(std::string heading, bool colour) : text_(std::move(heading)), colour_(colour) {}

  void layer(std::string_view name, std::string_view says, bool fault = false) {
    ++depth_;
    text_ += fmt::format("{:{}}{} {}\n", "", indent(), paint(kBold, fmt::format("{:<5}", name)),
                         fault ? paint(kRed, says) : std::string(says));
  }
  /// Adds a line of details to the layer added last.
  void detail(std::string_view says) {
    text_ += fmt::format("{:{}}{}\n", "", indent() + 6, paint(kFaint, says));
  }
  const std::string& text() const { return text_; }

 private:
  std::size_t indent() const { return 2 + 2 * depth_; }
  std::string paint(std::string_view colour, std::string_view words) const {
    if (!colour_) return std::string(words);
    return fmt::format("{}{}{}", colour, words, kPlain);
  }

  std::string text_;
  bool colour_;
  std::size_t depth_ = 0;
};

/// Removes the name of the layer from the beginning of a text that a describe() function returned,
/// because the printer has a separate column for names.
std::string_view without_name(std::string_view text, std::string_view name) {
  if (!text.starts_with(name)) return text;
  text.remove_prefix(name.size());
  return text.starts_with(' ') ? text.substr(1) : text;
}

std::string fpdu_line(const Frame& frame) {
  auto out = fmt::format("FPDU with ULPDU_Length {}, PAD {}", frame.ulpdu_length,
                         mpa::pad_size(frame.ulpdu_length));
  for (std::size_t i = 0; i < frame.fpduptrs.size(); ++i) {
    out += fmt::format("{} {:04x}", i == 0 ? ", markers" : "", frame.fpduptrs[i]);
  }
  if (!frame.markers_agree) out += " (wrong FPDUPTR)";
  switch (frame.crc) {
    case CrcVerdict::kGood:
      return out + fmt::format(", CRC {:08x} good", frame.crc_field);
    case CrcVerdict::kBad:
      return out + fmt::format(", CRC {:08x} BAD", frame.crc_field);
    case CrcVerdict::kNotUsed:
      return out + ", CRC not in use";
    case CrcVerdict::kUnknown:
      return out + fmt::format(", CRC not checked: {} octets were not captured", frame.missing);
  }
  return out;
}

/// Returns a DDP header as text: the two control octets, then the other octets.
std::string header_hex(View header) {
  return fmt::format("{} {}", bytes::to_hex(header.first(2)), bytes::to_hex(header.subspan(2)));
}

std::string readable(View octets) {
  std::string out;
  for (const std::byte b : octets) {
    const auto c = std::to_integer<char>(b);
    out += c >= ' ' && c <= '~' ? c : '.';
  }
  return out;
}

void show_payload(Lines& lines, View payload, std::size_t limit) {
  if (payload.empty() || limit == 0) return;
  const View shown = payload.first(std::min(limit, payload.size()));
  auto out = fmt::format("{}  \"{}\"", bytes::to_hex(shown), readable(shown));
  if (shown.size() < payload.size()) {
    out += fmt::format(" and {} more", payload.size() - shown.size());
  }
  lines.detail(out);
}

/// Returns the size of the RDMAP header that follows the DDP header in the ULPDU.
std::size_t rdmap_header_size(const ddp::SegmentHeader& header, std::size_t rest) {
  switch (header.rsvd_ulp & rdmap::kOpcodeMask) {
    case static_cast<int>(rdmap::Opcode::kReadRequest):
      return std::min(rest, rdmap::kReadRequestSize);
    case static_cast<int>(rdmap::Opcode::kAtomicRequest):
      return std::min(rest, rdmap::kAtomicRequestSize);
    case static_cast<int>(rdmap::Opcode::kAtomicResponse):
      return std::min(rest, rdmap::kAtomicResponseSize);
    case static_cast<int>(rdmap::Opcode::kTerminate):
      return rest;
    default:
      return 0;
  }
}

std::string name_of(const mpa::StartupFrame& frame) {
  if (frame.kind == mpa::FrameKind::kRequest) return "MPA Request";
  return frame.rejected ? "MPA Reply (rejected)" : "MPA Reply";
}

std::string name_of(const Frame& frame) {
  const auto size = frame.octets.size();
  switch (frame.kind) {
    case FrameKind::kStartup:
      return fmt::format("{}, {} octets", name_of(frame.startup), size);
    case FrameKind::kFpdu:
      return fmt::format("FPDU, {} octets", size);
    case FrameKind::kUndecodable:
      break;
  }
  return fmt::format("{} octets that are not a frame", size);
}

void show_startup(Lines& lines, const Frame& frame, const PrinterOptions& options) {
  lines.layer("MPA", without_name(mpa::describe_startup_frame(frame.octets), "MPA"));
  if (options.header_octets) {
    lines.detail(bytes::to_hex(frame.octets.first(mpa::kStartupHeaderSize)));
  }
}

/// Shows the layers of an FPDU up to RDMAP. Returns the payload.
View show_fpdu(Lines& lines, const Frame& frame, const PrinterOptions& options) {
  const bool bad = frame.crc == CrcVerdict::kBad || !frame.markers_agree;
  lines.layer("MPA", fpdu_line(frame), bad);
  if (options.header_octets) {
    const auto front =
        mpa::leading_marker_size(frame.position, frame.marked) + mpa::kLengthFieldSize;
    lines.detail(fmt::format("{} ... {}", bytes::to_hex(frame.octets.first(front)),
                             bytes::to_hex(frame.octets.last(mpa::kCrcSize))));
  }
  std::string ddp(without_name(ddp::describe_segment(frame.ulpdu), "DDP"));
  if (frame.missing != 0) ddp += ", only partly captured";
  lines.layer("DDP", ddp);
  const auto header = ddp::decode_segment_header(frame.ulpdu);
  const View rest = header ? frame.ulpdu.subspan(header->size()) : View{};
  const std::size_t own = header ? rdmap_header_size(*header, rest.size()) : 0;
  if (options.header_octets && header) {
    lines.detail(header_hex(frame.ulpdu.first(header->size())));
  }
  lines.layer("RDMAP", without_name(rdmap::describe_message(frame.ulpdu), "RDMAP"));
  if (options.header_octets && own > 0) lines.detail(bytes::to_hex(rest.first(own)));
  return rest.subspan(own);
}

}  // namespace

TextPrinter::TextPrinter(PrinterOptions options, Sink sink)
    : options_(std::move(options)),
      sink_(std::move(sink)),
      decoder_([this](const Frame& frame) { print(frame); }) {}

TextPrinter::TextPrinter(PrinterOptions options, std::ostream& out)
    : TextPrinter(std::move(options),
                  [&out](std::string_view text) { out << text << std::flush; }) {}

void TextPrinter::octets(bool outbound, View octets, mpa::TimePoint now) {
  touch(now);
  decoder_.octets(outbound ? Side::kNear : Side::kFar, octets);
}

void TextPrinter::closed(bool outbound, bool reset, mpa::TimePoint now) {
  touch(now);
  const Side from = outbound ? Side::kNear : Side::kFar;
  decoder_.ended(from);
  sink_(heading(from, reset ? "TCP reset" : "TCP FIN: no more data in this direction"));
}

void TextPrinter::touch(mpa::TimePoint now) {
  if (!options_.start) options_.start = now;
  now_ = now;
}

std::string TextPrinter::heading(Side from, std::string_view what) const {
  const bool near = from == Side::kNear;
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(now_ - *options_.start).count();
  const auto line = fmt::format("{:+.6f} {} {} {}  {}", static_cast<double>(micros) / 1e6,
                                options_.near, near ? "-->" : "<--", options_.far, what);
  if (!options_.colour) return line + "\n";
  return fmt::format("{}{}{}\n", near ? kNearColour : kFarColour, line, kPlain);
}

void TextPrinter::print(const Frame& frame) {
  sink_(frame_text(frame, heading(frame.from, name_of(frame)), options_));
}

std::string frame_text(const Frame& frame, std::string heading, const PrinterOptions& options) {
  const bool near = frame.from == Side::kNear;
  Lines lines(std::move(heading), options.colour);
  View payload;
  switch (frame.kind) {
    case FrameKind::kStartup:
      show_startup(lines, frame, options);
      payload = frame.startup.private_data.subspan(
          frame.startup.enhanced
              ? std::min(mpa::kEnhancedWordSize, frame.startup.private_data.size())
              : 0);
      break;
    case FrameKind::kFpdu:
      payload = show_fpdu(lines, frame, options);
      break;
    case FrameKind::kUndecodable:
      lines.layer("MPA", frame.why, true);
      payload = frame.octets;
      break;
  }
  if (frame.kind != FrameKind::kUndecodable) {
    lines.layer(
        "verbs",
        meaning(frame, near ? options.near : options.far, near ? options.far : options.near),
        frame.crc == CrcVerdict::kBad);
  }
  show_payload(lines, payload, options.max_payload);
  return lines.text();
}

}  // namespace iwarp::trace
