// SPDX-License-Identifier: Apache-2.0
// Steps that the cases about MPA startup share: frames corrupted in one place, endings that are
// stricter or more lenient than Script's, and proofs that the peer reached full operation.
#pragma once

#include "conform/script/script.hpp"

namespace iwarp::apps::conform {

// Offsets of a Request and a Reply (RFC 5044 section 7.1.1).
inline constexpr std::size_t kFlagsAt = 16;
inline constexpr std::size_t kRevisionAt = 17;
inline constexpr std::size_t kLengthAt = 18;

inline constexpr std::byte kFlagC{0x40};
inline constexpr std::byte kFlagR{0x20};
inline constexpr std::byte kFlagS{0x10};
inline constexpr std::byte kReservedFlags{0x0F};

void set_length(Octets& frame, std::size_t length);

/// Continues after our frame, which the case has sent octet by octet: expects the peer to accept,
/// handles an RTR if one is due, and runs a round of the exchange.
void carry_on(Script& script, const Setup& setup);

/// Expects the peer's frame to accept, or to reject with R=1; both show that our frame was
/// well-formed. Returns whether it accepts.
bool answered(Script& script);

/// Expects full operation, even if the peer's program rejects a peer without IRD and ORD.
void expect_full_operation(Script& script);

/// Expects the end of the connection, with no FPDU before it except possibly a Terminate.
void expect_give_up(Script& script);

/// Expects the next connection to work, so the previous one has not crashed the peer.
void expect_next_works(Script& script);

/// Expects no FPDU for a while; the connection may end or stay.
void expect_no_fpdu(Script& script);

/// Sends a program that waits for Sends a first FPDU that may be invalid. Expects the exchange to
/// work or the peer to terminate; silence fails.
void exchange_or_end(Script& script);

/// Sends `count` zero-length RDMA Reads at once and expects all answers, in order.
void read_burst(Script& script, std::size_t count);

/// Expects a Terminate with this fault as the next RDMA message, then the end of the connection.
/// Throws Skipped with `otherwise` if the peer goes on instead.
void expect_terminate_or_skip(Script& script, const bytes::Fault& fault, const char* otherwise);

/// Ends a case after a Reply with A=1: sends an RTR that the peer offered, and gives the peer time
/// for it. Some peers fail badly if an initiator disconnects in the middle of startup.
void leave_in_order(Script& script);

/// Returns whether at least one kind of RTR is offered.
bool names_rtr(const mpa::EnhancedWord& word);
bool names_rtr(const mpa::EnhancedWord& word, mpa::Rtr kind);
/// Returns "A=1 B=0 C=1 D=0".
std::string flags_of(const mpa::EnhancedWord& word);

}  // namespace iwarp::apps::conform
