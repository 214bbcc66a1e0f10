// SPDX-License-Identifier: Apache-2.0
// Tests the model that programs use to display a session: the fields with their octets, the memory
// and the states.
#include "frames/model/fields.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "frames/model/ends.hpp"
#include "frames/model/memory.hpp"
#include "support.hpp"

namespace iwarp::test {
namespace {

using frames::Field;
using rdmap::Opcode;
using trace::Side;

struct Shown {
  std::size_t size;
  std::vector<frames::FieldAt> fields;
  const frames::FieldAt& at(Field field) const {
    const auto found = std::ranges::find(fields, field, &frames::FieldAt::field);
    REQUIRE(found != fields.end());
    return *found;
  }
  bool has(Field field) const {
    return std::ranges::find(fields, field, &frames::FieldAt::field) != fields.end();
  }
};

std::vector<Shown> shown(const WireScript& script) {
  std::vector<Shown> out;
  explain_each(script, [&out](const frames::Explained& e) {
    out.push_back({e.frame->octets.size(), fields_of(e)});
  });
  return out;
}

/// Checks that each octet is covered once: by one field of whole octets, or by bit fields that fill
/// it.
void check_all_octets(const Shown& frame) {
  std::vector<unsigned> bits(frame.size);
  for (const auto& field : frame.fields) {
    std::size_t first = 0;
    for (const auto& range : field.octets) {
      REQUIRE(range.begin + range.size <= frame.size);
      for (std::size_t i = 0; i < range.size; ++i) {
        const std::size_t from = 8 * (first + i);
        const std::size_t begin =
            field.bits == 0 ? from : std::max<std::size_t>(from, field.first_bit);
        const std::size_t end = field.bits == 0
                                    ? from + 8
                                    : std::min<std::size_t>(from + 8, field.first_bit + field.bits);
        if (begin < end) bits[range.begin + i] += static_cast<unsigned>(end - begin);
      }
      first += range.size;
    }
  }
  CHECK(std::ranges::all_of(bits, [](unsigned n) { return n == 8; }));
}

ddp::SegmentHeader header_of(Opcode opcode) {
  return {.last = true,
          .rsvd_ulp = rdmap::control_octet(opcode),
          .qn = rdmap::info(opcode).qn,
          .msn = {1}};
}

/// Returns a script with one frame of each kind, and with markers in both directions.
WireScript every_kind() {
  WireScript script({.near_markers = true, .far_markers = true});
  script.request(counting(9));
  script.reply();
  script.send(kNear, 1, counting(5));
  script.send(kFar, 1, counting(700), Opcode::kSendInvalidate, 0x1234);
  script.tagged(kNear, Opcode::kWrite, 7, 0x1000, counting(1400));
  script.read_request(kNear, 1,
                      {.sink_stag = {3}, .sink_to = {16}, .size = 99, .source_stag = {4}});
  script.tagged(kFar, Opcode::kReadResponse, 3, 16, counting(99));
  script.fpdu(kNear, header_of(Opcode::kAtomicRequest),
              encoded(rdmap::AtomicRequest{.id = 5, .stag = {6}, .to = {8}, .add_or_swap = 1}));
  script.fpdu(kFar, header_of(Opcode::kAtomicResponse),
              encoded(rdmap::AtomicResponse{.id = 5, .original = 41}));
  script.fpdu(kNear, header_of(Opcode::kImmediate), counting(8));
  script.terminate(kFar, {bytes::Layer::kDdp, 1, 0x00, ""});
  return script;
}

}  // namespace

TEST_CASE("every octet of every kind of frame is in one field, or in bits that fill it") {
  const auto frames = shown(every_kind());
  REQUIRE(frames.size() == 11);
  for (const auto& frame : frames) check_all_octets(frame);
}

TEST_CASE("markers are separate fields between the octets that they separate [MPA-25] [MPA-27]") {
  const auto frames = shown(every_kind());
  const auto& write = frames[4];
  const auto& payload = write.at(Field::kPayload);
  CHECK(payload.value == "1400 octets");
  CHECK(payload.octets.size() == 3);
  std::size_t sum = 0;
  for (const auto& range : payload.octets) sum += range.size;
  CHECK(sum == 1400);
  for (std::size_t i = 1; i < payload.octets.size(); ++i) {
    const auto& before = payload.octets[i - 1];
    CHECK(payload.octets[i].begin == before.begin + before.size + mpa::kMarkerSize);
  }
  CHECK(std::ranges::count(write.fields, Field::kFpduptr, &frames::FieldAt::field) == 2);
  // The first FPDU of a direction begins with its marker. [MPA-26]
  CHECK(frames[2].fields.front().field == Field::kMarkerReserved);
  CHECK(frames[2].at(Field::kUlpduLength).octets.front() == frames::OctetRange{4, 2});
}

TEST_CASE("each value is shown as the header has it [DDP-22] [RDMAP-3]") {
  const auto frames = shown(every_kind());
  CHECK(frames[0].at(Field::kKey).value == "MPA ID Req Frame");
  CHECK(frames[0].at(Field::kPrivateData).octets.front() == frames::OctetRange{20, 9});
  CHECK(frames[2].at(Field::kPad).value == "3 octets");
  CHECK(frames[2].has(Field::kNoInvalidateStag));
  CHECK(frames[3].at(Field::kInvalidateStag).value == "0x00001234");
  const auto& write = frames[4];
  CHECK(write.at(Field::kTagged).value == "1");
  CHECK(write.at(Field::kTagged).bits == 1);
  CHECK(write.at(Field::kOpcode).first_bit == 4);
  CHECK(write.at(Field::kTo).value == "0x0000000000001000");
  CHECK(frames[5].at(Field::kReadSize).value == "99");
  CHECK(frames[7].at(Field::kAtomicOpcode).value == "0: FetchAdd");
  CHECK(frames[8].at(Field::kOriginalValue).value == "0x0000000000000029");
  CHECK(frames[10].at(Field::kTerminateLayer).value == "1: DDP");
  CHECK(frames[10].at(Field::kHeaderControl).value == "M=0 D=0 R=0");
  CHECK(frames[10].at(Field::kCrc).value.ends_with(", right"));
}

TEST_CASE("each field has a name, a layer, a section and a reason") {
  const std::set<std::string_view> layers{"mpa", "marker", "ddp", "rdmap", "ulp"};
  for (const auto& row : frames::all_fields()) {
    CAPTURE(row.name);
    CHECK(layers.contains(row.layer));
    CHECK_FALSE(row.section.empty());
    CHECK(row.why.ends_with('.'));
    CHECK(&frames::info(row.field) == &row);
  }
}

TEST_CASE("octets that were not captured are in no field") {
  auto script = WireScript::started();
  script.send(kNear, 1, counting(100));
  frames::Session session;
  std::vector<frames::FieldAt> fields;
  trace::StreamDecoder decoder([&](const trace::Frame& f) { fields = fields_of(session.see(f)); });
  decoder.octets(Side::kNear, script.sent[0].octets);
  decoder.octets(Side::kFar, script.sent[1].octets);
  const auto& octets = script.sent[2].octets;
  decoder.octets(Side::kNear, bytes::View(octets).first(50));
  decoder.missing(Side::kNear, octets.size() - 50);
  REQUIRE_FALSE(fields.empty());
  CHECK(fields.back().field == Field::kPayload);
  CHECK(fields.back().octets.front() == frames::OctetRange{20, 30});
}

TEST_CASE("frames report how they access their receiver's memory") {
  std::vector<std::optional<frames::Access>> accesses;
  frames::MemoryBook book;
  explain_each(every_kind(), [&](const frames::Explained& e) {
    accesses.push_back(frames::access_of(e));
    book.see(e);
  });
  using frames::AccessKind;
  CHECK_FALSE(accesses[0].has_value());
  REQUIRE(accesses[2].has_value());
  CHECK(accesses[2]->kind == AccessKind::kReceive);
  CHECK(accesses[2]->owner == Side::kFar);
  REQUIRE(accesses[4].has_value());
  CHECK(accesses[4]->kind == AccessKind::kWrite);
  CHECK(accesses[4]->to == 0x1000);
  CHECK(accesses[5]->kind == AccessKind::kRead);
  CHECK(accesses[5]->size == 99);
  CHECK(accesses[6]->owner == Side::kNear);
  CHECK(accesses[7]->kind == AccessKind::kAtomic);
  CHECK_FALSE(accesses[9].has_value());  // an Immediate does not access the buffer
  const auto& far = book.regions(Side::kFar);
  REQUIRE(far.size() == 3);
  CHECK(far.at(7).begin == 0x1000);
  CHECK(far.at(7).end == 0x1000 + 1400);
  CHECK(far.at(6).end == 16);
  CHECK(book.regions(Side::kNear).at(3).first == 7);
}

TEST_CASE("a use of memory after its invalidation is recognized, also with TOs near 2^64") {
  auto script = WireScript::started();
  script.tagged(kNear, Opcode::kWrite, 7, ~std::uint64_t{0} - 3, counting(40));
  script.send(kNear, 1, counting(4), Opcode::kSendInvalidate, 7);
  script.tagged(kNear, Opcode::kWrite, 7, 16, counting(4));
  frames::MemoryBook book;
  std::optional<frames::Access> last;
  explain_each(script, [&](const frames::Explained& e) {
    book.see(e);
    last = frames::access_of(e);
  });
  CHECK(last->doubtful);
  const auto& region = book.regions(Side::kFar).at(7);
  CHECK(region.begin == 16);
  CHECK(region.end == ~std::uint64_t{0});
  CHECK(region.invalidated == 4);
}

TEST_CASE("both ends follow the state tables from startup to close [MPA-86] [RDMAP-89] [VRB-5]") {
  frames::Ends ends;
  std::vector<std::size_t> steps;
  explain_each(every_kind(),
               [&](const frames::Explained& e) { steps.push_back(ends.see(e).size()); });
  CHECK(steps == std::vector<std::size_t>{3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 5});
  CHECK(ends.of(Side::kFar).stream == rdmap::StreamState::kTerminateSent);
  CHECK(ends.of(Side::kNear).stream == rdmap::StreamState::kTerminateReceived);
  CHECK(ends.of(Side::kNear).qp == verbs::QpState::kTerminate);
  const auto& last = ends.closed({.how = frames::Closing::kFin, .first = Side::kFar});
  REQUIRE_FALSE(last.empty());
  CHECK(ends.of(Side::kNear).stream == rdmap::StreamState::kClosed);
  CHECK(ends.of(Side::kNear).qp == verbs::QpState::kError);
}

TEST_CASE("a close without Terminate after a damaged FPDU is an error of its receiver") {
  frames::Ends ends;
  auto whole = WireScript::started();
  explain_each(whole, [&](const frames::Explained& e) { ends.see(e); });
  trace::Frame damaged;
  damaged.from = Side::kNear;
  damaged.kind = trace::FrameKind::kFpdu;
  damaged.crc = trace::CrcVerdict::kBad;
  frames::Explained explained;
  explained.frame = &damaged;
  ends.see(explained);
  ends.closed({.how = frames::Closing::kFin, .first = Side::kFar});
  CHECK(ends.of(Side::kFar).qp == verbs::QpState::kError);
  CHECK(ends.of(Side::kNear).qp == verbs::QpState::kIdle);
}

TEST_CASE("an orderly close, a reset, a rejection, and a capture that begins in the middle") {
  auto whole = WireScript::started();
  for (const auto how : {frames::Closing::kFin, frames::Closing::kReset}) {
    frames::Ends ends;
    explain_each(whole, [&](const frames::Explained& e) { ends.see(e); });
    const auto& changes = ends.closed({.how = how, .first = Side::kFar});
    const bool fin = how == frames::Closing::kFin;
    CHECK(ends.of(Side::kNear).qp == (fin ? verbs::QpState::kIdle : verbs::QpState::kError));
    if (fin) CHECK(changes.front().side == Side::kFar);
  }
  WireScript rejected({});
  rejected.request();
  rejected.reply(true);
  frames::Ends refused;
  explain_each(rejected, [&](const frames::Explained& e) { refused.see(e); });
  CHECK(refused.of(Side::kNear).startup == mpa::StartupState::kRejected);
  CHECK_FALSE(refused.of(Side::kNear).stream.has_value());

  frames::Ends middle;
  trace::Frame frame{.kind = trace::FrameKind::kFpdu};
  CHECK(middle.see({.frame = &frame}).empty());
  CHECK(middle.of(Side::kFar).qp == verbs::QpState::kRts);
}

}  // namespace iwarp::test
