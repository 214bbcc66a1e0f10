// SPDX-License-Identifier: Apache-2.0
// Tests the decoder with streams as found in captures: they begin in the middle, have only one
// side, or have holes.
#include <array>
#include <bit>

#include "iwarp/mpa/fpdu.hpp"
#include "support.hpp"

namespace iwarp::test {
namespace {

using namespace trace;

/// Returns many FPDUs of one side. Their sizes differ, so that markers fall on different positions
/// in the FPDUs.
WireScript long_stream(const WireScript::Options& options, bool near = true) {
  auto script = WireScript::started(options);
  for (std::uint32_t i = 0; i < 40; ++i) {
    script.send(near, 1 + 2 * i, counting(20 + 37 * i));
    script.tagged(near, rdmap::Opcode::kWrite, 0x11223344, 0x1000 * i, counting(11 * i));
  }
  return script;
}

Octets without_startup(const WireScript& script) {
  auto octets = stream_of(script, true);
  octets.erase(octets.begin(),
               octets.begin() + static_cast<std::ptrdiff_t>(script.sent[0].octets.size()));
  return octets;
}

std::size_t skipped_octets(const Observer& seen) {
  std::size_t n = 0;
  for (const auto& f : seen.found) {
    if (f.frame.kind == FrameKind::kUndecodable) n += f.octets.size() + f.frame.missing;
  }
  return n;
}

TEST_CASE("a stream that begins anywhere is decoded after at most one FPDU") {
  for (const bool markers : {false, true}) {
    const auto stream = without_startup(long_stream({.far_markers = markers}));
    for (std::size_t from = 0; from < 700; ++from) {
      INFO("markers ", markers, ", from ", from);
      Searching seen;
      seen.see(true, bytes::View(stream).subspan(from));
      seen.decoder.ended(Side::kNear);
      CHECK(seen.decoder.is_mpa());
      CHECK(seen.stream(Side::kNear).size() == stream.size() - from);
      CHECK(seen.count(CrcVerdict::kGood) >= 60);
      CHECK(seen.count(CrcVerdict::kBad) == 0);
      CHECK(seen.found.back().frame.guessed);
      // If a short FPDU contains no marker, the decoder may at first assume that the stream has
      // none. Even then, the search skips fewer than 1100 octets.
      CHECK(skipped_octets(seen) < 1100);
    }
  }
}

TEST_CASE("a direction without its peer is decoded once it is clear that none follows") {
  for (const bool markers : {false, true}) {
    const auto script = long_stream({.far_markers = markers});
    Searching seen;
    for (const auto& sent : script.sent) {
      if (sent.outbound) seen.see(true, sent.octets);
    }
    CHECK(seen.count(FrameKind::kFpdu) == 0);
    seen.decoder.ended(Side::kFar);
    seen.decoder.ended(Side::kNear);
    CHECK(seen.count(CrcVerdict::kGood) == 80);
    CHECK(skipped_octets(seen) == 0);
  }
}

TEST_CASE("a hole anywhere loses the FPDUs that it touches, and no other") {
  for (const bool markers : {false, true}) {
    for (const bool crc : {true, false}) {
      const auto script = long_stream({.far_markers = markers, .crc = crc});
      const auto stream = without_startup(script);
      for (std::size_t at = 1; at < 3000; at += 7) {
        INFO("markers ", markers, ", crc ", crc, ", at ", at);
        Searching seen(script);
        seen.see(true, bytes::View(stream).first(at));
        seen.decoder.missing(Side::kNear, 300);
        seen.see(true, bytes::View(stream).subspan(at + 300));
        seen.decoder.ended(Side::kNear);
        const auto whole = seen.count(crc ? CrcVerdict::kGood : CrcVerdict::kNotUsed);
        // A gap of 300 octets damages at most 8 of these frames. If it hides a length field, the
        // decoder has to search for the next frame and may miss a few more.
        CHECK(whole >= 80 - 12);
        CHECK(seen.count(CrcVerdict::kBad) == 0);
        CHECK(seen.near_octets() == stream.size() + script.sent[0].octets.size());
      }
    }
  }
}

TEST_CASE("an FPDU whose payload was not captured still shows where the next one begins") {
  auto script = WireScript::started();
  script.tagged(true, rdmap::Opcode::kWrite, 7, 0, counting(1000));
  script.send(true, 1, counting(8));
  Searching seen;
  for (const auto& sent : script.sent) {
    const bytes::View octets(sent.octets);
    seen.see(sent.outbound, octets.first(std::min<std::size_t>(octets.size(), 60)));
    if (octets.size() > 60) {
      seen.decoder.missing(sent.outbound ? Side::kNear : Side::kFar, octets.size() - 60);
    }
  }
  REQUIRE(seen.found.size() == 4);
  const auto& write = seen.found[2];
  CHECK(write.frame.crc == CrcVerdict::kUnknown);
  CHECK(write.frame.ulpdu_length == 14 + 1000);
  CHECK(write.ulpdu.size() == 58);
  CHECK(write.frame.missing == script.sent[2].octets.size() - 60);
  CHECK(seen.found[3].frame.crc == CrcVerdict::kGood);
}

TEST_CASE("a length that was altered in transit loses one FPDU") {
  const auto script = long_stream({});
  auto stream = without_startup(script);
  stream[0] ^= std::byte{0x40};
  Searching seen(script);
  seen.see(true, stream);
  seen.decoder.ended(Side::kNear);
  CHECK(seen.count(CrcVerdict::kGood) == 79);
}

/// Alters every marker of a stream that begins with full operation.
template <typename Change>
void change_markers(Octets& stream, Change change) {
  for (std::size_t at = 0; at + mpa::kMarkerSize <= stream.size(); at += mpa::kMarkerInterval) {
    const auto marker = bytes::load_be<std::uint32_t>(stream.data() + at);
    bytes::store_be(stream.data() + at, static_cast<std::uint32_t>(change(marker)));
  }
}

TEST_CASE("without CRCs, markers with any value lose no FPDU and cost no extra time [MPA-27]") {
  const auto script = long_stream({.far_markers = true, .crc = false});
  const std::array<std::uint32_t (*)(std::uint32_t), 4> changes{
      [](std::uint32_t m) { return m >> 8 | (m & 0xFF) << 8; },  // Swaps the two octets of FPDUPTR.
      [](std::uint32_t) { return 0U; },
      [](std::uint32_t m) { return m + 4; },
      [](std::uint32_t) { return 0x02020202U; },
  };
  for (const auto& change : changes) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{333}, std::size_t{100'000}}) {
      auto stream = without_startup(script);
      change_markers(stream, change);
      Searching seen(script);
      seen.see_pieces(true, stream, piece);
      seen.decoder.ended(Side::kNear);
      CHECK(seen.count(FrameKind::kFpdu) == 80);
      CHECK(skipped_octets(seen) == 0);
      const auto wrong = std::ranges::find(seen.found, false,
                                           [](const Found& f) { return f.frame.markers_agree; });
      REQUIRE(wrong != seen.found.end());
      CHECK(bytes::load_be<std::uint16_t>(wrong->octets.data() + wrong->frame.wrong_marker + 2) !=
            wrong->frame.due_fpduptr);
    }
  }
}

/// Takes the FPDUs of a script that has neither markers nor CRCs, and inserts markers like a peer
/// that leaves the CRC fields out of its count. `first` is the index of the first FPDU.
Octets with_late_markers(const WireScript& script, std::size_t first, bool little_endian) {
  Octets out;
  std::uint64_t position = 0;
  for (std::size_t i = first; i < script.sent.size(); ++i) {
    const auto& fpdu = script.sent[i].octets;
    const mpa::FpduLayout layout(position, true, bytes::load_be<std::uint16_t>(fpdu.data()));
    auto at = fpdu.begin();
    layout.walk(0, layout.wire_size(), [&](const mpa::FpduLayout::Run& run) {
      if (run.marker) {
        std::array<std::byte, mpa::kMarkerSize> marker{};
        const auto due = layout.fpduptr(run.marker_index);
        bytes::store_be(marker.data() + 2, little_endian ? std::byteswap(due) : due);
        out.insert(out.end(), marker.begin(), marker.end());
      } else {
        out.insert(out.end(), at, at + static_cast<std::ptrdiff_t>(run.size));
        at += static_cast<std::ptrdiff_t>(run.size);
      }
    });
    position += layout.wire_size() - mpa::kCrcSize;
  }
  return out;
}

TEST_CASE("markers of a sender that does not count CRC fields are found [MPA-25]") {
  for (std::size_t size = 0; size < 600; size += 4) {
    CAPTURE(size);
    auto script = WireScript::started({.near_markers = false, .far_markers = false, .crc = false});
    script.send(true, 1, counting(size));
    for (std::uint32_t i = 0; i < 30; ++i) {
      script.read_request(true, 1 + i, {.sink_stag = {1}, .size = 1024, .source_stag = {1}});
      if (i % 3 == 0) script.tagged(true, rdmap::Opcode::kWrite, 1, 0, counting(40 * i));
    }
    const auto stream = with_late_markers(script, 2, size % 8 == 0);
    Searching seen;
    seen.see(true, script.sent[0].octets);
    // Sets the M flag of the Reply, in the octet after the key.
    script.sent[1].octets[16] |= std::byte{0x80};
    seen.see(false, script.sent[1].octets);
    seen.see_pieces(true, stream, 57);
    seen.decoder.ended(Side::kNear);
    CHECK(skipped_octets(seen) == 0);
    REQUIRE(seen.found.size() == script.sent.size());
    for (std::size_t i = 2; i < seen.found.size(); ++i) {
      const auto& wanted = script.sent[i].octets;
      const Octets ulpdu(wanted.begin() + 2,
                         wanted.begin() + 2 + bytes::load_be<std::uint16_t>(wanted.data()));
      CHECK(seen.found[i].ulpdu == ulpdu);
    }
    CHECK(seen.found.back().frame.markers_late == 4 * (script.sent.size() - 3));
  }
}

TEST_CASE("correct markers are not taken for late ones, in any byte order [MPA-25]") {
  auto script = WireScript::started({.near_markers = false, .far_markers = true, .crc = false});
  for (std::uint32_t i = 0; i < 300; ++i) {
    script.tagged(true, rdmap::Opcode::kWrite, 1, 0, counting(1380));
  }
  auto stream = without_startup(script);
  change_markers(stream, [](std::uint32_t m) { return m >> 8 | (m & 0xFF) << 8; });
  Searching seen(script);
  seen.see_pieces(true, stream, 1400);
  seen.decoder.ended(Side::kNear);
  CHECK(seen.count(FrameKind::kFpdu) == 300);
  CHECK(std::ranges::all_of(seen.found, [](const Found& f) { return f.frame.markers_late == 0; }));
}

TEST_CASE("without CRCs, FPDUs of a stream that begins anywhere are unsure, and none is invented") {
  // Makes Read Requests, some with a marker inside. The markers contain only invalid values.
  auto script = WireScript::started({.far_markers = true, .crc = false});
  for (std::uint32_t i = 1; i <= 60; ++i)
    script.read_request(true, i, {.sink_stag = {1}, .size = 4});
  auto stream = without_startup(script);
  change_markers(stream, [](std::uint32_t) { return 0x02020202U; });
  for (std::size_t from = 4; from < 600; from += 4) {
    CAPTURE(from);
    Searching seen;
    seen.see_pieces(true, bytes::View(stream).subspan(from), 52);
    seen.decoder.ended(Side::kNear);
    CHECK(seen.stream(Side::kNear).size() == stream.size() - from);
    CHECK(seen.count(FrameKind::kFpdu) > 20);
    for (const auto& f : seen.found) {
      if (f.frame.kind != FrameKind::kFpdu) continue;
      CHECK(f.frame.unsure);
      CHECK(f.frame.ulpdu_length == ddp::kUntaggedHeaderSize + rdmap::kReadRequestSize);
    }
  }
}

TEST_CASE("the search in a stream of another protocol ends at a limit") {
  Searching seen;
  const auto other = counting(4096);
  std::size_t given = 0;
  while (!seen.decoder.is_lost(Side::kNear) && given < 1'000'000) {
    seen.see(true, other);
    given += other.size();
  }
  CHECK(given <= trace::StreamDecoder::kMaxSearched + 2 * other.size());
  CHECK_FALSE(seen.decoder.is_mpa());
}

TEST_CASE("a hole of gigabytes costs nothing") {
  Searching seen;
  const auto script = long_stream({});
  seen.see(script);
  for (int i = 0; i < 100'000; ++i) seen.decoder.missing(Side::kNear, 1U << 31);
  CHECK(seen.decoder.held(Side::kNear) == 0);
  CHECK(skipped_octets(seen) == 100'000ULL << 31);
}

TEST_CASE("startup is found after data that the programs exchanged before it [MPA-63]") {
  Searching seen;
  const auto script = long_stream({});
  const auto login = counting(333);
  seen.see(true, login);
  seen.see(false, login);
  seen.see(script);
  CHECK(seen.count(FrameKind::kStartup) == 2);
  CHECK(seen.count(CrcVerdict::kGood) == 80);
  CHECK(skipped_octets(seen) == 2 * 333);
  CHECK_FALSE(seen.found.back().frame.guessed);
}

}  // namespace
}  // namespace iwarp::test
