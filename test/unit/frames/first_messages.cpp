// SPDX-License-Identifier: Apache-2.0
// Tests two conventions of peers that use MPA revision 1: SMB Direct puts IRD and ORD into the
// private data, and the initiator sends an empty first message so that the other end may send.
#include <doctest/doctest.h>

#include "frames/model/fields.hpp"
#include "iwarp/trace/smb_direct.hpp"
#include "support.hpp"

namespace iwarp::test {
namespace {

using namespace frames;
using rdmap::Opcode;

std::string depths(std::initializer_list<unsigned> octets, bool enhanced = false) {
  std::vector<std::byte> data;
  for (const unsigned octet : octets) data.push_back(static_cast<std::byte>(octet));
  const auto found = trace::smb_direct_depths({.enhanced = enhanced, .private_data = data});
  return found ? describe(*found) : "";
}

TEST_CASE("8 octets of private data with two small numbers have the form of SMB Direct") {
  CHECK(depths({0, 0, 0, 16, 0, 0, 0, 0}) == "IRD 16, ORD 0 in the encoding of SMB Direct");
  CHECK(depths({0, 0, 0, 0, 0, 0, 0, 1}) == "IRD 0, ORD 1 in the encoding of SMB Direct");
  CHECK(depths({0, 0, 0x3F, 0xFF, 0, 0, 0, 1}) == "IRD 16383, ORD 1 in the encoding of SMB Direct");
  CHECK(depths({16, 0, 0, 0, 32, 0, 0, 0}) ==
        "IRD 16, ORD 32 in the encoding of SMB Direct, but in little-endian order");
  // Other private data is not reported as IRD and ORD: impossible values, no values, another size,
  // and the enhanced word of RFC 6581.
  CHECK(depths({0, 0, 0x40, 0, 0, 0, 0, 1}).empty());
  CHECK(depths({'p', 'r', 'i', 'v', 'a', 't', 'e', '.'}).empty());
  CHECK(depths({0, 0, 0, 0, 0, 0, 0, 0}).empty());
  CHECK(depths({0, 0, 0, 16, 0, 0, 0}).empty());
  CHECK(depths({0, 0, 0, 16, 0, 0, 0, 1, 0}).empty());
  CHECK(depths({0, 0, 0, 16, 0, 0, 0, 1}, true).empty());
}

/// What the session reports about the last frame.
struct Last {
  Rtr rtr = Rtr::kNone;
  std::size_t violations = 0;
  std::vector<frames::FieldAt> fields;
};

Last last_of(const WireScript& script) {
  Last out;
  explain_each(script, [&out](const frames::Explained& e) {
    out = {e.rtr, e.violations.size(), frames::fields_of(e)};
  });
  return out;
}

TEST_CASE("the numbers of SMB Direct are fields of the Request") {
  const std::array<std::byte, 8> data{std::byte{}, std::byte{}, std::byte{}, std::byte{16},
                                      std::byte{}, std::byte{}, std::byte{}, std::byte{2}};
  WireScript script({});
  script.request(data);
  const auto fields = last_of(script).fields;
  REQUIRE(fields.size() >= 2);
  const auto& ird = fields[fields.size() - 2];
  CHECK(ird.field == Field::kSmbIrd);
  CHECK(ird.value == "16");
  CHECK(ird.octets == std::vector{frames::OctetRange{20, 4}});
  CHECK(fields.back().field == Field::kSmbOrd);
  CHECK(fields.back().value == "2");
  CHECK(fields.back().octets == std::vector{frames::OctetRange{24, 4}});
}

constexpr rdmap::ReadRequest kNothing{.sink_stag = {1}, .size = 0, .source_stag = {1}};
constexpr rdmap::ReadRequest kSomething{.sink_stag = {1}, .size = 4, .source_stag = {1}};

TEST_CASE("the first message of revision 1 is a ready-to-receive message if it transfers no data") {
  auto read = WireScript::started();
  read.read_request(kNear, 1, kNothing);
  CHECK(last_of(read).rtr == Rtr::kRevisionOne);
  read.read_request(kNear, 2, kNothing);
  CHECK(last_of(read).rtr == Rtr::kNone);
  auto write = WireScript::started();
  write.tagged(kNear, Opcode::kWrite, 1, 0, {});
  CHECK(last_of(write).rtr == Rtr::kRevisionOne);
  auto more = WireScript::started();
  more.read_request(kNear, 1, kSomething);
  CHECK(last_of(more).rtr == Rtr::kNone);
  // A Send is not reported as an RTR: it consumes a receive, so the program may have meant it as a
  // message.
  auto send = WireScript::started();
  send.send(kNear, 1, {});
  CHECK(last_of(send).rtr == Rtr::kNone);
  auto answer = WireScript::started();
  answer.read_request(kFar, 1, kNothing);
  CHECK(last_of(answer).rtr == Rtr::kNone);
}

TEST_CASE("an agreed Read of no octets is the ready-to-receive message [EMPA-38]") {
  const auto script = [](bool by_read, const rdmap::ReadRequest& request) {
    const mpa::EnhancedWord word{
        .peer_to_peer = true, .ird = 1, .rtr_write = !by_read, .rtr_read = by_read, .ord = 1};
    std::array<std::byte, mpa::kEnhancedWordSize> data;
    bytes::store_be(data.data(), mpa::encode(word));
    WireScript out({});
    for (const auto kind : {mpa::FrameKind::kRequest, mpa::FrameKind::kReply}) {
      out.startup({.kind = kind, .enhanced = true, .revision = 2, .private_data = data});
    }
    out.read_request(kNear, 1, request);
    return last_of(out);
  };
  CHECK(script(true, kNothing).rtr == Rtr::kAgreed);
  CHECK(script(true, kNothing).violations == 0);
  CHECK(script(true, kSomething).rtr == Rtr::kNone);
  CHECK(script(true, kSomething).violations == 1);
  CHECK(script(false, kNothing).rtr == Rtr::kNone);
  CHECK(script(false, kNothing).violations == 1);
}

}  // namespace
}  // namespace iwarp::test
