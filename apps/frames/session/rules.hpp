// SPDX-License-Identifier: Apache-2.0
// The rules whose violation an observer can see. Each row of the table has the id of the rule in
// rfc-notes/requirements and the text to show. Rules that only an end itself can check (about
// memory, rights and queues) are not in the table.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace iwarp::apps::frames {

enum class Rule : std::uint8_t {
  kCrc,
  kMarkerPlace,
  kMarkers,
  kPad,
  kUlpduLength,
  kStartupKinds,
  kRevision,
  kRejectInRequest,
  kEnhancedRevision,
  kEnhancedWord,
  kEnhancedReply,
  kPlainReply,
  kEchoPeerToPeer,
  kEchoClientServer,
  kResponderOrd,
  kResponderFirst,
  kRtr,
  kHeader,
  kDdpReserved,
  kDdpVersion,
  kUlpOctet,
  kTaggedStag,
  kTaggedTo,
  kToWraps,
  kQueue,
  kMsnStep,
  kFirstMsn,
  kMsnInMessage,
  kFirstMo,
  kMo,
  kUlpOctets,
  kRdmapVersion,
  kRdmapReserved,
  kOpcode,
  kModel,
  kQueueOfOpcode,
  kInvStag,
  kInvStagExtension,
  kReadRequestHeader,
  kReadByteOrder,
  kReadResponse,
  kReadSink,
  kReadSize,
  kOrd,
  kTerminateHeader,
  kTerminateCode,
  kAfterTerminate,
  kStagValid,
  kAtomicOpcode,
  kAtomicAligned,
  kAtomicHeader,
  kAtomicId,
  kAtomicResponse,
  kImmediateSize,
};

struct RuleInfo {
  Rule rule;
  std::string_view id;    ///< the row in rfc-notes/requirements
  std::string_view says;  ///< the text for the user: what is wrong
};

inline constexpr std::array kRules{
    RuleInfo{Rule::kCrc, "MPA-46", "the CRC is wrong"},
    RuleInfo{Rule::kMarkerPlace, "MPA-25",
             "a marker is not at a multiple of 512 octets from the start of the first FPDU"},
    RuleInfo{Rule::kMarkers, "MPA-27", "a marker does not point at this FPDU's ULPDU_Length"},
    RuleInfo{Rule::kPad, "MPA-15", "PAD is not zero"},
    RuleInfo{Rule::kUlpduLength, "MPA-7", "the ULPDU is longer than 64768 octets"},
    RuleInfo{Rule::kStartupKinds, "MPA-98", "both ends sent the same kind of startup frame"},
    RuleInfo{Rule::kRevision, "MPA-75", "unknown MPA revision"},
    RuleInfo{Rule::kRejectInRequest, "MPA-73", "R is set in a Request"},
    RuleInfo{Rule::kEnhancedRevision, "EMPA-4", "S is set, but the revision is below 2"},
    RuleInfo{Rule::kEnhancedWord, "EMPA-7",
             "S is set, but the private data is too short for IRD and ORD"},
    RuleInfo{Rule::kEnhancedReply, "EMPA-45", "a Reply with S=0 answers a Request with S=1"},
    RuleInfo{Rule::kPlainReply, "EMPA-46", "a Reply with S=1 answers a Request with S=0"},
    RuleInfo{Rule::kEchoPeerToPeer, "EMPA-33", "the Reply does not repeat A=1 of the Request"},
    RuleInfo{Rule::kEchoClientServer, "EMPA-41", "the Reply does not repeat A=0 of the Request"},
    RuleInfo{Rule::kResponderOrd, "EMPA-18", "the responder's ORD exceeds the initiator's IRD"},
    RuleInfo{Rule::kResponderFirst, "MPA-93",
             "the responder sends an FPDU before it has received any"},
    RuleInfo{Rule::kRtr, "EMPA-38", "the first FPDU is not the negotiated RTR"},
    RuleInfo{Rule::kHeader, "DDP-36", "the ULPDU is too short for a DDP header"},
    RuleInfo{Rule::kDdpReserved, "DDP-18", "reserved bits of DDP are set"},
    RuleInfo{Rule::kDdpVersion, "DDP-20", "the DDP version is not 1"},
    RuleInfo{Rule::kUlpOctet, "DDP-23", "RsvdULP changes within a tagged message"},
    RuleInfo{Rule::kTaggedStag, "DDP-25", "the STag changes within a message"},
    RuleInfo{Rule::kTaggedTo, "DDP-43",
             "the TO does not follow the payload of the previous segment"},
    RuleInfo{Rule::kToWraps, "DDP-77", "TO plus length exceeds 2^64"},
    RuleInfo{Rule::kQueue, "DDP-67", "invalid queue number"},
    RuleInfo{Rule::kMsnStep, "DDP-31", "the MSN does not follow the previous MSN"},
    RuleInfo{Rule::kFirstMsn, "DDP-32", "the first MSN of a queue is not 1"},
    RuleInfo{Rule::kMsnInMessage, "DDP-34", "the MSN changes within a message"},
    RuleInfo{Rule::kFirstMo, "DDP-35", "a message does not begin at MO 0"},
    RuleInfo{Rule::kMo, "DDP-41", "the MO does not follow the payload of the previous segment"},
    RuleInfo{Rule::kUlpOctets, "DDP-28", "RsvdULP changes within an untagged message"},
    RuleInfo{Rule::kRdmapVersion, "RDMAP-8", "the RDMAP version is not 1"},
    RuleInfo{Rule::kRdmapReserved, "RDMAP-9", "reserved bits of RDMAP are set"},
    RuleInfo{Rule::kOpcode, "RDMAP-6", "unknown opcode"},
    RuleInfo{Rule::kModel, "RDMAP-5", "the tagged bit does not match the opcode"},
    RuleInfo{Rule::kQueueOfOpcode, "RDMAP-7", "wrong queue for this opcode"},
    RuleInfo{Rule::kInvStag, "RDMAP-10",
             "the Invalidate STag is not 0 in a message that invalidates no STag"},
    RuleInfo{Rule::kInvStagExtension, "EXT-3",
             "the Invalidate STag is not 0 in a message that invalidates no STag"},
    RuleInfo{Rule::kReadRequestHeader, "RDMAP-12", "a Read Request is not 28 octets long"},
    RuleInfo{Rule::kReadByteOrder, "RDMAP-12",
             "the fields of a Read Request are in little-endian order"},
    RuleInfo{Rule::kReadResponse, "RDMAP-29",
             "a Read Response without an outstanding Read Request"},
    RuleInfo{Rule::kReadSink, "RDMAP-13",
             "the STag or TO differs from the Data Sink of the Read Request"},
    RuleInfo{Rule::kReadSize, "RDMAP-37",
             "the Read Response is longer or shorter than the Read Request asks for"},
    RuleInfo{Rule::kOrd, "RDMAP-83",
             "more outstanding Reads and atomics than the peer's IRD allows"},
    RuleInfo{Rule::kTerminateHeader, "RDMAP-15", "the layout of Terminate Control is wrong"},
    RuleInfo{Rule::kTerminateCode, "RDMAP-16", "unknown error code"},
    RuleInfo{Rule::kAfterTerminate, "RDMAP-63", "a frame was sent after a Terminate"},
    RuleInfo{Rule::kStagValid, "DDP-73", "the STag was invalidated and not advertised again"},
    RuleInfo{Rule::kAtomicOpcode, "EXT-27", "unknown atomic operation"},
    RuleInfo{Rule::kAtomicAligned, "EXT-21",
             "the word of an atomic operation is not aligned to 8 octets"},
    RuleInfo{Rule::kAtomicHeader, "EXT-22", "an Atomic Request or Response has the wrong length"},
    RuleInfo{Rule::kAtomicId, "EXT-37",
             "the Request Identifier differs from that of the Atomic Request"},
    RuleInfo{Rule::kAtomicResponse, "EXT-38",
             "an Atomic Response without an outstanding Atomic Request"},
    RuleInfo{Rule::kImmediateSize, "EXT-52", "Immediate Data is not 8 octets long"},
};

constexpr bool rules_in_order() {
  for (std::size_t i = 0; i < kRules.size(); ++i) {
    if (static_cast<std::size_t>(kRules[i].rule) != i) return false;
  }
  return true;
}
static_assert(rules_in_order());

constexpr const RuleInfo& info(Rule rule) { return kRules[static_cast<std::size_t>(rule)]; }

struct Violation {
  Rule rule;
  std::string detail;  ///< the values that violate the rule; may be empty
};

}  // namespace iwarp::apps::frames
