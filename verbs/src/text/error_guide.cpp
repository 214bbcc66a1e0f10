// SPDX-License-Identifier: Apache-2.0
// The table of the errors of a Terminate, with causes and advice, and the numbers by which
// vendor_err represents these errors.
#include "iwarp/verbs/error_guide.hpp"

#include "iwarp/ddp/types.hpp"
#include "iwarp/mpa/faults.hpp"
#include "iwarp/rdmap/faults.hpp"
#include "iwarp/rdmap/terminate.hpp"

namespace iwarp::verbs {
namespace {

using bytes::Fault;
using bytes::Layer;

constexpr std::uint32_t kTerminated = 0x10000;

constexpr const char* kRegisterAgain =
    "advertise the new key after each registration; deregistering or invalidating a region makes "
    "its key invalid";
constexpr const char* kCompareBounds =
    "compare the address and length of the request with those of the region or window";
constexpr const char* kSameDomain =
    "register the memory in the protection domain of this connection's queue pair";
constexpr const char* kPeerProtocol =
    "one end's iWARP implementation broke a rule of the protocol: capture the connection and run "
    "iwarp explain";
constexpr const char* kDamaged =
    "the stream was damaged in transit, or by the sender's implementation: capture the connection "
    "and run iwarp explain";
constexpr const char* kSeeOtherEnd =
    "look for the cause in the log and the completions of the end that sent the Terminate";

struct Row {
  Fault fault;
  Guidance guidance;
};
constexpr std::array kRows{
    Row{rdmap::kInvalidStag, {"no memory is registered under this key", kRegisterAgain}},
    Row{rdmap::kBounds, {"the access exceeds the registered memory", kCompareBounds}},
    Row{rdmap::kAccessRights,
        {"the region does not allow this access",
         "register the region with IBV_ACCESS_REMOTE_WRITE, _READ or _ATOMIC"}},
    Row{rdmap::kNotAssociated,
        {"the key belongs to another protection domain or queue pair", kSameDomain}},
    Row{rdmap::kWrap, {"the address plus the length of the access exceeds 2^64", kCompareBounds}},
    Row{rdmap::kCannotInvalidate,
        {"a Send with Invalidate may not invalidate this key",
         "use the key of a window or of a fast registration that belongs to this connection"}},
    Row{{Layer::kRdma, 1, 0xFF, ""}, {"an unspecified protection error", kSeeOtherEnd}},
    Row{rdmap::kVersionInvalid, {"the version of RDMAP is not 1", kPeerProtocol}},
    Row{rdmap::kUnexpectedOpcode,
        {"the receiving end does not accept this kind of request",
         "set IBV_ACCESS_REMOTE_WRITE, _READ or _ATOMIC in qp_access_flags at the receiving end, "
         "and set max_dest_rd_atomic above 0 for Reads and atomics"}},
    Row{rdmap::kStreamCatastrophic,
        {"the request cannot be executed, for example because the address of an atomic operation "
         "is not a multiple of 8",
         "check the address and the length of the request that failed"}},
    Row{rdmap::kGlobalCatastrophic, {"the whole adapter of one end has failed", kSeeOtherEnd}},
    Row{{Layer::kRdma, 2, 0x09, ""},
        {"a Send with Invalidate may not invalidate this key",
         "use the key of a window or of a fast registration that belongs to this connection"}},
    Row{rdmap::kOperationUnspecified,
        {"an operation failed, and the Terminate does not name the operation", kSeeOtherEnd}},
    Row{ddp::kDdpCatastrophic,
        {"the receiver could not place a message, for example because the receive for the message "
         "names memory that is not registered",
         kSeeOtherEnd}},
    Row{ddp::kTaggedInvalidStag, {"no memory is registered under this key", kRegisterAgain}},
    Row{ddp::kTaggedBounds, {"the access exceeds the registered memory", kCompareBounds}},
    Row{ddp::kTaggedNotAssociated,
        {"the key does not permit writes over this connection",
         "register the memory with IBV_ACCESS_REMOTE_WRITE, in the protection domain of this "
         "connection's queue pair"}},
    Row{ddp::kTaggedWrap,
        {"the address plus the length of the access exceeds 2^64", kCompareBounds}},
    Row{ddp::kTaggedVersion, {"the version of DDP is not 1", kPeerProtocol}},
    Row{ddp::kUntaggedQn, {"the message names a queue that does not exist", kPeerProtocol}},
    Row{ddp::kUntaggedNoBuffer,
        {"no receive was posted for the message",
         "at the receiving end, post enough receives before the other end sends, and repost each "
         "receive that completes"}},
    Row{ddp::kUntaggedMsnRange, {"the MSN is outside the range of posted receives", kPeerProtocol}},
    Row{ddp::kUntaggedMo,
        {"a segment does not begin where the previous segment ended", kPeerProtocol}},
    Row{ddp::kUntaggedTooLong,
        {"the message is longer than the receive that was posted for it",
         "at the receiving end, post receives that are at least as long as the longest message "
         "that the other end sends"}},
    Row{ddp::kUntaggedVersion, {"the version of DDP is not 1", kPeerProtocol}},
    Row{mpa::kTcpLost,
        {"one end closed TCP while requests were outstanding",
         "disconnect only after the requests of both ends have completed"}},
    Row{mpa::kCrcMismatch, {"an FPDU arrived with a wrong CRC32c", kDamaged}},
    Row{mpa::kMarkerMismatch,
        {"a marker and ULPDU_Length disagree on the start of an FPDU", kDamaged}},
    Row{mpa::kBadStartupFrame,
        {"the received data is not an MPA Request or Reply",
         "check that the port belongs to an iWARP server, and use TLS at both ends or at neither"}},
    Row{mpa::kLocalCatastrophic,
        {"one end could not set up the connection because of a local error", kSeeOtherEnd}},
    Row{mpa::kInsufficientIrd,
        {"one end requests more concurrent RDMA Reads than the other end can answer",
         "lower initiator_depth at the end that requests, or raise responder_resources at the end "
         "that answers"}},
    Row{mpa::kNoMatchingRtr,
        {"the two ends have no ready-to-receive message (RTR) in common",
         "allow the same RTR (Send, Write or Read) at both ends"}},
};

}  // namespace

Guidance guidance(const Fault& fault) {
  for (const Row& row : kRows) {
    if (row.fault == fault) return row.guidance;
  }
  if (fault.layer == Layer::kRdma && fault.type == 0) {
    return {"the end that sent the Terminate had a local error", kSeeOtherEnd};
  }
  if (fault.layer == Layer::kDdp && fault.type == 3) {
    return {"the layer below DDP reported an error", kDamaged};
  }
  return {"an error code that no RFC assigns", kPeerProtocol};
}

std::uint32_t vendor_error(const Fault& fault) {
  return kTerminated | static_cast<std::uint32_t>(fault.layer) << 12 |
         std::uint32_t{fault.type} << 8 | fault.code;
}

std::optional<Fault> fault_of_vendor_error(std::uint32_t number) {
  if (number >> 16 != kTerminated >> 16) return std::nullopt;
  const auto layer = static_cast<Layer>(number >> 12 & 0xF);
  const auto type = static_cast<std::uint8_t>(number >> 8 & 0xF);
  const auto code = static_cast<std::uint8_t>(number);
  return Fault{layer, type, code, rdmap::explain(layer, type, code)};
}

}  // namespace iwarp::verbs
