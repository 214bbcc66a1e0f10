// SPDX-License-Identifier: Apache-2.0
// Errors that calls return. A call fails for one of two reasons: the caller misused the interface,
// in which case the call changes nothing, or a connection set-up failed. Faults of a peer are
// bytes::Fault values instead.
#pragma once

#include <system_error>

namespace iwarp::verbs {

/// Why a call or a connection set-up failed. Each function lists the values that it returns. A call
/// that runs out of memory fails with std::errc::not_enough_memory instead.
enum class Errc {
  kInvalidArgument = 1,  ///< a parameter is out of range, or contradicts another parameter
  kQueueFull,            ///< the queue already holds its maximum number of requests
  kTooManySge,           ///< the request has more scatter/gather elements than the queue allows
  kInlineTooLong,        ///< the inline payload is longer than QpLimits::max_inline
  kMessageTooLong,       ///< the message has 2^32 bytes or more
  kInvalidLkey,          ///< reserved; no call returns this value
  kWrongState,           ///< the queue pair is in a state that does not allow the call
  kWrongPd,              ///< the objects belong to different protection domains
  kBusy,                 ///< another object or thread still uses the object
  kLimitReached,        ///< the Rnic already has as many objects of this kind as RnicOptions allows
  kPrivateDataTooLong,  ///< the private data has more than 512 bytes, or 508 with MPA revision 2
  kReadNeedsOneSge,     ///< a Read with Invalidate takes exactly one sink buffer
  kNotBindable,         ///< the window cannot be bound to this part of this region
  kOrdTooLarge,         ///< the IRD or ORD is above the limit, or above the negotiated value
  kConnectionRefused,   ///< no listener at the peer's port
  kConnectionReset,     ///< the peer closed or reset TCP during set-up
  kTimedOut,            ///< the peer did not answer in time
  kRejected,            ///< the peer's program rejected the request; see its private data
  kMpaProtocol,         ///< the peer's frames violate RFC 5044 or RFC 6581
  kAddressInUse,        ///< another socket is bound to the port
  kAddressInvalid,      ///< the string is neither an address nor a name that can be resolved
  kSystem,              ///< a system call failed; the event's text gives the reason
  kAtomicNeedsOneWord,  ///< an atomic operation takes exactly one local buffer of 8 bytes
  kNotAgreed,           ///< the peer did not agree to RFC 7306, or to Send with Immediate
  kCarrierFailed,       ///< the carrier (TLS) failed, or only the peer uses a carrier
};

/// Returns the error category of Errc, "iwarp". Its message() is one lower-case clause.
const std::error_category& verbs_category();
/// Makes a std::error_code of an Errc. The constructor of std::error_code calls this function.
inline std::error_code make_error_code(Errc e) { return {static_cast<int>(e), verbs_category()}; }

}  // namespace iwarp::verbs

template <>
struct std::is_error_code_enum<iwarp::verbs::Errc> : std::true_type {};
