// SPDX-License-Identifier: Apache-2.0
// Tests which asynchronous event reports which error, row by row of the table in decision 0037, and
// how the 8 octets of an Immediate describe the message that they belong to.
#include "qp/qp_event.hpp"

#include <doctest/doctest.h>

#include <array>

#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/mpa/faults.hpp"
#include "iwarp/rdmap/faults.hpp"
#include "iwarp/rdmap/message_header.hpp"
#include "objects/immediate.hpp"

namespace iwarp::rdma_core {
namespace {

using rdmap::Opcode;
using namespace verbs;
using Told = std::optional<ibv_event_type>;

constexpr Told kNone{};
constexpr Told kAccess{IBV_EVENT_QP_ACCESS_ERR};
constexpr Told kRequest{IBV_EVENT_QP_REQ_ERR};
constexpr Told kFatal{IBV_EVENT_QP_FATAL};

/// Returns the Terminate with which an end refuses a message.
rdmap::Terminate refusal(Opcode opcode, const bytes::Fault& fault) {
  const auto& info = rdmap::info(opcode);
  const ddp::SegmentHeader header{
      .tagged = info.tagged, .last = true, .rsvd_ulp = rdmap::control_octet(opcode), .qn = info.qn};
  rdmap::TerminatedSegment segment{.segment_length = 40, .ddp_header_size = header.size()};
  ddp::encode(header, segment.ddp_header.data());
  return rdmap::make_terminate(fault, segment);
}

struct Refused {
  const char* what;
  Opcode opcode;
  bytes::Fault fault;
  Told rnic;
  Told roce;
};
const std::array kRefused{
    Refused{"no receive", Opcode::kSend, ddp::kUntaggedNoBuffer, kRequest, kNone},
    Refused{"no receive", Opcode::kImmediate, ddp::kUntaggedNoBuffer, kRequest, kNone},
    Refused{"a short receive", Opcode::kSendInvalidate, ddp::kUntaggedTooLong, kRequest, kNone},
    Refused{"the receive's lkey", Opcode::kSend, ddp::kDdpCatastrophic, kAccess, kNone},
    Refused{"rights", Opcode::kWrite, ddp::kTaggedInvalidStag, kAccess, kAccess},
    Refused{"rights", Opcode::kReadRequest, rdmap::kAccessRights, kAccess, kAccess},
    Refused{"misaligned", Opcode::kAtomicRequest, rdmap::kStreamCatastrophic, kRequest, kAccess},
    Refused{"IRD", Opcode::kReadRequest, ddp::kUntaggedNoBuffer, kRequest, kAccess},
    Refused{"IRD", Opcode::kAtomicRequest, ddp::kUntaggedNoBuffer, kRequest, kAccess},
    Refused{"opcode", Opcode::kReadRequest, rdmap::kUnexpectedOpcode, kRequest, kRequest},
    Refused{"MSN", Opcode::kSend, ddp::kUntaggedMsnRange, kRequest, kRequest},
    Refused{"CRC", Opcode::kSend, mpa::kCrcMismatch, kFatal, kFatal},
};

TEST_CASE("an event reports an error of the peer only if no completion reports it") {
  for (const Refused& row : kRefused) {
    CAPTURE(row.what);
    const auto terminate = refusal(row.opcode, row.fault);
    const AsyncEvent sent{.type = AsyncEventType::kTerminateSent, .terminate = terminate};
    CHECK((event_of(sent, Persona::kIwarp) == row.rnic));
    CHECK((event_of(sent, Persona::kRoce) == row.roce));
    // The requester as RoCE has the completion of its request.
    const AsyncEvent received{.type = AsyncEventType::kTerminateReceived, .terminate = terminate};
    CHECK((event_of(received, Persona::kIwarp) == row.rnic));
    CHECK((event_of(received, Persona::kRoce) == kNone));
  }
}

// [IBV-599, IBV-613]
TEST_CASE("the event of an error that belongs to no message is QP_FATAL, and TCP's end has none") {
  for (const auto persona : {Persona::kIwarp, Persona::kRoce}) {
    AsyncEvent event{.type = AsyncEventType::kTerminateSent,
                     .terminate = rdmap::Terminate{.fault = ddp::kHeaderTooShort}};
    CHECK((event_of(event, persona) == kFatal));
    event.terminate->fault = mpa::kTcpLost;
    CHECK((event_of(event, persona) == kNone));
    event = {.type = AsyncEventType::kLlpConnectionLost};
    CHECK((event_of(event, persona) == kNone));
  }
}

TEST_CASE("an Immediate carries the length of its Write, up to the longest message") {
  for (const std::uint32_t length : {0U, 1U, (1U << 31) - 1, 1U << 31}) {
    const auto got = decode_immediate(encode({.imm_data = 0x01020304, .length = length}));
    CHECK(got.imm_data == 0x01020304);
    CHECK_FALSE(got.with_send);
    CHECK(got.length == length);
  }
}

TEST_CASE("an Immediate that represents a Send without payload does not describe a Write") {
  const auto octets = encode({.imm_data = 5, .with_send = true});
  CHECK(decode_immediate(octets).with_send);
  CHECK(decode_immediate(octets).length == 0);
}

TEST_CASE("an Immediate cannot report a longer Write than was placed") {
  const auto octets = encode({.length = 1U << 31});
  CHECK(length_of_write(octets, 0) == 0);
  CHECK(length_of_write(octets, 77) == 77);
  CHECK(length_of_write(octets, UINT32_MAX) == 1U << 31);
}

}  // namespace
}  // namespace iwarp::rdma_core
