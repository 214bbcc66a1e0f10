// SPDX-License-Identifier: Apache-2.0
// Tests what StreamDecoder finds in valid streams, in octets that are not iWARP, and in streams
// that are damaged: it must never accept an altered FPDU as valid. The fuzz target `explain` tests
// that it reports every octet once.
#include "iwarp/trace/stream_decoder.hpp"

#include "iwarp/bytes/hex.hpp"
#include "iwarp/crc32c/crc32c.hpp"
#include "support.hpp"
#include "vectors.hpp"

namespace iwarp::test {
namespace {

using namespace trace;

TEST_CASE("every frame of a script is decoded as sent, for each choice of M and C [MPA-70]") {
  for (const bool near_markers : {false, true}) {
    for (const bool far_markers : {false, true}) {
      for (const bool crc : {false, true}) {
        INFO("near markers ", near_markers, ", far markers ", far_markers, ", crc ", crc);
        const auto script = short_session({near_markers, far_markers, crc});
        Observer observer(script);
        REQUIRE(observer.found.size() == script.sent.size());
        for (std::size_t i = 0; i < script.sent.size(); ++i) {
          const auto& found = observer.found[i];
          CHECK(found.octets == script.sent[i].octets);
          CHECK((found.frame.from == Side::kNear) == script.sent[i].outbound);
          CHECK(found.frame.kind == (i < 2 ? FrameKind::kStartup : FrameKind::kFpdu));
          CHECK(found.frame.markers_agree);
          CHECK(found.frame.marked ==
                (i >= 2 && (script.sent[i].outbound ? far_markers : near_markers)));
        }
        CHECK(observer.count(crc ? CrcVerdict::kGood : CrcVerdict::kNotUsed) == 10);
      }
    }
  }
}

TEST_CASE("offset counts from the start of the TCP stream, position from that of full operation") {
  Observer observer(short_session({false, true, true}));
  CHECK(observer.found[0].frame.offset == 0);
  const auto& first = observer.found[2].frame;
  CHECK(first.offset == 24);  // The first FPDU follows the Request and its private data.
  CHECK(first.position == 0);
  const auto& second = observer.found[4].frame;
  CHECK(second.offset == first.offset + observer.found[2].octets.size());
  CHECK(second.position == observer.found[2].octets.size());
}

TEST_CASE("markers are removed from the ULPDU and listed [MPA-27] [MPA-28]") {
  Observer observer(short_session({false, true, true}));
  CHECK(observer.found[2].frame.fpduptrs == std::vector<std::uint16_t>{0});
  const auto& write = observer.found[4];
  CHECK(write.frame.fpduptrs.size() == 1);
  REQUIRE(write.ulpdu.size() == 14 + 700);
  CHECK(Octets(write.ulpdu.begin() + 14, write.ulpdu.end()) == counting(700));
}

TEST_CASE("with CRC off a flipped bit is not detected, just as at a peer [MPA-41]") {
  auto script = short_session({false, false, false});
  script.sent[5].octets[100] ^= std::byte{1};
  Observer observer(script);
  CHECK(observer.count(CrcVerdict::kNotUsed) == 10);
}

TEST_CASE("a wrong length ends the decoding of that direction only, if it can be detected") {
  auto script = short_session({false, false, true});
  script.sent[4].octets[1] ^= std::byte{0x40};  // Makes the length field too small by 64.
  Observer observer(script);
  CHECK(observer.count(FrameKind::kUndecodable) > 0);
  CHECK(observer.stream(Side::kNear) == stream_of(script, true));
  CHECK(observer.stream(Side::kFar) == stream_of(script, false));
  for (const auto& found : observer.found) {
    if (found.frame.from == Side::kFar) CHECK(found.frame.kind != FrameKind::kUndecodable);
    if (found.frame.kind == FrameKind::kUndecodable) {
      CHECK(found.why == "no FPDU begins here: frame boundaries are lost");
    }
  }
}

TEST_CASE("with CRC off, markers that point elsewhere show lost FPDU boundaries [MPA-58]") {
  auto script = short_session({false, true, false});
  // Changes the length from 714 to 1022, so that the FPDU contains one marker more.
  script.sent[4].octets[0] = std::byte{3};
  script.sent[4].octets[1] = std::byte{0xFE};
  Observer observer(script);
  observer.decoder.ended(Side::kNear);
  CHECK(observer.count(FrameKind::kUndecodable) > 0);
  CHECK(observer.found[4].why == "no FPDU begins here: frame boundaries are lost");
  CHECK(observer.stream(Side::kNear) == stream_of(script, true));
}

TEST_CASE("a wrong marker in an FPDU with a good CRC is reported, and decoding continues") {
  auto script = WireScript::started({false, true, true});
  // Makes an FPDU whose leading marker has the wrong value 8, and whose CRC is valid. The CRC also
  // covers the marker.
  Octets fpdu = *bytes::from_hex("00000008 000ec140 00000001 00000000 00000000");
  const std::uint32_t crc = crc32c::compute(fpdu);
  for (unsigned i = 0; i < 4; ++i) fpdu.push_back(static_cast<std::byte>(crc >> (8 * i)));
  script.sent.push_back({true, fpdu});
  Observer observer(script);
  REQUIRE(observer.found.size() == 3);
  CHECK(observer.found[2].frame.crc == CrcVerdict::kGood);
  CHECK_FALSE(observer.found[2].frame.markers_agree);
}

TEST_CASE("FPDUs that are captured before the Reply wait for it") {
  const auto script = short_session({false, true, true});
  Observer observer;
  observer.see(true, script.sent[0].octets);
  observer.see(true, script.sent[2].octets);
  CHECK(observer.found.size() == 1);
  CHECK(observer.decoder.held(Side::kNear) == script.sent[2].octets.size());
  observer.see(false, script.sent[1].octets);
  REQUIRE(observer.found.size() == 3);
  CHECK(observer.found[2].frame.crc == CrcVerdict::kGood);
  CHECK(observer.decoder.held(Side::kNear) == 0);
}

TEST_CASE("the wait for a Reply is limited: at the limit it continues, one more octet ends it") {
  const auto script = short_session({});
  Observer observer;
  observer.see(true, script.sent[0].octets);
  observer.see(true, Octets(trace::StreamDecoder::kMaxHeld));
  CHECK(observer.found.size() == 1);
  observer.see(true, Octets(1));
  REQUIRE(observer.found.size() == 2);
  CHECK(observer.found[1].why == "the other end has sent no MPA frame");
  CHECK(observer.decoder.held(Side::kNear) == 0);
}

TEST_CASE("octets that are no MPA frame are reported from the first on, and so is their answer") {
  Observer observer;
  const auto script = short_session({});
  observer.see(true, script.sent[0].octets);
  observer.see(true, script.sent[2].octets);
  observer.see(false, *bytes::from_hex("48545450"));
  REQUIRE(observer.found.size() == 3);
  CHECK(observer.found[1].why == "not an MPA Request or Reply");
  CHECK(observer.found[2].why == "the other end did not start MPA");
  observer.see(false, *bytes::from_hex("2f31"));
  CHECK(observer.found[3].frame.offset == 4);
}

TEST_CASE("after a rejection the stream is no longer iWARP") {
  WireScript script({});
  script.request();
  script.reply(true);
  Observer observer(script);
  observer.see(true, *bytes::from_hex("00"));
  observer.see(false, *bytes::from_hex("00"));
  REQUIRE(observer.found.size() == 4);
  CHECK(observer.found[2].why == "the connection was rejected");
  CHECK(observer.found[3].why == "the connection was rejected");
}

TEST_CASE("two Requests do not make a connection") {
  WireScript script({});
  script.request();
  Observer observer;
  observer.see(true, script.sent[0].octets);
  observer.see(false, script.sent[0].octets);
  observer.see(true, *bytes::from_hex("00"));
  REQUIRE(observer.found.size() == 3);
  CHECK(observer.count(FrameKind::kStartup) == 2);
  CHECK(observer.found[2].why == "both ends sent the same kind of MPA frame");
}

TEST_CASE("if a stream ends inside a frame, the received part of the frame is reported") {
  const auto script = short_session({});
  Observer observer;
  observer.see(script, 4);
  observer.see(true, bytes::View(script.sent[4].octets).first(99));
  CHECK(observer.found.size() == 4);
  observer.decoder.ended(Side::kNear);
  REQUIRE(observer.found.size() == 5);
  CHECK(observer.found[4].octets.size() == 99);
  CHECK(observer.found[4].why == "the stream ended inside a frame");
  observer.decoder.ended(Side::kFar);
  CHECK(observer.found.size() == 5);
}

TEST_CASE("if one direction ends without a startup frame, octets that wait for it are released") {
  const auto script = short_session({});
  Observer observer;
  observer.see(true, script.sent[0].octets);
  observer.see(true, script.sent[2].octets);
  observer.decoder.ended(Side::kFar);
  REQUIRE(observer.found.size() == 2);
  CHECK(observer.found[1].why == "the other end did not start MPA");
}

TEST_CASE("the largest possible FPDU, with markers, is one frame [MPA-3]") {
  for (const std::size_t payload : {mpa::kMaxMulpdu - 14, mpa::kMaxMulpdu - 15}) {
    auto script = WireScript::started({false, true, true});
    script.tagged(true, rdmap::Opcode::kWrite, 1, 0, counting(payload));
    Observer observer(script);
    REQUIRE(observer.found.size() == 3);
    CHECK(observer.found[2].ulpdu.size() == payload + 14);
    CHECK(observer.found[2].frame.crc == CrcVerdict::kGood);
    CHECK(observer.found[2].frame.fpduptrs.size() == 128);
  }
}

/// Returns a script in which the near end sends matching startup frames and then one vector. If the
/// vector is from the middle of a stream with markers, an FPDU of suitable size precedes it.
WireScript around(const Vector& vector) {
  auto script = WireScript::started({false, vector.position.has_value(), true});
  if (vector.position.value_or(0) != 0) {
    // The overhead of the preceding FPDU is a leading marker, the length, a header and a trailer.
    // Positions 492 and 512 are both multiples of 4.
    const std::size_t overhead = 4 + 2 + 14 + 4;
    script.tagged(true, rdmap::Opcode::kWrite, 1, 0, counting(*vector.position - overhead));
  }
  script.sent.push_back({true, vector.octets});
  return script;
}

std::vector<WireScript> scripts() {
  std::vector<WireScript> out;
  for (const auto* file : {"messages.hex", "terminates.hex", "extensions.hex", "marked.hex"}) {
    for (const auto& vector : load_vectors(file)) out.push_back(around(vector));
  }
  return out;
}

TEST_CASE("every vector that is split in two at any octet gives the same frame") {
  for (const auto& script : scripts()) {
    const auto& last = script.sent.back().octets;
    for (std::size_t cut = 0; cut <= last.size(); ++cut) {
      Observer observer;
      observer.see(script, script.sent.size() - 1);
      observer.see(true, bytes::View(last).first(cut));
      observer.see(true, bytes::View(last).subspan(cut));
      REQUIRE(observer.found.size() == script.sent.size());
      REQUIRE(observer.found.back().octets == last);
      REQUIRE(observer.count(CrcVerdict::kGood) == script.sent.size() - 2);
    }
  }
}

TEST_CASE("with any bit of any vector flipped, the FPDU is bad and no octet is lost [MPA-43]") {
  for (auto& script : scripts()) {
    const std::size_t good = script.sent.size() - 3;
    auto& last = script.sent.back().octets;
    for (std::size_t bit = 0; bit < 8 * last.size(); ++bit) {
      last[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      Observer observer;
      observer.see(script);
      observer.decoder.ended(Side::kNear);
      REQUIRE(observer.count(CrcVerdict::kGood) == good);
      REQUIRE(observer.stream(Side::kNear) == stream_of(script, true));
      last[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    }
  }
}

}  // namespace
}  // namespace iwarp::test
