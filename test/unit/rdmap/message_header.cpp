// SPDX-License-Identifier: Apache-2.0
// Tests the opcode table, the control octet, the Read Request header, and the texts that describe
// messages (RFC 5040 sections 4.1 to 4.4, RFC 7306 section 4).
#include "iwarp/rdmap/message_header.hpp"

#include "iwarp/rdmap/describe.hpp"
#include "support.hpp"

namespace iwarp::rdmap {
namespace {

using namespace test;

TEST_CASE(
    "the opcode table matches RFC 5040 figure 4 and RFC 7306 figure 2 [EXT-3, EXT-8, EXT-18, "
    "EXT-19, EXT-24, EXT-28, EXT-33, EXT-49, RDMAP-2, RDMAP-3, RDMAP-5, RDMAP-6, RDMAP-7, RDMAP-8, "
    "RDMAP-11, RDMAP-33, RDMAP-54]") {
  struct Row {
    Opcode opcode;
    unsigned control;
    bool tagged;
    Qn qn;
    bool solicited;
    bool invalidates;
  };
  const Row rows[] = {
      {Opcode::kWrite, 0x40, true, 0, false, false},
      {Opcode::kReadRequest, 0x41, false, 1, false, false},
      {Opcode::kReadResponse, 0x42, true, 0, false, false},
      {Opcode::kSend, 0x43, false, 0, false, false},
      {Opcode::kSendInvalidate, 0x44, false, 0, false, true},
      {Opcode::kSendSolicited, 0x45, false, 0, true, false},
      {Opcode::kSendSolicitedInvalidate, 0x46, false, 0, true, true},
      {Opcode::kTerminate, 0x47, false, 2, false, false},
      {Opcode::kImmediate, 0x48, false, 0, false, false},
      {Opcode::kImmediateSolicited, 0x49, false, 0, true, false},
      {Opcode::kAtomicRequest, 0x4A, false, 1, false, false},
      {Opcode::kAtomicResponse, 0x4B, false, 3, false, false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.control);
    CHECK(control_octet(row.opcode) == row.control);
    const auto* found = find_opcode(static_cast<std::uint8_t>(row.control & kOpcodeMask));
    REQUIRE(found != nullptr);
    CHECK(found->opcode == row.opcode);
    CHECK(found->tagged == row.tagged);
    CHECK(found->qn == row.qn);
    CHECK(found->solicited == row.solicited);
    CHECK(found->invalidates == row.invalidates);
    CHECK(&info(row.opcode) == found);
  }
  for (std::uint8_t nibble = 12; nibble < 16; ++nibble) CHECK(find_opcode(nibble) == nullptr);
}

TEST_CASE("each message is described by its name and fields") {
  CHECK(describe_message(message("F")) == "RDMAP RDMA Write");
  CHECK(describe_message(message("C1")) == "RDMAP Send");
  CHECK(describe_message(message("C3")) == "RDMAP RDMA Read Response");
  CHECK(describe_message(message("E")) == "RDMAP Send with Invalidate STag=0x00a1b2c3");
  CHECK(describe_message(message("G")) ==
        "RDMAP RDMA Read Request 64 octets from STag=0x11223344 TO=0x1000 to STag=0x55667788 "
        "TO=0x2000");
  CHECK(describe_message(extension("I")) ==
        "RDMAP Immediate Data with Solicited Event 0x0102030405060708");
  CHECK(
      describe_message(extension("J")) ==
      "RDMAP Atomic Request FetchAdd id=0xcafe0001 STag=0x11223344 TO=0x1000 add=0x1 add_mask=0x0 "
      "compare=0x0 compare_mask=0xffffffffffffffff");
  CHECK(describe_message(extension("K2")) == "RDMAP Atomic Response id=0xcafe0002 original=0x2a");
  CHECK(describe_message(terminate_frame("N")) ==
        "RDMAP Terminate 2/0/02 CRC32c of the FPDU is wrong");
  auto odd = message("D");
  odd[1] = std::byte{0xC3};
  CHECK(describe_message(odd) == "RDMAP Send RV=3");
  odd[1] = std::byte{0x4E};
  CHECK(describe_message(odd) == "RDMAP unknown opcode 0xe");
}

}  // namespace
}  // namespace iwarp::rdmap
