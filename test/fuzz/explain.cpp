// SPDX-License-Identifier: Apache-2.0
// Target: captures and logs. An input is a capture file, a log, the streams of a connection, or the
// packets of a capture (the link type, then each packet with its lengths). Properties: the output
// consists of printable lines, JSON is valid, buffered data is bounded, each octet of a connection
// is reported once, and fields are inside their frame. The decoder itself asserts that each of its
// steps consumes octets or ends.
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "explain/capture_reader.hpp"
#include "explain/text_report.hpp"
#include "frames/connections/qlog_reader.hpp"
#include "frames/model/fields.hpp"
#include "frames/report/json_report.hpp"
#include "iwarp/trace/stream_decoder.hpp"
#include "target.hpp"

namespace iwarp::fuzz {
namespace {

using namespace apps::explain;
using apps::frames::JsonReport;

constexpr std::array kLinks{apps::frames::kLinkEthernet, apps::frames::kLinkNull,
                            apps::frames::kLinkRaw,      apps::frames::kLinkLoop,
                            apps::frames::kLinkCooked,   apps::frames::kLinkIpv4,
                            apps::frames::kLinkIpv6,     apps::frames::kLinkCooked2};
constexpr std::uint8_t kFile = 0xFF;
constexpr std::uint8_t kLog = 0xFE;
constexpr std::uint8_t kStreams = 0xFD;

/// Writes both kinds of reports, and checks the properties of every line.
class Reports final : public apps::frames::ConnectionListener {
 public:
  Reports()
      : text_({.detail = Detail::kOctets}, {}, [](std::string_view lines) { check_lines(lines); }),
        json_({.octets = true}, {}, [](std::string_view lines) { check_json(lines); }) {}
  void frame(const apps::frames::ConnectionInfo& info, const apps::frames::Explained& e,
             const apps::frames::PacketMark& mark) override {
    auto& next = next_[info.number][e.frame->from == trace::Side::kNear ? 0 : 1];
    require(e.frame->offset >= next, "no octet is in two frames");
    next = e.frame->offset + e.frame->octets.size();
    require(e.payload.size() <= e.payload_size,
            "the captured payload is not longer than the FPDU's payload");
    for (const auto& field : apps::frames::fields_of(e)) {
      require(!field.octets.empty(), "a field is not empty");
      for (const auto& range : field.octets) {
        require(range.begin + range.size <= e.frame->octets.size(), "fields stay in their frame");
      }
    }
    text_.frame(info, e, mark);
    json_.frame(info, e, mark);
  }
  void skipped(const apps::frames::ConnectionInfo& info, const apps::frames::Skipped& s) override {
    require(s.missing <= s.octets, "the missing octets are counted in the total");
    text_.skipped(info, s);
    json_.skipped(info, s);
  }
  void closed(const apps::frames::ConnectionInfo& info, const apps::frames::Closed& c,
              const apps::frames::PacketMark& mark) override {
    text_.closed(info, c, mark);
    json_.closed(info, c, mark);
  }
  void local(const apps::frames::ConnectionInfo& info, trace::Side end,
             const verbs::LocalEvent& event, const apps::frames::PacketMark& mark) override {
    text_.local(info, end, event, mark);
    json_.local(info, end, event, mark);
  }
  void summary(const apps::frames::Connections::Counts& counts) {
    text_.summary(counts);
    json_.summary(counts);
  }

 private:
  static void check_lines(std::string_view lines) {
    require(!lines.empty() && lines.back() == '\n', "the output ends with a complete line");
    for (const char c : lines)
      require(c == '\n' || (c >= ' ' && c <= '~'), "the output is printable text");
  }
  static void check_json(std::string_view line) {
    check_lines(line);
    require(nlohmann::json::accept(line), "each line is JSON");
  }

  TextReport text_;
  JsonReport json_;
  std::map<std::uint64_t, std::array<std::uint64_t, 2>> next_;
};

void read_file(apps::frames::Connections& connections, Octets file) {
  if (file.empty()) return;
  std::FILE* const stream = fmemopen(file.data(), file.size(), "rb");
  require(stream != nullptr, "a memory stream can be opened");
  auto reader = apps::explain::CaptureReader::read(stream, "input");
  if (!reader) return require(!reader.error().empty(), "an error has a text");
  std::uint64_t number = 0;
  while (const auto packet = reader->next()) {
    connections.packet(reader->link_type(), packet->octets, packet->wire_size,
                       {.nanoseconds = packet->nanoseconds, .packet = ++number});
  }
}

/// Reads a log in pieces. The first octet of the input selects their size.
void read_log(Reports& reports, apps::frames::Connections::Counts& counts, Input& in) {
  const std::size_t piece = 1 + in.u8();
  apps::frames::QlogReader reader(reports, counts, [](const std::string& line) {
    require(!line.empty(), "an error message is not empty");
    for (const char c : line) require(c >= ' ' && c <= '~', "error messages are printable");
  });
  while (!in.empty()) {
    const auto octets = in.octets(piece);
    reader.octets({reinterpret_cast<const char*>(octets.data()), octets.size()});
  }
  reader.finish();
}

void read_packets(apps::frames::Connections& connections, int link, Input& in) {
  std::uint64_t number = 0;
  while (!in.empty()) {
    const std::size_t cut = in.u8();
    const auto packet = in.octets(in.u16());
    connections.packet(link, packet, packet.size() + 8 * cut, {.packet = ++number});
    require(connections.held() <= apps::frames::Connections::kMaxHeld,
            "the held octets are bounded");
  }
}

/// Passes the streams of both ends directly to a StreamDecoder, without packets. The input contains
/// pieces, holes, and the end of either stream.
void read_streams(Input& in) {
  std::array<std::uint64_t, 2> sent{};
  std::array<std::uint64_t, 2> reported{};
  std::array<bool, 2> ended{};
  trace::StreamDecoder decoder(
      [&](const trace::Frame& frame) {
        auto& next = reported[frame.from == trace::Side::kNear ? 0 : 1];
        require(frame.offset == next, "every octet is reported once and in order");
        next += frame.octets.empty() ? frame.missing : frame.octets.size();
        require(next > frame.offset, "a reported frame is not empty");
      },
      {.search = true});
  while (!in.empty()) {
    const unsigned what = in.u8();
    const std::size_t i = what & 1;
    const auto side = i == 0 ? trace::Side::kNear : trace::Side::kFar;
    const std::size_t size = in.u16();
    if (ended[i]) continue;
    if (what < 0x80) {
      const auto piece = in.octets(size);
      sent[i] += piece.size();
      decoder.octets(side, piece);
    } else if (what < 0xF0) {
      sent[i] += size;
      decoder.missing(side, size);
    } else {
      ended[i] = true;
      decoder.ended(side);
    }
  }
  for (const auto side : {trace::Side::kNear, trace::Side::kFar}) decoder.ended(side);
  require(sent == reported, "every octet has been reported at the end");
}

}  // namespace

void run(View input) {
  Input in(input);
  const auto what = in.u8();
  if (what == kStreams) return read_streams(in);
  Reports reports;
  apps::frames::Connections connections(reports);
  if (what == kFile) {
    read_file(connections, in.octets(input.size()));
  } else if (what == kLog) {
    read_log(reports, connections.counts(), in);
  } else {
    read_packets(connections, kLinks[what % kLinks.size()], in);
  }
  connections.finish();
  reports.summary(connections.counts());
}

}  // namespace iwarp::fuzz
