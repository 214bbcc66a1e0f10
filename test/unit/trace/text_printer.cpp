// SPDX-License-Identifier: Apache-2.0
// Tests the text that TextPrinter prints, frame by frame.
#include "iwarp/trace/text_printer.hpp"

#include <sstream>

#include "iwarp/bytes/hex.hpp"
#include "support.hpp"
#include "vectors.hpp"

namespace iwarp::test {
namespace {

using std::chrono::microseconds;
using namespace trace;

mpa::TimePoint at(int micros) { return mpa::TimePoint(microseconds(micros)); }

/// Returns every text that the printer makes from a script. Frame n has the time of 100 + n
/// microseconds.
std::vector<std::string> printed(const WireScript& script, PrinterOptions options = {}) {
  options.near = "client";
  options.far = "server";
  std::vector<std::string> texts;
  TextPrinter printer(options, [&texts](std::string_view text) { texts.emplace_back(text); });
  int micros = 100;
  for (const auto& sent : script.sent) printer.octets(sent.outbound, sent.octets, at(micros++));
  return texts;
}

/// Prints one vector, sent from client to server after plain startup frames.
std::string printed_vector(const std::string& file, const std::string& name,
                           const PrinterOptions& options = {}) {
  const auto vector = load_vector(file, name);
  auto script = WireScript::started({false, vector.position.has_value(), true});
  script.sent.push_back({true, vector.octets});
  return printed(script, options).back();
}

TEST_CASE("a Send is printed as four layers, each indented below the layer that carries it") {
  CHECK(printed_vector("messages.hex", "D") ==
        "+0.000002 client --> server  FPDU, 32 octets\n"
        "    MPA   FPDU with ULPDU_Length 23, PAD 3, CRC 0cb190b9 good\n"
        "      DDP   untagged last QN=0 MSN=1 MO=0 payload=5\n"
        "        RDMAP Send\n"
        "          verbs Send of 5 octets, which consumes one receive posted by server\n"
        "                68656c6c 6f  \"hello\"\n");
}

TEST_CASE("the tag of RFC 7306 is not printed as private data, except in a rejection") {
  const auto meaning = [](mpa::FrameKind kind, bool rejected, std::string_view data) {
    WireScript script({});
    script.startup(
        {.kind = kind, .rejected = rejected, .private_data = std::as_bytes(std::span(data))});
    script.sent[0].outbound = true;
    return printed(script).at(0);
  };
  using mpa::FrameKind;
  CHECK(meaning(FrameKind::kRequest, false, "RFC 7306")
            .contains("verbs client asks server for a connection, and supports RFC 7306\n"));
  CHECK(meaning(FrameKind::kReply, false, "yes7306 too")
            .contains("client accepts the connection, with 3 octets of private data, and supports "
                      "RFC 7306; both"));
  CHECK(meaning(FrameKind::kReply, false, "imm. too")
            .contains("client accepts the connection, and supports RFC 7306 and Send with "
                      "Immediate; both"));
  CHECK(meaning(FrameKind::kReply, true, "7306 too")
            .contains("client rejects the connection, with 8 octets of private data\n"));
}

TEST_CASE("startup frames have no DDP line, and their private data excludes the IRD and ORD") {
  WireScript script({});
  script.sent.push_back({true, load_vector("startup.hex", "A").octets});
  script.sent.push_back({false, load_vector("startup.hex", "B").octets});
  const auto texts = printed(script);
  REQUIRE(texts.size() == 2);
  CHECK(
      texts[0].contains("+0.000000 client --> server  MPA Request, 28 octets\n    MPA   Request"));
  CHECK(texts[0].contains(
      "verbs client asks server for a connection, with 4 octets of private data\n"));
  CHECK(texts[0].contains("48454c4f  \"HELO\"\n"));
  CHECK(texts[1].contains("+0.000001 client <-- server  MPA Reply, 24 octets\n"));
  CHECK(texts[1].contains("verbs server accepts the connection; both queue pairs enter RTS\n"));
  CHECK_FALSE((texts[0] + texts[1]).contains("DDP"));
}

TEST_CASE("the verbs line describes the effect of each message on the programs") {
  const std::vector<std::pair<const char*, const char*>> expected{
      {"C", "the ready-to-receive message (RTR)"},
      {"E",
       "Send of 0 octets, which consumes one receive posted by server; invalidates server's STag "
       "0x00a1b2c3"},
      {"F",
       "RDMA Write of 8 octets into server's STag 0x11223344, to be placed without waking its "
       "program"},
      {"G",
       "RDMA Read of 64 octets from server's STag 0x11223344, to be answered without waking its "
       "program"},
      {"H",
       "64 octets in answer to server's RDMA Read, for the sink STag 0x55667788; the Read is "
       "complete"},
  };
  for (const auto& [name, words] : expected) {
    const auto text = printed_vector("messages.hex", name);
    CHECK_MESSAGE(text.contains(words), text);
  }
  CHECK(printed_vector("terminates.hex", "L")
            .contains("Terminate: client ends the stream because of \"invalid STag\""));
}

TEST_CASE("messages of RFC 7306 are printed with all their fields") {
  const std::vector<std::pair<const char*, const char*>> expected{
      {"I", "RDMAP Immediate Data with Solicited Event 0x0102030405060708\n"},
      {"I",
       "Immediate Data 0x0102030405060708, which completes one receive posted by server and "
       "leaves its buffer unchanged; wakes a program that waits for solicited events"},
      {"J",
       "RDMAP Atomic Request FetchAdd id=0xcafe0001 STag=0x11223344 TO=0x1000 add=0x1 add_mask=0x0 "
       "compare=0x0 compare_mask=0xffffffffffffffff\n"},
      {"J",
       "FetchAdd: adds 1 to the word at 0x1000 of server's STag 0x11223344, atomically and "
       "without waking server's program"},
      {"J2",
       "RDMAP Atomic Request CmpSwap id=0xcafe0002 STag=0x11223344 TO=0x1000 swap=0x63 "
       "swap_mask=0xffffffffffffffff compare=0x2a compare_mask=0xffffffffffffffff\n"},
      {"J2",
       "CmpSwap: if the word at 0x1000 of server's STag 0x11223344 is 42, sets it to 99, "
       "atomically and without waking server's program"},
      {"K", "RDMAP Atomic Response id=0xcafe0001 original=0x29\n"},
      {"K", "server's atomic operation is complete; the word was 41 before"},
  };
  for (const auto& [name, words] : expected) {
    const auto text = printed_vector("extensions.hex", name);
    CHECK_MESSAGE(text.contains(words), text);
  }
}

TEST_CASE("malformed messages of RFC 7306 are printed as malformed") {
  const auto printed_altered = [](const char* name, std::size_t at, std::byte value) {
    auto script = WireScript::started({false, false, false});
    auto octets = load_vector("extensions.hex", name).octets;
    octets[at] = value;
    script.sent.push_back({true, octets});
    return printed(script).back();
  };
  const auto swap = printed_altered("J", 2 + 18 + 3, std::byte{1});
  CHECK_MESSAGE(swap.contains("RDMAP Atomic Request unknown AOpCode 1\n"), swap);
  CHECK_MESSAGE(swap.contains("an Atomic Request that is truncated or has an unknown operation"),
                swap);
  const auto reserved = printed_altered("J", 3, std::byte{0x4C});
  CHECK_MESSAGE(reserved.contains("an operation that server does not support"), reserved);
}

TEST_CASE("segments of one message are numbered") {
  const auto texts = printed(short_session({}));
  CHECK(texts[4].contains("one part of an RDMA Write: 700 octets"));
  CHECK(texts[6].contains("RDMA Write of 33 octets"));
  auto script = WireScript::started();
  const ddp::SegmentHeader first{.rsvd_ulp = rdmap::control_octet(rdmap::Opcode::kSend)};
  auto last = first;
  last.last = true;
  last.mo = 700;
  script.fpdu(true, first, counting(700));
  script.fpdu(true, last, counting(10));
  const auto parts = printed(script);
  CHECK(
      parts[2].contains("first 700 octets of a Send, which consumes one receive posted by server"));
  CHECK(parts[3].contains("last 10 octets of a Send of 710 octets; the receive is complete"));
}

TEST_CASE("a bad CRC is reported, and no line below it claims that the message was accepted") {
  auto script = short_session({});
  script.sent[6].octets[30] ^= std::byte{1};
  const auto texts = printed(script);
  CHECK(texts[6].contains(" BAD\n"));
  CHECK(texts[6].contains(
      "no effect: the CRC is wrong; server discards the FPDU and ends the stream"));
}

TEST_CASE("the MPA line shows markers and that the CRC is off") {
  CHECK(printed(short_session({false, false, false}))[3].contains("CRC not in use"));
  CHECK(printed_vector("marked.hex", "S").contains("PAD 2, markers 0000 01fc 03fc, CRC"));
}

TEST_CASE("payload is truncated at the limit, and limit 0 prints none") {
  const auto cut = printed_vector("messages.hex", "H", {.max_payload = 4});
  CHECK(cut.contains("00010203  \"....\" and 60 more\n"));
  const auto none = printed_vector("messages.hex", "D", {.max_payload = 0});
  CHECK_FALSE(none.contains("hello"));
  CHECK(none.ends_with("consumes one receive posted by server\n"));
}

TEST_CASE("header octets, if requested, are printed below their layer") {
  CHECK(printed_vector("messages.hex", "G", {.header_octets = true}) ==
        "+0.000002 client --> server  FPDU, 52 octets\n"
        "    MPA   FPDU with ULPDU_Length 46, PAD 0, CRC 93478b1f good\n"
        "          002e ... 1f8b4793\n"
        "      DDP   untagged last QN=1 MSN=1 MO=0 payload=28\n"
        "            4141 00000000 00000001 00000001 00000000\n"
        "        RDMAP RDMA Read Request 64 octets from STag=0x11223344 TO=0x1000 to "
        "STag=0x55667788 TO=0x2000\n"
        "              55667788 00000000 00002000 00000040 11223344 00000000 00001000\n"
        "          verbs RDMA Read of 64 octets from server's STag 0x11223344, to be answered "
        "without "
        "waking its program\n");
}

TEST_CASE("colour distinguishes the directions and is off by default") {
  CHECK_FALSE(printed(short_session({}))[0].contains("\033["));
  const auto texts = printed(short_session({}), {.colour = true});
  CHECK(texts[0].starts_with("\033[36m"));
  CHECK(texts[1].starts_with("\033[33m"));
}

TEST_CASE("octets that are not iWARP, and the end of a direction, are printed with the reason") {
  std::ostringstream out;
  TextPrinter printer({.start = at(0)}, out);
  printer.octets(false, *bytes::from_hex("47455420"), at(1500000));
  printer.closed(false, false, at(1500001));
  printer.closed(true, true, at(1500002));
  CHECK(out.str() ==
        "+1.500000 local <-- peer  4 octets that are not a frame\n"
        "    MPA   not an MPA Request or Reply\n"
        "          47455420  \"GET \"\n"
        "+1.500001 local <-- peer  TCP FIN: no more data in this direction\n"
        "+1.500002 local --> peer  TCP reset\n");
}

TEST_CASE("every vector, truncated or altered at any octet, is printed safely") {
  for (const auto* file : {"messages.hex", "terminates.hex", "extensions.hex"}) {
    for (const auto& vector : load_vectors(file)) {
      for (std::size_t i = 0; i < vector.octets.size(); ++i) {
        // Without a CRC, the decoder also accepts altered octets.
        WireScript script({false, false, false});
        script.request();
        script.reply();
        auto altered = vector.octets;
        altered[i] ^= std::byte{0xFF};
        script.sent.push_back({true, altered});
        const auto texts = printed(script, {.colour = true, .header_octets = true});
        REQUIRE(texts.size() >= 2);
        for (const auto& text : texts) REQUIRE(text.ends_with("\n"));
      }
    }
  }
}

}  // namespace
}  // namespace iwarp::test
