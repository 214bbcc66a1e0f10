// SPDX-License-Identifier: Apache-2.0
// The table of fields: one row for each field, with the purpose of the field. The sentences are
// written for readers who see the protocols for the first time.
#include <array>
#include <utility>

#include "frames/model/fields.hpp"

namespace iwarp::apps::frames {
namespace {

constexpr std::array kFields{
    FieldInfo{
        Field::kKey, "mpa", "Key", "RFC 5044 7.1.1",
        "Sixteen fixed octets: no other protocol is mistaken for MPA, nor a Request for a Reply."},
    FieldInfo{Field::kMarkersBit, "mpa", "M", "RFC 5044 7.1.1",
              "Says what its sender needs as a receiver: markers in the FPDUs that come to it."},
    FieldInfo{Field::kCrcBit, "mpa", "C", "RFC 5044 7.1.1",
              "CRCs are used in both directions if either end wants them."},
    FieldInfo{Field::kRejectBit, "mpa", "R", "RFC 5044 7.1.1",
              "In a Reply it refuses the connection; in a Request it is zero."},
    FieldInfo{Field::kEnhancedBit, "mpa", "S", "RFC 6581 6",
              "Enhanced connection setup: the private data begins with IRD and ORD."},
    FieldInfo{Field::kStartupReserved, "mpa", "Res", "RFC 5044 7.1.1",
              "Kept for later: zero on sending, not looked at on receiving."},
    FieldInfo{Field::kRevision, "mpa", "Rev", "RFC 5044 7.1.1, RFC 6581 6",
              "1 is RFC 5044; 2 says that enhanced connection setup is understood."},
    FieldInfo{Field::kPdLength, "mpa", "PD_Length", "RFC 5044 7.1.1",
              "How much private data follows, at most 512 octets; with it the end of the frame is "
              "known."},
    FieldInfo{
        Field::kPeerToPeer, "mpa", "A", "RFC 6581 9",
        "Asks for a ready-to-receive message, so that the end that accepts may send first, too."},
    FieldInfo{Field::kRtrSend, "mpa", "B", "RFC 6581 9",
              "The ready-to-receive message may be a Send of no octets."},
    FieldInfo{Field::kIrd, "mpa", "IRD", "RFC 6581 9",
              "How many Reads and atomics at a time its sender is ready to answer."},
    FieldInfo{Field::kRtrWrite, "mpa", "C (RTR)", "RFC 6581 9",
              "The ready-to-receive message may be an RDMA Write of no octets."},
    FieldInfo{Field::kRtrRead, "mpa", "D", "RFC 6581 9",
              "The ready-to-receive message may be an RDMA Read of no octets."},
    FieldInfo{Field::kOrd, "mpa", "ORD", "RFC 6581 9",
              "How many Reads and atomics at a time its sender would like to ask for."},
    FieldInfo{Field::kSmbIrd, "ulp", "IRD (SMB Direct)", "MS-SMBD 6.1",
              "How many RDMA Reads at a time its sender is ready to answer, if this is SMB Direct: "
              "MPA of revision 1 has no field for it."},
    FieldInfo{Field::kSmbOrd, "ulp", "ORD (SMB Direct)", "MS-SMBD 6.1",
              "How many RDMA Reads at a time its sender would like to ask for, if this is SMB "
              "Direct."},
    FieldInfo{Field::kPrivateData, "ulp", "Private data", "RFC 5044 7.1.1",
              "For the programs, before there is a stream: often the STag and address that they "
              "need first."},
    FieldInfo{Field::kExtensionsTag, "ulp", "Extensions tag", "decision 0010",
              "An agreement of this stack with itself: both ends speak RFC 7306, which has no bit "
              "for that."},
    FieldInfo{Field::kMarkerReserved, "marker", "Marker, reserved", "RFC 5044 4.2",
              "The first half of a marker is zero; FPDUPTR is the other."},
    FieldInfo{Field::kFpduptr, "marker", "FPDUPTR", "RFC 5044 4.2, 4.3",
              "Octets back to where this FPDU begins: a receiver that lost its place finds the "
              "next frame by it. One every 512 octets."},
    FieldInfo{Field::kUlpduLength, "mpa", "ULPDU_Length", "RFC 5044 4.1",
              "TCP keeps no boundaries: the length of what DDP gave says where this FPDU ends. It "
              "counts neither markers, PAD nor CRC."},
    FieldInfo{Field::kPad, "mpa", "PAD", "RFC 5044 4.1",
              "Up to three octets of zero, so that every FPDU and every marker begin at a multiple "
              "of four."},
    FieldInfo{Field::kCrc, "mpa", "CRC", "RFC 5044 4.4",
              "CRC32c of the FPDU up to here, markers included: TCP's checksum misses too much for "
              "octets that go into memory unseen."},
    FieldInfo{Field::kNoHeader, "ddp", "Too short", "RFC 5041 4",
              "Fewer octets than any DDP header has."},
    FieldInfo{Field::kTagged, "ddp", "T", "RFC 5041 4.1",
              "1: tagged, the segment itself says where in memory it goes. 0: untagged, for the "
              "next buffer of a queue."},
    FieldInfo{Field::kLast, "ddp", "L", "RFC 5041 4.1",
              "The last segment of its message: with it the message can be delivered."},
    FieldInfo{Field::kDdpReserved, "ddp", "Rsvd", "RFC 5041 4.1",
              "Kept for later: zero on sending, not looked at on receiving."},
    FieldInfo{Field::kDdpVersion, "ddp", "DV", "RFC 5041 4.1",
              "The version of DDP, 1 in all segments of a stream."},
    FieldInfo{Field::kStag, "ddp", "STag", "RFC 5041 4.2",
              "Names a buffer of the receiver, which gave this number away: the right to it and "
              "its place."},
    FieldInfo{Field::kTo, "ddp", "TO", "RFC 5041 4.2",
              "Tagged Offset: where in that buffer the payload goes, so segments are placed in any "
              "order."},
    FieldInfo{
        Field::kQn, "ddp", "QN", "RFC 5041 4.3",
        "Queue number: 0 Sends, 1 Read and Atomic Requests, 2 Terminate, 3 Atomic Responses."},
    FieldInfo{Field::kMsn, "ddp", "MSN", "RFC 5041 4.3",
              "Message sequence number, from 1 in each queue: says which of the queue's buffers "
              "this message takes."},
    FieldInfo{Field::kMo, "ddp", "MO", "RFC 5041 4.3",
              "Message offset: where in that buffer this segment goes."},
    FieldInfo{Field::kRdmapVersion, "rdmap", "RV", "RFC 5040 4.1",
              "The version of RDMAP, 1. RDMAP's octet stands where DDP keeps room for its user."},
    FieldInfo{Field::kRdmapReserved, "rdmap", "Rsv", "RFC 5040 4.1",
              "Kept for later: zero on sending, not looked at on receiving."},
    FieldInfo{Field::kOpcode, "rdmap", "Opcode", "RFC 5040 4.1",
              "Which message this is; it must fit the tagged bit and the queue."},
    FieldInfo{Field::kNoInvalidateStag, "rdmap", "Invalidate STag (unused)", "RFC 5040 4.1",
              "Zero, since this message invalidates nothing."},
    FieldInfo{
        Field::kInvalidateStag, "rdmap", "Invalidate STag", "RFC 5040 4.1",
        "The receiver's STag that this message revokes: from here on the peer may not use it."},
    FieldInfo{Field::kSinkStag, "rdmap", "Data Sink STag", "RFC 5040 4.4",
              "The requester's own buffer: the response comes back as tagged segments to it."},
    FieldInfo{Field::kSinkTo, "rdmap", "Data Sink Tagged Offset", "RFC 5040 4.4",
              "Where in that buffer the response begins."},
    FieldInfo{Field::kReadSize, "rdmap", "RDMA Read Message Size", "RFC 5040 4.4",
              "How many octets are read; the response has just as many."},
    FieldInfo{Field::kSourceStag, "rdmap", "Data Source STag", "RFC 5040 4.4",
              "The buffer of the peer that is read, without its program."},
    FieldInfo{Field::kSourceTo, "rdmap", "Data Source Tagged Offset", "RFC 5040 4.4",
              "Where in that buffer to begin."},
    FieldInfo{Field::kTerminateLayer, "rdmap", "Layer", "RFC 5040 4.8",
              "Which layer found the error: 0 RDMAP, 1 DDP, 2 MPA or below."},
    FieldInfo{Field::kErrorType, "rdmap", "EType", "RFC 5040 4.8",
              "The kind of error within the layer."},
    FieldInfo{Field::kErrorCode, "rdmap", "Error Code", "RFC 5040 4.8", "The error itself."},
    FieldInfo{
        Field::kHeaderControl, "rdmap", "M, D, R", "RFC 5040 4.8",
        "What of the segment in question follows: its length, its DDP header, its RDMA header."},
    FieldInfo{Field::kTerminateReserved, "rdmap", "Reserved", "RFC 5040 4.8",
              "Kept for later: zero on sending, not looked at on receiving."},
    FieldInfo{Field::kSegmentLength, "rdmap", "DDP Segment Length", "RFC 5040 4.8",
              "The length of the segment that the error is about."},
    FieldInfo{Field::kTerminatedDdpHeader, "rdmap", "Terminated DDP Header", "RFC 5040 4.8",
              "The header that the error is about, sent back so that its sender can tell which "
              "message it was."},
    FieldInfo{Field::kTerminatedRdmaHeader, "rdmap", "Terminated RDMA Header", "RFC 5040 4.8",
              "The Read Request that the error is about."},
    FieldInfo{Field::kImmediate, "rdmap", "Immediate Data", "RFC 7306 6.3",
              "Eight octets for the receiver's completion; no buffer is written."},
    FieldInfo{Field::kAtomicReserved, "rdmap", "Reserved", "RFC 7306 5.2.1",
              "Kept for later: zero on sending, not looked at on receiving."},
    FieldInfo{Field::kAtomicOpcode, "rdmap", "AOpCode", "RFC 7306 5.2.1", "0 FetchAdd, 2 CmpSwap."},
    FieldInfo{Field::kRequestId, "rdmap", "Request Identifier", "RFC 7306 5.2.1",
              "Comes back in the response, so that the requester can join the two."},
    FieldInfo{Field::kRemoteStag, "rdmap", "Remote STag", "RFC 7306 5.2.1",
              "The peer's buffer in which the word lies."},
    FieldInfo{Field::kRemoteTo, "rdmap", "Remote Tagged Offset", "RFC 7306 5.2.1",
              "Where the word lies: 64 bits, at a multiple of 8."},
    FieldInfo{Field::kAddOrSwap, "rdmap", "Add or Swap Data", "RFC 7306 5.2.1",
              "What is added, or what the word becomes."},
    FieldInfo{Field::kAddOrSwapMask, "rdmap", "Add or Swap Mask", "RFC 7306 5.2.1",
              "FetchAdd: the top bit of each part that is added by itself. CmpSwap: the bits that "
              "may change."},
    FieldInfo{Field::kCompare, "rdmap", "Compare Data", "RFC 7306 5.2.1",
              "CmpSwap: what the word must be for it to change."},
    FieldInfo{Field::kCompareMask, "rdmap", "Compare Mask", "RFC 7306 5.2.1",
              "CmpSwap: the bits that are compared."},
    FieldInfo{Field::kOriginalRequestId, "rdmap", "Original Request Identifier", "RFC 7306 5.2.2",
              "That of the request which this answers."},
    FieldInfo{Field::kOriginalValue, "rdmap", "Original Remote Data Value", "RFC 7306 5.2.2",
              "What the word held before."},
    FieldInfo{Field::kPayload, "ulp", "Payload", "RFC 5041 4",
              "The program's own octets, which no layer below looks into."},
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
