// SPDX-License-Identifier: Apache-2.0
// Steps that several cases about MPA startup use. Some corrupt a frame in one place, and some prove
// that the peer has reached full operation. Others check how the connection ends; these checks are
// stricter or more lenient than those of Script.
#pragma once

#include "conform/script/script.hpp"

namespace iwarp::apps::conform {

// Offsets of fields in a Request and a Reply (RFC 5044 section 7.1.1).
inline constexpr std::size_t kFlagsAt = 16;
inline constexpr std::size_t kRevisionAt = 17;
inline constexpr std::size_t kLengthAt = 18;

inline constexpr std::byte kFlagC{0x40};
inline constexpr std::byte kFlagR{0x20};
inline constexpr std::byte kFlagS{0x10};
inline constexpr std::byte kReservedFlags{0x0F};

void set_length(Octets& frame, std::size_t length);

/// Completes startup after the case has sent the tester's startup frame as raw octets: expects the
/// peer to accept, handles an RTR if one is due, and runs one rping exchange.
void carry_on(Script& script, const Setup& setup);

/// Expects the peer to accept the tester's frame, or to reject it with R=1. In both cases the peer
/// found the frame well-formed. Returns whether the peer accepted.
bool answered(Script& script);

/// Expects full operation, without an rping exchange: the peer's program may be unable to run one
/// after a Request of revision 1, which has no IRD and ORD.
void expect_full_operation(Script& script);

/// Expects the connection to end. The peer may first send a Terminate, but no other FPDU.
void expect_give_up(Script& script);

/// Expects the next connection to work, which shows that the previous connection has not crashed
/// the peer.
void expect_next_works(Script& script);

/// Expects no FPDU for a while. The connection may end or remain open.
void expect_no_fpdu(Script& script);

/// Sends a first FPDU, which may be invalid, to a peer whose program waits for Sends. Expects that
/// an rping exchange works or that the stream ends. The case fails if the peer stays silent.
void exchange_or_end(Script& script);

/// Sends `count` zero-length RDMA Reads in one TCP segment, and expects all responses in order.
void read_burst(Script& script, std::size_t count);

/// Expects a Terminate with this fault as the next RDMA message, then the end of the connection. If
/// the peer sends another message instead, throws Skipped with the reason `otherwise`.
void expect_terminate_or_skip(Script& script, const bytes::Fault& fault, const char* otherwise);

/// Ends a case after a Reply with A=1. Sends an RTR of a kind that the peer offered, and gives the
/// peer time to process it, because some peers fail badly if an initiator disconnects during
/// startup.
void leave_in_order(Script& script);

/// Returns whether `word` offers any kind of RTR or, in the second overload, whether it offers
/// `kind`.
bool names_rtr(const mpa::EnhancedWord& word);
bool names_rtr(const mpa::EnhancedWord& word, mpa::Rtr kind);
/// Returns the flags as text, for example "A=1 B=0 C=1 D=0".
std::string flags_of(const mpa::EnhancedWord& word);

}  // namespace iwarp::apps::conform
