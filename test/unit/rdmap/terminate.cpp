// SPDX-License-Identifier: Apache-2.0
// Tests the codec and header rules of the Terminate message (RFC 5040 section 4.8).
#include "iwarp/rdmap/terminate.hpp"

#include "support.hpp"

namespace iwarp::rdmap {
namespace {

using namespace test;

Octets payload_of(const std::string& name) {
  const auto ulpdu = terminate_frame(name);
  return {ulpdu.begin() + ddp::kUntaggedHeaderSize, ulpdu.end()};
}

// Returns a segment as the Stream stores it for a Terminate: with its headers, and with the Read
// Request's header if there is one.
TerminatedSegment remembered(const std::string& name, bool with_read_request) {
  const auto ulpdu = message(name);
  TerminatedSegment s;
  s.segment_length = static_cast<std::uint16_t>(ulpdu.size());
  s.ddp_header_size = (ulpdu[0] & std::byte{0x80}) != std::byte{0} ? 14 : 18;
  std::copy_n(ulpdu.begin(), s.ddp_header_size, s.ddp_header.begin());
  if (with_read_request) {
    s.rdma_header_size = kReadRequestSize;
    std::copy_n(ulpdu.begin() + 18, kReadRequestSize, s.rdma_header.begin());
  }
  return s;
}

TEST_CASE(
    "the worked Terminates are decoded, and encoded to the same octets [RDMAP-15, RDMAP-16, "
    "RDMAP-18, RDMAP-19, RDMAP-20, RDMAP-21]") {
  struct Row {
    const char* name;
    Fault fault;
    std::size_t length;
    std::size_t ddp;
    std::size_t rdma;
  };
  const Row rows[] = {
      {"L", {Layer::kDdp, 1, 0x00}, 18, 14, 0},   {"M", {Layer::kRdma, 1, 0x02}, 46, 18, 28},
      {"N", {Layer::kMpa, 0, 0x02}, 0, 0, 0},     {"N6", {Layer::kMpa, 0, 0x06}, 0, 0, 0},
      {"N7", {Layer::kMpa, 0, 0x07}, 0, 0, 0},    {"N0", {Layer::kRdma, 0, 0x00}, 0, 0, 0},
      {"N5", {Layer::kRdma, 2, 0x07}, 70, 18, 0},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const auto payload = payload_of(row.name);
    const auto t = decode_terminate(payload).value();
    CHECK(t.fault == row.fault);
    CHECK(t.segment.has_value() == (row.length != 0));
    if (t.segment) {
      CHECK(t.segment->segment_length == row.length);
      CHECK(t.segment->ddp_header_size == row.ddp);
      CHECK(t.segment->rdma_header_size == row.rdma);
    }
    CHECK(text(encoded(t)) == text(payload));
  }
}

TEST_CASE("headers in a Terminate: figure 10 [RDMAP-17, RDMAP-92, RDMAP-93, RDMAP-94]") {
  const auto flags = [](Layer layer, unsigned type, bool of_read_request) {
    const auto segment = remembered(of_read_request ? "G" : "F", of_read_request);
    const auto octets =
        encoded(make_terminate({layer, static_cast<std::uint8_t>(type), 0x01}, segment));
    const auto size = octets.size();
    CHECK(octets[3] == std::byte{0});
    const auto m = std::to_integer<unsigned>(octets[2]);
    CHECK(size == 4u + ((m & 0x80) != 0 ? 2 : 0) +
                      ((m & 0x40) != 0 ? (of_read_request ? 18 : 14) : 0) +
                      ((m & 0x20) != 0 ? 28 : 0));
    return m;
  };
  CHECK(flags(Layer::kRdma, 0, false) == 0x00);
  CHECK(flags(Layer::kRdma, 0, true) == 0x00);
  CHECK(flags(Layer::kRdma, 1, false) == 0xC0);
  CHECK(flags(Layer::kRdma, 1, true) == 0xE0);
  CHECK(flags(Layer::kRdma, 2, false) == 0xC0);
  CHECK(flags(Layer::kRdma, 2, true) == 0xC0);
  for (const unsigned type : {0u, 1u, 2u}) {
    CHECK(flags(Layer::kDdp, type, false) == 0xC0);
    CHECK(flags(Layer::kDdp, type, true) == 0xC0);
    CHECK(flags(Layer::kMpa, type, true) == 0x00);
  }
  CHECK(encoded(make_terminate(kInvalidStag, std::nullopt)).size() == 4);
}

TEST_CASE("of a segment cut in its header, only the length is repeated [RDMAP-19, RDMAP-20]") {
  const TerminatedSegment s{.segment_length = 9};
  CHECK(text(encoded(make_terminate(ddp::kDdpCatastrophic, s))) == "10008000 0009");
  const auto back = decode_terminate(hex("10008000 0009")).value();
  REQUIRE(back.segment);
  CHECK(back.segment->segment_length == 9);
  CHECK(back.segment->ddp_header_size == 0);
}

TEST_CASE("siw's control word, in host bit order, is understood") {
  // Both words were captured from the kernel's siw on a little-endian host.
  const auto crc = decode_terminate(hex("02020000")).value();
  CHECK(crc.fault == Fault{Layer::kMpa, 0, 0x02});
  CHECK_FALSE(crc.segment);

  const auto echo = payload_of("M");
  auto read = hex("10000700");
  read.insert(read.end(), echo.begin() + 4, echo.end());
  const auto stag = decode_terminate(read).value();
  CHECK(stag.fault == kInvalidStag);
  REQUIRE(stag.segment);
  CHECK(stag.segment->ddp_header_size == 18);
  CHECK(stag.segment->rdma_header_size == 28);
}

TEST_CASE("a control word that RFC 5040 defines is never read as siw's") {
  for (const auto* word : {"20020000", "00000000", "01020000", "11000000", "12030000"}) {
    const auto octets = hex(word);
    const auto t = decode_terminate(octets).value();
    CHECK(text(encoded(t)) == word);
  }
}

TEST_CASE("a truncated Terminate gives the fields it has, and none without a whole control word") {
  for (const auto* name : {"L", "M", "N5"}) {
    const auto whole = payload_of(name);
    const auto complete = decode_terminate(whole);
    for (std::size_t n = 0; n < whole.size(); ++n) {
      INFO(name, ", octets ", n);
      const Octets cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
      const auto t = decode_terminate(cut);
      CHECK(t.has_value() == (n >= 4));
      CHECK(describe_terminate(cut).starts_with("Terminate "));
      if (!t) continue;
      CHECK(t->fault == complete->fault);
      REQUIRE(t->segment);
      const auto& s = *t->segment;
      CHECK(s.segment_length == (n >= 6 ? complete->segment->segment_length : 0));
      const auto ddp = complete->segment->ddp_header_size;
      CHECK(s.ddp_header_size == (n >= 6 + ddp ? ddp : 0));
      CHECK(s.rdma_header_size == 0);
    }
  }
}

// Returns the Terminate that reports `fault` in a segment with 10 octets of payload.
Terminate about(const Fault& fault, const ddp::SegmentHeader& header) {
  TerminatedSegment s;
  s.segment_length = static_cast<std::uint16_t>(header.size() + 10);
  s.ddp_header_size = header.size();
  ddp::encode(header, s.ddp_header.data());
  return {.fault = fault, .segment = s};
}

ddp::SegmentHeader header_of(Opcode opcode) {
  return {.tagged = info(opcode).tagged,
          .last = true,
          .rsvd_ulp = control_octet(opcode),
          .stag = Stag{0x1200},
          .to = TaggedOffset{0x5000},
          .qn = info(opcode).qn,
          .msn = Msn{7}};
}

TEST_CASE("the repeated header identifies the message that the Terminate is about [EXT-61]") {
  using Kind = Subject::Kind;
  struct Row {
    Opcode opcode;
    Kind of_rdmap;
    Kind of_ddp;
  };
  for (const Row& row : {Row{Opcode::kWrite, Kind::kWrite, Kind::kWrite},
                         Row{Opcode::kSend, Kind::kSend, Kind::kSend},
                         Row{Opcode::kSendSolicitedInvalidate, Kind::kSend, Kind::kSend},
                         Row{Opcode::kImmediate, Kind::kImmediate, Kind::kImmediate},
                         Row{Opcode::kReadRequest, Kind::kRequest, Kind::kRequest},
                         Row{Opcode::kAtomicRequest, Kind::kAtomic, Kind::kRequest},
                         Row{Opcode::kReadResponse, Kind::kUnknown, Kind::kUnknown},
                         Row{Opcode::kTerminate, Kind::kUnknown, Kind::kUnknown}}) {
    CAPTURE(info(row.opcode).name);
    CHECK(subject_of(about(kStreamCatastrophic, header_of(row.opcode))).kind == row.of_rdmap);
    const auto subject = subject_of(about(ddp::kUntaggedNoBuffer, header_of(row.opcode)));
    CHECK(subject.kind == row.of_ddp);
    REQUIRE(subject.segment);
    CHECK(subject.segment->last);
    CHECK(subject.segment->length == 10);
    if (info(row.opcode).tagged) {
      CHECK(subject.segment->stag == Stag{0x1200});
      CHECK(subject.segment->to == TaggedOffset{0x5000});
    } else {
      CHECK(subject.segment->msn == Msn{7});
    }
  }
  const auto read = subject_of({.fault = kBounds, .segment = remembered("G", true)});
  CHECK(read.kind == Kind::kRead);
  CHECK(read.segment);
}

TEST_CASE("without a usable repeated header, some DDP errors still identify the kind of message") {
  using Kind = Subject::Kind;
  CHECK(subject_of({.fault = ddp::kTaggedBounds, .segment = {}}).kind == Kind::kWrite);
  CHECK(subject_of({.fault = ddp::kUntaggedTooLong, .segment = {}}).kind == Kind::kSend);
  CHECK(subject_of({.fault = ddp::kDdpCatastrophic, .segment = {}}).kind == Kind::kUnknown);
  CHECK(subject_of({.fault = kBounds, .segment = {}}).kind == Kind::kUnknown);
  for (auto wrong : {header_of(Opcode::kSend), header_of(Opcode::kWrite)}) {
    wrong.tagged ? wrong.rsvd_ulp = control_octet(Opcode::kSend) : wrong.qn = kTerminateQueue;
    const auto subject = subject_of(about(ddp::kUntaggedTooLong, wrong));
    CHECK(subject.kind == Kind::kUnknown);
    CHECK_FALSE(subject.segment);
  }
  auto short_one = about(ddp::kTaggedBounds, header_of(Opcode::kWrite));
  short_one.segment->segment_length = 0;  // Some peers send a segment length of 0.
  CHECK(subject_of(short_one).segment->length == 0);
}

TEST_CASE("every assigned code has an explanation, no other has [RDMAP-16, REG-1, REG-2, REG-3]") {
  CHECK(std::string(explain(Layer::kRdma, 1, 0x09)) == "STag cannot be invalidated");
  CHECK(std::string(explain(Layer::kRdma, 2, 0x09)) == "STag cannot be invalidated");
  CHECK(std::string(explain(Layer::kRdma, 0, 0x77)) == "local catastrophic error");
  CHECK(std::string(explain(Layer::kMpa, 0, 0x06)) == "insufficient IRD resources");
  CHECK(std::string(explain(Layer::kDdp, 3, 0x44)) == "error of the layer below DDP");
  std::size_t known = 0;
  for (unsigned layer = 0; layer < 16; ++layer) {
    for (unsigned type = 0; type < 16; ++type) {
      for (unsigned code = 0; code < 256; ++code) {
        const std::string why = explain(static_cast<Layer>(layer), static_cast<std::uint8_t>(type),
                                        static_cast<std::uint8_t>(code));
        known += why != "unknown error" ? 1 : 0;
      }
    }
  }
  // Layer and type 0/0 have 256 codes, 0/1 has 7 and 0/2 has 6. The DDP types have 1, 5, 6 and 256
  // codes, and MPA has 7.
  CHECK(known == 256 + 7 + 6 + 1 + 5 + 6 + 256 + 7);
}

TEST_CASE("the table of RDMAP's Terminate codes [RDMAP-16]") {
  const std::pair<Fault, const char*> codes[] = {{kLocalCatastrophic, "0/0/00"},
                                                 {kInvalidStag, "0/1/00"},
                                                 {kBounds, "0/1/01"},
                                                 {kAccessRights, "0/1/02"},
                                                 {kNotAssociated, "0/1/03"},
                                                 {kWrap, "0/1/04"},
                                                 {kCannotInvalidate, "0/1/09"},
                                                 {kVersionInvalid, "0/2/05"},
                                                 {kUnexpectedOpcode, "0/2/06"},
                                                 {kStreamCatastrophic, "0/2/07"},
                                                 {kGlobalCatastrophic, "0/2/08"},
                                                 {kOperationUnspecified, "0/2/ff"}};
  for (const auto& [fault, code] : codes) {
    CHECK(fmt::format("{}/{}/{:02x}", static_cast<int>(fault.layer), fault.type, fault.code) ==
          code);
  }
}

TEST_CASE("the description of a Terminate names its segment") {
  CHECK(describe_terminate(payload_of("L")) ==
        "Terminate 1/1/00 invalid STag segment length=18 of [DDP tagged last STag=0xdeadbeef "
        "TO=0x0]");
  CHECK(describe_terminate(payload_of("M")).ends_with(" with Read Request header"));
  CHECK(describe_terminate(hex("ff01")) == "Terminate truncated (2 octets)");
}

}  // namespace
}  // namespace iwarp::rdmap
