// SPDX-License-Identifier: Apache-2.0
// The table of fields: one row for each field, with the purpose of the field. The sentences are
// written for readers who see the protocols for the first time.
#include <array>
#include <utility>

#include "frames/model/fields.hpp"

namespace iwarp::apps::frames {
namespace {

constexpr std::array kFields{
    FieldInfo{Field::kKey, "mpa", "Key", "RFC 5044 7.1.1",
              "Sixteen fixed octets that distinguish MPA from other protocols, and a Request from "
              "a Reply."},
    FieldInfo{Field::kMarkersBit, "mpa", "M", "RFC 5044 7.1.1",
              "1: the sender of this frame requests markers in the FPDUs that it receives."},
    FieldInfo{Field::kCrcBit, "mpa", "C", "RFC 5044 7.1.1",
              "1: the sender of this frame requests CRCs. CRCs are used in both directions if "
              "either end requests them."},
    FieldInfo{Field::kRejectBit, "mpa", "R", "RFC 5044 7.1.1",
              "In a Reply, 1 rejects the connection. In a Request, this bit is zero."},
    FieldInfo{Field::kEnhancedBit, "mpa", "S", "RFC 6581 6",
              "1: enhanced connection setup; the private data begins with IRD and ORD."},
    FieldInfo{Field::kStartupReserved, "mpa", "Res", "RFC 5044 7.1.1",
              "Reserved: the sender sets it to zero, the receiver ignores it."},
    FieldInfo{Field::kRevision, "mpa", "Rev", "RFC 5044 7.1.1, RFC 6581 6",
              "1: RFC 5044. 2: the sender of this frame also supports enhanced connection setup."},
    FieldInfo{Field::kPdLength, "mpa", "PD_Length", "RFC 5044 7.1.1",
              "The length of the private data at the end of the frame; at most 512 octets."},
    FieldInfo{
        Field::kPeerToPeer, "mpa", "A", "RFC 6581 9",
        "1: the initiator first sends a ready-to-receive message (RTR). Then either end may send."},
    FieldInfo{Field::kRtrSend, "mpa", "B", "RFC 6581 9", "1: the RTR may be a zero-length Send."},
    FieldInfo{Field::kIrd, "mpa", "IRD", "RFC 6581 9",
              "The number of Reads and atomics that the sender of this frame can answer at the "
              "same time."},
    FieldInfo{Field::kRtrWrite, "mpa", "C (RTR)", "RFC 6581 9",
              "1: the RTR may be a zero-length RDMA Write."},
    FieldInfo{Field::kRtrRead, "mpa", "D", "RFC 6581 9",
              "1: the RTR may be a zero-length RDMA Read."},
    FieldInfo{
        Field::kOrd, "mpa", "ORD", "RFC 6581 9",
        "The number of Reads and atomics that the sender of this frame wants to have outstanding."},
    FieldInfo{Field::kSmbIrd, "ulp", "IRD (SMB Direct)", "MS-SMBD 6.1",
              "For SMB Direct: the number of RDMA Reads that the sender of this frame can answer "
              "at the same time. MPA revision 1 has no field for this number."},
    FieldInfo{Field::kSmbOrd, "ulp", "ORD (SMB Direct)", "MS-SMBD 6.1",
              "For SMB Direct: the number of RDMA Reads that the sender of this frame wants to "
              "have outstanding."},
    FieldInfo{
        Field::kPrivateData, "ulp", "Private data", "RFC 5044 7.1.1",
        "Data that the applications exchange during MPA startup. It often contains the first STag "
        "and the address of its buffer."},
    FieldInfo{
        Field::kExtensionsTag, "ulp", "Extensions tag", "decision 0010",
        "Specific to this stack: shows that the sender supports RFC 7306, for which the startup "
        "frames have no bit."},
    FieldInfo{Field::kMarkerReserved, "marker", "Marker, reserved", "RFC 5044 4.2",
              "The first half of a marker, always zero. The second half is FPDUPTR."},
    FieldInfo{Field::kFpduptr, "marker", "FPDUPTR", "RFC 5044 4.2, 4.3",
              "The distance in octets back to the beginning of this FPDU. There is a marker every "
              "512 octets, so a receiver that has lost the FPDU boundaries can find them again."},
    FieldInfo{Field::kUlpduLength, "mpa", "ULPDU_Length", "RFC 5044 4.1",
              "The length of the DDP segment. TCP preserves no message boundaries, so this length "
              "says where the FPDU ends. It excludes markers, PAD and CRC."},
    FieldInfo{Field::kPad, "mpa", "PAD", "RFC 5044 4.1",
              "Up to three zero octets, so that every FPDU and every marker begins at a multiple "
              "of four octets."},
    FieldInfo{Field::kCrc, "mpa", "CRC", "RFC 5044 4.4",
              "CRC32c of all octets of the FPDU before this field, including markers. TCP's "
              "checksum misses too many errors to protect octets that are placed directly in "
              "memory."},
    FieldInfo{Field::kNoHeader, "ddp", "Too short", "RFC 5041 4",
              "The segment is shorter than any DDP header."},
    FieldInfo{Field::kTagged, "ddp", "T", "RFC 5041 4.1",
              "1: tagged; the segment says where in memory its payload goes. 0: untagged; the "
              "payload goes to the next buffer of a queue."},
    FieldInfo{Field::kLast, "ddp", "L", "RFC 5041 4.1",
              "1: the last segment of its message, so the message can be delivered."},
    FieldInfo{Field::kDdpReserved, "ddp", "Rsvd", "RFC 5041 4.1",
              "Reserved: the sender sets it to zero, the receiver ignores it."},
    FieldInfo{Field::kDdpVersion, "ddp", "DV", "RFC 5041 4.1",
              "The DDP version, which is always 1."},
    FieldInfo{Field::kStag, "ddp", "STag", "RFC 5041 4.2",
              "Names a buffer of the receiver. The receiver has advertised this STag to its peer, "
              "which uses it to access the buffer."},
    FieldInfo{Field::kTo, "ddp", "TO", "RFC 5041 4.2",
              "Tagged Offset: where in the buffer of the STag the payload goes. This lets the "
              "receiver place segments in any order."},
    FieldInfo{
        Field::kQn, "ddp", "QN", "RFC 5041 4.3",
        "Queue number. 0: Sends, 1: Read and Atomic Requests, 2: Terminate, 3: Atomic Responses."},
    FieldInfo{Field::kMsn, "ddp", "MSN", "RFC 5041 4.3",
              "Message sequence number, which starts at 1 in each queue. It selects which buffer "
              "of the queue receives this message."},
    FieldInfo{Field::kMo, "ddp", "MO", "RFC 5041 4.3",
              "Message offset: where the payload of this segment goes in the buffer that the MSN "
              "selects."},
    FieldInfo{Field::kRdmapVersion, "rdmap", "RV", "RFC 5040 4.1",
              "The RDMAP version, which is always 1. It is in the octet that the DDP header "
              "reserves for the protocol above DDP."},
    FieldInfo{Field::kRdmapReserved, "rdmap", "Rsv", "RFC 5040 4.1",
              "Reserved: the sender sets it to zero, the receiver ignores it."},
    FieldInfo{Field::kOpcode, "rdmap", "Opcode", "RFC 5040 4.1",
              "The kind of message, which must agree with the tagged bit and the queue."},
    FieldInfo{Field::kNoInvalidateStag, "rdmap", "Invalidate STag (unused)", "RFC 5040 4.1",
              "Zero, because this message invalidates no STag."},
    FieldInfo{
        Field::kInvalidateStag, "rdmap", "Invalidate STag", "RFC 5040 4.1",
        "The receiver's STag that this message invalidates; the sender can no longer use it."},
    FieldInfo{Field::kSinkStag, "rdmap", "Data Sink STag", "RFC 5040 4.4",
              "The requester's own buffer, where the tagged segments of the response are placed."},
    FieldInfo{Field::kSinkTo, "rdmap", "Data Sink Tagged Offset", "RFC 5040 4.4",
              "The Tagged Offset in the requester's buffer at which the response begins."},
    FieldInfo{Field::kReadSize, "rdmap", "RDMA Read Message Size", "RFC 5040 4.4",
              "The number of octets to read, which is also the length of the response."},
    FieldInfo{Field::kSourceStag, "rdmap", "Data Source STag", "RFC 5040 4.4",
              "The peer's buffer from which to read. The peer's program is not involved."},
    FieldInfo{Field::kSourceTo, "rdmap", "Data Source Tagged Offset", "RFC 5040 4.4",
              "The Tagged Offset in the peer's buffer at which the Read begins."},
    FieldInfo{Field::kTerminateLayer, "rdmap", "Layer", "RFC 5040 4.8",
              "The layer that found the error. 0: RDMAP, 1: DDP, 2: MPA or below."},
    FieldInfo{Field::kErrorType, "rdmap", "EType", "RFC 5040 4.8",
              "The kind of error within that layer."},
    FieldInfo{Field::kErrorCode, "rdmap", "Error Code", "RFC 5040 4.8", "The error."},
    FieldInfo{
        Field::kHeaderControl, "rdmap", "M, D, R", "RFC 5040 4.8",
        "Which parts of the rejected segment follow: its length, its DDP header, its RDMA header."},
    FieldInfo{Field::kTerminateReserved, "rdmap", "Reserved", "RFC 5040 4.8",
              "Reserved: the sender sets it to zero, the receiver ignores it."},
    FieldInfo{Field::kSegmentLength, "rdmap", "DDP Segment Length", "RFC 5040 4.8",
              "The length of the rejected segment."},
    FieldInfo{Field::kTerminatedDdpHeader, "rdmap", "Terminated DDP Header", "RFC 5040 4.8",
              "The DDP header of the rejected segment, sent back so that its sender can find the "
              "message."},
    FieldInfo{Field::kTerminatedRdmaHeader, "rdmap", "Terminated RDMA Header", "RFC 5040 4.8",
              "The RDMA header of the rejected Read Request."},
    FieldInfo{
        Field::kImmediate, "rdmap", "Immediate Data", "RFC 7306 6.3",
        "Eight octets that the receiver finds in its completion. They are written to no buffer."},
    FieldInfo{Field::kAtomicReserved, "rdmap", "Reserved", "RFC 7306 5.2.1",
              "Reserved: the sender sets it to zero, the receiver ignores it."},
    FieldInfo{Field::kAtomicOpcode, "rdmap", "AOpCode", "RFC 7306 5.2.1",
              "0: FetchAdd, 2: CmpSwap."},
    FieldInfo{Field::kRequestId, "rdmap", "Request Identifier", "RFC 7306 5.2.1",
              "The response repeats this number, so that the requester can find the request."},
    FieldInfo{Field::kRemoteStag, "rdmap", "Remote STag", "RFC 7306 5.2.1",
              "The peer's buffer that contains the 64-bit word."},
    FieldInfo{Field::kRemoteTo, "rdmap", "Remote Tagged Offset", "RFC 7306 5.2.1",
              "The Tagged Offset of the word in the peer's buffer; a multiple of 8."},
    FieldInfo{Field::kAddOrSwap, "rdmap", "Add or Swap Data", "RFC 7306 5.2.1",
              "FetchAdd: the number to add. CmpSwap: the new value of the word."},
    FieldInfo{Field::kAddOrSwapMask, "rdmap", "Add or Swap Mask", "RFC 7306 5.2.1",
              "FetchAdd: a 1 marks the highest bit of a field; each field of the word is added "
              "separately. CmpSwap: a 1 marks a bit that may change."},
    FieldInfo{Field::kCompare, "rdmap", "Compare Data", "RFC 7306 5.2.1",
              "CmpSwap: the word changes only if it equals this value in the bits that the "
              "Compare Mask selects."},
    FieldInfo{Field::kCompareMask, "rdmap", "Compare Mask", "RFC 7306 5.2.1",
              "CmpSwap: a 1 marks a bit that is compared."},
    FieldInfo{Field::kOriginalRequestId, "rdmap", "Original Request Identifier", "RFC 7306 5.2.2",
              "The Request Identifier of the request that this response answers."},
    FieldInfo{Field::kOriginalValue, "rdmap", "Original Remote Data Value", "RFC 7306 5.2.2",
              "The value of the word before the operation."},
    FieldInfo{Field::kPayload, "ulp", "Payload", "RFC 5041 4",
              "The application's data, which the layers below do not interpret."},
};

constexpr bool fields_in_order() {
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if (static_cast<std::size_t>(kFields[i].field) != i) return false;
  }
  return kFields.back().field == Field::kPayload;
}
static_assert(fields_in_order());

/// Maps each rule to the field that shows its violation. A rule about the order of frames, and not
/// about their content, has no row here.
constexpr std::array kFieldOfRule{
    std::pair{Rule::kCrc, Field::kCrc},
    std::pair{Rule::kMarkerPlace, Field::kFpduptr},
    std::pair{Rule::kMarkers, Field::kFpduptr},
    std::pair{Rule::kPad, Field::kPad},
    std::pair{Rule::kUlpduLength, Field::kUlpduLength},
    std::pair{Rule::kStartupKinds, Field::kKey},
    std::pair{Rule::kRevision, Field::kRevision},
    std::pair{Rule::kRejectInRequest, Field::kRejectBit},
    std::pair{Rule::kEnhancedRevision, Field::kRevision},
    std::pair{Rule::kEnhancedWord, Field::kPdLength},
    std::pair{Rule::kEnhancedReply, Field::kEnhancedBit},
    std::pair{Rule::kPlainReply, Field::kEnhancedBit},
    std::pair{Rule::kEchoPeerToPeer, Field::kPeerToPeer},
    std::pair{Rule::kEchoClientServer, Field::kPeerToPeer},
    std::pair{Rule::kResponderOrd, Field::kOrd},
    std::pair{Rule::kHeader, Field::kNoHeader},
    std::pair{Rule::kDdpReserved, Field::kDdpReserved},
    std::pair{Rule::kDdpVersion, Field::kDdpVersion},
    std::pair{Rule::kUlpOctet, Field::kOpcode},
    std::pair{Rule::kTaggedStag, Field::kStag},
    std::pair{Rule::kTaggedTo, Field::kTo},
    std::pair{Rule::kToWraps, Field::kTo},
    std::pair{Rule::kQueue, Field::kQn},
    std::pair{Rule::kMsnStep, Field::kMsn},
    std::pair{Rule::kFirstMsn, Field::kMsn},
    std::pair{Rule::kMsnInMessage, Field::kMsn},
    std::pair{Rule::kFirstMo, Field::kMo},
    std::pair{Rule::kMo, Field::kMo},
    std::pair{Rule::kUlpOctets, Field::kOpcode},
    std::pair{Rule::kRdmapVersion, Field::kRdmapVersion},
    std::pair{Rule::kRdmapReserved, Field::kRdmapReserved},
    std::pair{Rule::kOpcode, Field::kOpcode},
    std::pair{Rule::kModel, Field::kTagged},
    std::pair{Rule::kQueueOfOpcode, Field::kQn},
    std::pair{Rule::kInvStag, Field::kNoInvalidateStag},
    std::pair{Rule::kInvStagExtension, Field::kNoInvalidateStag},
    std::pair{Rule::kReadRequestHeader, Field::kUlpduLength},
    std::pair{Rule::kReadByteOrder, Field::kReadSize},
    std::pair{Rule::kReadResponse, Field::kOpcode},
    std::pair{Rule::kReadSink, Field::kStag},
    std::pair{Rule::kReadSize, Field::kPayload},
    std::pair{Rule::kTerminateHeader, Field::kTerminateLayer},
    std::pair{Rule::kTerminateCode, Field::kErrorCode},
    std::pair{Rule::kStagValid, Field::kStag},
    std::pair{Rule::kAtomicOpcode, Field::kAtomicOpcode},
    std::pair{Rule::kAtomicAligned, Field::kRemoteTo},
    std::pair{Rule::kAtomicHeader, Field::kUlpduLength},
    std::pair{Rule::kAtomicId, Field::kOriginalRequestId},
    std::pair{Rule::kImmediateSize, Field::kUlpduLength},
};

}  // namespace

std::span<const FieldInfo> all_fields() { return kFields; }
const FieldInfo& info(Field field) { return kFields[static_cast<std::size_t>(field)]; }

std::optional<Field> field_of(Rule rule) {
  for (const auto& [broken, field] : kFieldOfRule) {
    if (broken == rule) return field;
  }
  return std::nullopt;
}

}  // namespace iwarp::apps::frames
