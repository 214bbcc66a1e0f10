// SPDX-License-Identifier: Apache-2.0
// Misuse of the interface: refused at once, nothing changed, and the code says which rule.
#pragma once

#include <system_error>

namespace iwarp::verbs {

enum class Errc {
  kInvalidArgument = 1,
  kQueueFull,  ///< as many requests are outstanding as the queue takes
  kTooManySge,
  kInlineTooLong,
  kMessageTooLong,      ///< 2^32 octets or more
  kInvalidLkey,         ///< an Sge of a Fast-Register or Bind does not fit
  kWrongState,          ///< the queue pair is in a state that does not allow this
  kWrongPd,             ///< the objects belong to different protection domains
  kBusy,                ///< other objects still refer to it
  kLimitReached,        ///< the Rnic's limit for this kind of object
  kPrivateDataTooLong,  ///< 512 octets, 508 with MPA revision 2
  kReadNeedsOneSge,     ///< a Read with Invalidate has one sink buffer
  kNotBindable,         ///< window and region do not fit
  kOrdTooLarge,
  kConnectionRefused,
  kConnectionReset,
  kTimedOut,
  kRejected,     ///< the peer's program said no; its private data may say why
  kMpaProtocol,  ///< the peer does not speak MPA as RFC 5044 wants
  kAddressInUse,
  kAddressInvalid,
  kSystem,              ///< the operating system refused; the message carries its reason
  kAtomicNeedsOneWord,  ///< an atomic operation has one local buffer of 8 octets
  kNotAgreed,           ///< atomics and Immediates: the peer did not agree to RFC 7306, or to that
  kCarrierFailed,       ///< TLS, say, or a peer that has it where we have not
};

const std::error_category& verbs_category();
inline std::error_code make_error_code(Errc e) { return {static_cast<int>(e), verbs_category()}; }

}  // namespace iwarp::verbs

template <>
struct std::is_error_code_enum<iwarp::verbs::Errc> : std::true_type {};
