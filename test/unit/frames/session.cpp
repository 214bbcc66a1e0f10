// SPDX-License-Identifier: Apache-2.0
// Tests what a Session derives from its frames, and every protocol rule that it checks.
#include "frames/session/session.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/mpa/fpdu.hpp"
#include "support.hpp"

namespace iwarp::test {
namespace {

using frames::Rule;
using enum frames::Rule;
using rdmap::Opcode;
using trace::Side;

/// A copy of what the session reported about a frame. Omits the parts that are valid only during
/// the callback.
struct Said {
  std::uint64_t number, operation;
  std::optional<std::uint64_t> request, cause;
  std::optional<frames::StagOrigin> origin;
  std::vector<Rule> rules;
};

std::vector<Said> look_at(const WireScript& script, frames::Session& session) {
  std::vector<Said> out;
  explain_each(script, session, [&out](const frames::Explained& e) {
    Said said{e.number, e.operation, e.request, e.cause, e.stag_origin, {}};
    for (const auto& violation : e.violations) said.rules.push_back(violation.rule);
    out.push_back(said);
  });
  return out;
}

std::vector<Said> look_at(const WireScript& script) {
  frames::Session session;
  return look_at(script, session);
}

/// Returns all rules that the frames break.
std::vector<Rule> broken(const WireScript& script) {
  std::vector<Rule> out;
  for (const auto& said : look_at(script)) {
    out.insert(out.end(), said.rules.begin(), said.rules.end());
  }
  return out;
}

using Rules = std::vector<Rule>;

struct Started : WireScript {
  Started() : WireScript(Options{}) {
    request();
    reply();
    send(kNear, 1, counting(4));  // The far end may send once it has received this Send.
  }
};

ddp::SegmentHeader untagged(Opcode opcode, std::uint32_t msn, std::uint32_t mo = 0,
                            bool last = true) {
  return {.last = last,
          .rsvd_ulp = rdmap::control_octet(opcode),
          .qn = rdmap::info(opcode).qn,
          .msn = {msn},
          .mo = mo};
}

std::vector<std::byte> atomic_response(std::uint32_t id) {
  return encoded(rdmap::AtomicResponse{.id = id, .original = 5});
}

TEST_CASE("the byte order of Read Requests is recognized from their responses [RDMAP-12]") {
  Started script;
  const auto turn = [](std::uint32_t v) { return std::byteswap(v); };
  for (std::uint32_t i = 1; i <= 3; ++i) {
    script.read_request(kNear, i,
                        {.sink_stag = {turn(0x1111 * i)},
                         .sink_to = {std::byteswap(std::uint64_t{0x805C000})},
                         .size = turn(32),
                         .source_stag = {turn(0x2222)},
                         .source_to = {std::byteswap(std::uint64_t{0x1000})}});
    script.tagged(kFar, Opcode::kReadResponse, 0x1111 * i, 0x805C000, counting(32));
  }
  const auto seen = look_at(script);
  REQUIRE(seen.size() == 9);
  CHECK(seen[3].rules.empty());  // With one frame, the session cannot decide the byte order yet.
  for (const std::size_t i : {4U, 5U, 7U}) CHECK(seen[i].rules == Rules{kReadByteOrder});
  for (const std::size_t i : {6U, 8U}) CHECK(seen[i].rules.empty());
  for (const std::size_t i : {4U, 6U, 8U}) {
    CHECK(seen[i].request == seen[i - 1].number);
    CHECK(seen[i].operation == seen[i - 1].operation);
  }
}

TEST_CASE("frames of which the decoder is unsure break no rule") {
  Started script;
  script.send(kNear, 7, counting(4));
  CHECK(broken(script) == Rules{kMsnStep});
  frames::Session session;
  std::size_t violations = 0;
  trace::StreamDecoder decoder([&](const trace::Frame& frame) {
    auto copy = frame;
    copy.unsure = true;
    violations += session.see(copy).violations.size();
  });
  decode(script, decoder);
  CHECK(violations == 0);
}

TEST_CASE("every rule has a row in the requirement tables") {
  std::string tables;
  for (const auto* name : {"mpa", "empa", "ddp", "rdmap", "ext"}) {
    std::ifstream in(std::string(IWARP_SOURCE_DIR) + "/rfc-notes/requirements/" + name + ".md");
    REQUIRE(in.good());
    std::ostringstream text;
    text << in.rdbuf();
    tables += text.str();
  }
  for (const auto& rule : frames::kRules) {
    CHECK_MESSAGE(tables.find("| " + std::string(rule.id) + " |") != std::string::npos, rule.id);
  }
}

TEST_CASE("a session without faults breaks no rule, and its frames are linked") {
  for (const bool markers : {false, true}) {
    auto script = short_session({.near_markers = markers, .far_markers = markers});
    const auto seen = look_at(script);
    REQUIRE(seen.size() == 12);
    for (std::size_t i = 0; i < 10; ++i) CHECK(seen[i].rules.empty());
    CHECK(seen[4].operation == seen[6].operation);  // Frames 4 and 6 are segments of one Write.
    CHECK(seen[8].operation == seen[7].operation);  // Frame 8 is the response to the Read Request.
    CHECK(seen[8].request == seen[7].number);
    // Frame 10 is the Write to the STag that was invalidated, and frame 11 the Terminate that
    // refuses the Write.
    CHECK(seen[10].rules == Rules{kStagValid});
    CHECK(seen[11].cause == seen[10].number);
  }
}

TEST_CASE("an STag is traced back to the payload that advertised it, in either byte order") {
  for (const bool little : {false, true}) {
    Started script;
    auto advert = counting(40);
    const std::uint32_t stag = 0x5e2d8400;
    bytes::store_be(advert.data() + 8, little ? std::byteswap(stag) : stag);
    const std::uint64_t address = 0x55ad'c998'f2c0;
    bytes::store_be(advert.data() + 16, little ? std::byteswap(address) : address);
    script.send(kFar, 1, advert);
    script.tagged(kNear, Opcode::kWrite, stag, address + 100, counting(10));
    script.tagged(kNear, Opcode::kWrite, stag + 0x100, address, counting(10));
    const auto seen = look_at(script);
    REQUIRE(seen[4].origin.has_value());
    CHECK(seen[4].origin->frame == 4);
    CHECK(seen[4].origin->with_to);
    CHECK(seen[4].origin->little_endian == little);
    CHECK_FALSE(seen[5].origin.has_value());
  }
}

TEST_CASE("private data may advertise an STag, and a later message again after an invalidation") {
  const std::uint32_t stag = 0x5e2d8400;
  std::array<std::byte, 4> octets;
  bytes::store_be(octets.data(), stag);
  WireScript script({});
  script.request(octets);
  script.reply();
  script.send(kNear, 1, counting(4));
  script.tagged(kFar, Opcode::kWrite, stag, 0, counting(4));
  script.send(kFar, 1, counting(4), Opcode::kSendInvalidate, stag);
  script.tagged(kFar, Opcode::kWrite, stag, 0, counting(4));
  script.send(kNear, 2, octets);
  script.tagged(kFar, Opcode::kWrite, stag, 0, counting(4));
  const auto seen = look_at(script);
  REQUIRE(seen[3].origin.has_value());
  CHECK(seen[3].origin->startup);
  CHECK(seen[5].rules == Rules{kStagValid});
  CHECK(seen[7].rules.empty());
  REQUIRE(seen[7].origin.has_value());
  CHECK(seen[7].origin->frame == 7);
}

TEST_CASE("rules about MSN, MO and RsvdULP [DDP-23, DDP-28, DDP-31, DDP-34, DDP-41]") {
  const auto one = [](auto add) {
    Started script;
    add(script);
    return broken(script);
  };
  CHECK(one([](auto& s) { s.send(kNear, 3, counting(4)); }) == Rules{kMsnStep});
  CHECK(one([](auto& s) { s.send(kFar, 2, counting(4)); }) == Rules{kFirstMsn});
  CHECK(one([](auto& s) { s.fpdu(kNear, untagged(Opcode::kSend, 2, 8), counting(4)); }) ==
        Rules{kFirstMo});
  CHECK(one([](auto& s) {
          s.fpdu(kNear, untagged(Opcode::kSend, 2, 0, false), counting(4));
          s.fpdu(kNear, untagged(Opcode::kSend, 2, 5), counting(4));
        }) == Rules{kMo});
  CHECK(one([](auto& s) {
          s.fpdu(kNear, untagged(Opcode::kSend, 2, 0, false), counting(4));
          s.fpdu(kNear, untagged(Opcode::kSend, 3, 4), counting(4));
        }) == Rules{kMsnInMessage});
  CHECK(one([](auto& s) {
          s.fpdu(kNear, untagged(Opcode::kSend, 2, 0, false), counting(4));
          s.fpdu(kNear, untagged(Opcode::kSendSolicited, 2, 4), counting(4));
        }) == Rules{kUlpOctets});
  CHECK(one([](auto& s) {
          s.tagged(kNear, Opcode::kWrite, 7, 0, counting(4), false);
          s.tagged(kNear, Opcode::kWrite, 8, 4, counting(4), false);
          s.tagged(kNear, Opcode::kWrite, 7, 9, counting(4));
        }) == Rules{kTaggedStag, kTaggedTo});
  CHECK(one([](auto& s) {
          s.tagged(kNear, Opcode::kWrite, 7, ~std::uint64_t{0} - 3, counting(4));
          s.tagged(kNear, Opcode::kWrite, 7, ~std::uint64_t{0} - 2, counting(4));
        }) == Rules{kToWraps});
}

TEST_CASE("headers that no sender may send [DDP-20] [RDMAP-5] [RDMAP-6] [RDMAP-7] [RDMAP-8]") {
  const auto one = [](auto change, Opcode opcode = Opcode::kSend, std::size_t payload = 4) {
    Started script;
    auto h = untagged(opcode, rdmap::info(opcode).qn == 0 ? 2 : 1);
    change(h);
    script.fpdu(kNear, h, counting(payload));
    return broken(script);
  };
  const auto nothing = [](auto&) {};
  CHECK(one([](auto& h) { h.version = 2; }) == Rules{kDdpVersion});
  CHECK(one([](auto& h) { h.rsvd_ulp = 0x83; }) == Rules{kRdmapVersion});
  CHECK(one([](auto& h) { h.rsvd_ulp = 0x73; }) == Rules{kRdmapReserved});
  CHECK(one([](auto& h) { h.rsvd_ulp = 0x4D; }) == Rules{kOpcode});
  CHECK(one([](auto& h) { h.rsvd_ulp = 0x40; }) == Rules{kModel});
  CHECK(one([](auto& h) { h.qn = 1, h.msn = {1}; }) == Rules{kQueueOfOpcode});
  CHECK(one([](auto& h) { h.qn = 9, h.msn = {1}; }) == Rules{kQueue});
  CHECK(one([](auto& h) { h.rsvd_ulp_rest = 5; }) == Rules{kInvStag});
  CHECK(one([](auto& h) { h.rsvd_ulp_rest = 5; }, Opcode::kImmediate, 8) ==
        Rules{kInvStagExtension});
  CHECK(one(nothing, Opcode::kImmediate, 7) == Rules{kImmediateSize});
  CHECK(one(nothing, Opcode::kReadRequest, 27) == Rules{kReadRequestHeader});
}

TEST_CASE("octets that MPA must not send [MPA-7] [MPA-15] [MPA-27] [MPA-46] [DDP-18]") {
  const auto one = [](bool markers, std::size_t payload, std::size_t at, bool crc) {
    auto script = WireScript::started({.far_markers = markers, .crc = crc});
    script.tagged(kNear, Opcode::kWrite, 7, 0, counting(payload));
    auto& octets = script.sent.back().octets;
    octets[at < octets.size() ? at : octets.size() - 5] ^= std::byte{0x04};
    return broken(script);
  };
  CHECK(one(false, 5, 8, true) == Rules{kCrc});
  CHECK(one(false, 5, 2, false) == Rules{kDdpReserved});
  CHECK(one(false, 5, SIZE_MAX, false) == Rules{kPad});
  CHECK(one(true, 5, SIZE_MAX, false) == Rules{kPad});
  // After a wrong marker the decoder no longer knows where FPDUs begin in the stream.
  CHECK(one(true, 600, 515, true) == Rules{});
  // Makes an FPDU that is longer than any FPDU of this project's framer.
  auto script = WireScript::started();
  constexpr std::uint16_t kLength = mpa::kMaxMulpdu + 1;
  std::vector<std::byte> fpdu(mpa::fpdu_size(kLength));
  bytes::Writer writer(fpdu);
  writer.u16(kLength);
  encode(ddp::SegmentHeader{.tagged = true, .last = true, .rsvd_ulp = 0x40}, writer);
  const auto covered = fpdu.size() - mpa::kCrcSize;
  std::ranges::copy(mpa::crc_octets(crc32c::compute(bytes::View(fpdu).first(covered))),
                    fpdu.begin() + static_cast<std::ptrdiff_t>(covered));
  script.sent.push_back({kNear, std::move(fpdu)});
  CHECK(broken(script) == Rules{kUlpduLength});
}

TEST_CASE("rules about Reads and their responses [RDMAP-13] [RDMAP-29] [RDMAP-37]") {
  const rdmap::ReadRequest request{{0x77}, {0x2000}, 64, {0x88}, {0x1000}};
  const auto one = [&](auto add) {
    Started script;
    script.read_request(kNear, 1, request);
    script.read_request(kNear, 2, request);
    add(script);
    return broken(script);
  };
  CHECK(one([](auto& s) {
          s.tagged(kFar, Opcode::kReadResponse, 0x77, 0x2000, counting(40), false);
          s.tagged(kFar, Opcode::kReadResponse, 0x77, 0x2000 + 40, counting(24));
          s.tagged(kFar, Opcode::kReadResponse, 0x77, 0x2000, counting(64));
        }) == Rules{});
  CHECK(one([](auto& s) { s.tagged(kFar, Opcode::kReadResponse, 0x78, 0x2000, counting(64)); }) ==
        Rules{kReadSink});
  CHECK(one([](auto& s) { s.tagged(kFar, Opcode::kReadResponse, 0x77, 0x2000, counting(63)); }) ==
        Rules{kReadSize});
  CHECK(one([](auto& s) { s.tagged(kFar, Opcode::kReadResponse, 0x77, 0x2000, counting(65)); }) ==
        Rules{kReadSize});
  CHECK(one([](auto& s) { s.tagged(kNear, Opcode::kReadResponse, 0x77, 0x2000, counting(64)); }) ==
        Rules{kReadResponse});
}

TEST_CASE("rules about atomics and their responses [EXT-21] [EXT-22] [EXT-27] [EXT-37] [EXT-38]") {
  const auto one = [](const rdmap::AtomicRequest& request, auto add) {
    Started script;
    script.fpdu(kNear, untagged(Opcode::kAtomicRequest, 1), encoded(request));
    add(script);
    return look_at(script);
  };
  const auto respond = [](auto id) {
    return
        [id](auto& s) { s.fpdu(kFar, untagged(Opcode::kAtomicResponse, 1), atomic_response(id)); };
  };
  const rdmap::AtomicRequest request{.id = 7, .stag = {0x88}, .to = {16}};
  auto seen = one(request, respond(7U));
  CHECK(seen[4].request == seen[3].number);
  CHECK(seen[4].operation == seen[3].operation);
  CHECK(seen[3].rules.empty());
  CHECK(seen[4].rules.empty());
  CHECK(one(request, respond(8U))[4].rules == Rules{kAtomicId});
  CHECK(one({.id = 7, .to = {20}}, respond(7U))[3].rules == Rules{kAtomicAligned});
  seen = one(request, [](auto& s) {
    s.fpdu(kNear, untagged(Opcode::kAtomicResponse, 1), atomic_response(7));
    auto octets = encoded(rdmap::AtomicRequest{.id = 8});
    octets[3] = std::byte{1};
    s.fpdu(kNear, untagged(Opcode::kAtomicRequest, 2), octets);
    octets.pop_back();
    s.fpdu(kNear, untagged(Opcode::kAtomicRequest, 3), octets);
  });
  CHECK(seen[4].rules == Rules{kAtomicResponse});
  CHECK(seen[5].rules == Rules{kAtomicOpcode});
  CHECK(seen[6].rules == Rules{kAtomicHeader});
}

TEST_CASE("rules about the Terminate: layout, code, last message [RDMAP-15, RDMAP-16, RDMAP-63]") {
  const auto one = [](bytes::Fault fault, bool swapped) {
    Started script;
    script.send(kNear, 2, counting(8));
    std::array<std::byte, rdmap::kMaxTerminateSize> octets;
    bytes::Writer writer(octets);
    encode(rdmap::make_terminate(fault, std::nullopt), writer);
    if (swapped) octets[0] = static_cast<std::byte>(static_cast<unsigned>(octets[0]) << 4);
    script.fpdu(kFar, untagged(Opcode::kTerminate, 1), writer.written());
    return broken(script);
  };
  CHECK(one({bytes::Layer::kDdp, 1, 0x00}, false) == Rules{});
  CHECK(one({bytes::Layer::kRdma, 1, 0x09}, true) == Rules{kTerminateHeader});
  CHECK(one({bytes::Layer::kRdma, 1, 0x77}, false) == Rules{kTerminateCode});
  Started script;
  script.terminate(kFar, ddp::kTaggedInvalidStag);
  script.send(kFar, 1, counting(4));
  CHECK(broken(script) == Rules{kAfterTerminate});
}

/// A Request and a Reply whose fields the test sets.
struct Startup {
  mpa::StartupFrame request{.kind = mpa::FrameKind::kRequest, .enhanced = true, .revision = 2};
  mpa::StartupFrame reply{.kind = mpa::FrameKind::kReply, .enhanced = true, .revision = 2};
  mpa::EnhancedWord asked{.ird = 4, .ord = 4};
  mpa::EnhancedWord answered{.ird = 4, .ord = 4};

  WireScript script() const {
    std::array<std::byte, 4> a, b;
    bytes::store_be(a.data(), mpa::encode(asked));
    bytes::store_be(b.data(), mpa::encode(answered));
    WireScript out({});
    for (auto frame : {request, reply}) {
      const bool asks = frame.kind == mpa::FrameKind::kRequest;
      if (frame.enhanced && frame.private_data.empty()) frame.private_data = asks ? a : b;
      out.startup(frame);
    }
    return out;
  }
};

Rules startup_rules(void (*change)(Startup&)) {
  Startup startup;
  change(startup);
  return broken(startup.script());
}

TEST_CASE("startup frames that contradict themselves or each other [EMPA-4] [EMPA-18] [EMPA-33]") {
  CHECK(startup_rules([](Startup&) {}) == Rules{});
  CHECK(startup_rules([](Startup& s) { s.request.revision = 3; }) == Rules{kRevision});
  CHECK(startup_rules([](Startup& s) { s.request.rejected = true; }) == Rules{kRejectInRequest});
  CHECK(startup_rules([](Startup& s) { s.request.revision = 1; }) == Rules{kEnhancedRevision});
  CHECK(startup_rules([](Startup& s) { s.reply.enhanced = false; }) == Rules{kEnhancedReply});
  CHECK(startup_rules([](Startup& s) { s.request.enhanced = false; }) == Rules{kPlainReply});
  CHECK(startup_rules([](Startup& s) { s.asked.peer_to_peer = true; }) == Rules{kEchoPeerToPeer});
  CHECK(startup_rules([](Startup& s) { s.answered.peer_to_peer = true; }) ==
        Rules{kEchoClientServer});
  CHECK(startup_rules([](Startup& s) { s.answered.ord = 5; }) == Rules{kResponderOrd});
  CHECK(startup_rules([](Startup& s) { s.answered.ord = mpa::kNoNegotiation; }) == Rules{});
  CHECK(startup_rules([](Startup& s) {
          static const auto kShort = counting(2);
          s.request.private_data = kShort;
        }) == Rules{kEnhancedWord});
}

TEST_CASE("which end may send first, and what [MPA-93] [EMPA-38] [RDMAP-83]") {
  auto early = WireScript::started();
  early.send(kFar, 1, counting(4));
  CHECK(broken(early) == Rules{kResponderFirst});

  Startup startup;
  startup.asked = {.peer_to_peer = true, .ird = 1, .rtr_write = true, .ord = 1};
  startup.answered = startup.asked;
  auto right = startup.script();
  right.tagged(kNear, Opcode::kWrite, 0, 0, {});
  CHECK(broken(right) == Rules{});
  auto wrong = startup.script();
  wrong.send(kNear, 1, {});
  CHECK(broken(wrong) == Rules{kRtr});

  auto many = startup.script();
  many.tagged(kNear, Opcode::kWrite, 0, 0, {});
  many.read_request(kNear, 1, {{1}, {0}, 4, {2}, {0}});
  many.read_request(kNear, 2, {{1}, {0}, 4, {2}, {0}});
  CHECK(broken(many) == Rules{kOrd});
}

TEST_CASE("missing frames do not count as violations") {
  auto script = short_session({});
  script.sent = {script.sent.begin() + 6, script.sent.begin() + 10};  // the second half
  std::vector<Rule> rules;
  frames::Session session;
  trace::StreamDecoder decoder(
      [&](const trace::Frame& frame) {
        for (const auto& violation : session.see(frame).violations) rules.push_back(violation.rule);
      },
      {.search = true});
  decode(script, decoder);
  CHECK(session.unanswered(Side::kNear) == 0);
  CHECK(rules.empty());
}

TEST_CASE("requests that are never answered are dropped, oldest first") {
  Started script;
  frames::Session session;
  for (std::uint32_t i = 0; i < 3 * frames::Session::kMaxRequests; ++i) {
    script.read_request(kNear, 1 + i, {{1}, {0}, 4, {2}, {0}});
  }
  look_at(script, session);
  CHECK(session.unanswered(Side::kNear) == frames::Session::kMaxRequests);
}

}  // namespace
}  // namespace iwarp::test
