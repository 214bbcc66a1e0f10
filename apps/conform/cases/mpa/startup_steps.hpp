// SPDX-License-Identifier: Apache-2.0
// Steps that the tables of cases about MPA startup share: frames spoiled in one place, endings that
// are stricter or wider than Script's, and proofs that full operation was reached.
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

/// Full operation behind our frame, which the case has sent octet by octet: the peer accepts, the
/// RTR where one is due, and a round of the exchange.
void carry_on(Script& script, const Setup& setup);

/// The peer's frame accepts, or rejects with R=1: both say that it was well-formed. True: accepts.
bool answered(Script& script);

/// Full operation was reached, whatever the program above makes of a peer without IRD and ORD.
void expect_full_operation(Script& script);

/// The connection ends, and no FPDU comes before but possibly a Terminate.
void expect_give_up(Script& script);

/// The next connection works: the one before has not brought the peer down.
void expect_next_works(Script& script);

/// No FPDU for a while; the connection may end or stay.
void expect_no_fpdu(Script& script);

/// What a program that waits for Sends gets by a first FPDU which may be wrong: the exchange works,
/// or the peer terminates. Silence is neither.
void exchange_or_end(Script& script);

/// As many zero-length RDMA Reads at once, all answered, in order.
void read_burst(Script& script, std::size_t count);

/// The next RDMA Message is a Terminate with this fault, then the connection ends. Skipped with
/// `otherwise` when the peer goes on instead.
void expect_terminate_or_skip(Script& script, const bytes::Fault& fault, const char* otherwise);

/// After a Reply with A=1 that a case is done with: an RTR that the peer names, and some time for
/// it. Some peers fail badly when an initiator goes away in the middle of startup.
void leave_in_order(Script& script);

/// At least one kind of RTR is named.
bool names_rtr(const mpa::EnhancedWord& word);
bool names_rtr(const mpa::EnhancedWord& word, mpa::Rtr kind);
/// "A=1 B=0 C=1 D=0".
std::string flags_of(const mpa::EnhancedWord& word);

}  // namespace iwarp::apps::conform
