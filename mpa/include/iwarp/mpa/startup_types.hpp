// SPDX-License-Identifier: Apache-2.0
// Types of MPA startup: its options, the peer's offer and the outcome. The class Startup, which
// uses them, is in startup.hpp.
#pragma once

#include <chrono>
#include <cstdint>

#include "iwarp/bytes/fault.hpp"

namespace iwarp::mpa {

/// The clock to which all time points belong. The layers below the driver do not read the clock.
using Clock = std::chrono::steady_clock;
/// A time of Clock.
using TimePoint = Clock::time_point;
/// A difference of two time points.
using Duration = Clock::duration;

/// The two ends of a set-up: the initiator sends the Request, the responder the Reply.
enum class Role : std::uint8_t { kInitiator, kResponder };
/// The initiator's first message in peer-to-peer mode (RFC 6581 section 9): none, or an empty RDMA
/// Write, RDMA Read or Send.
enum class Rtr : std::uint8_t { kNone, kWrite, kRead, kSend };

/// A set of RTR kinds; each member says whether the set contains the kind.
struct RtrSet {
  bool write = true;
  bool read = true;
  bool send = true;
  /// Returns whether the set contains the kind. No set contains kNone.
  constexpr bool has(Rtr kind) const {
    return (kind == Rtr::kWrite && write) || (kind == Rtr::kRead && read) ||
           (kind == Rtr::kSend && send);
  }
  /// Returns whether the set contains no kind.
  constexpr bool empty() const { return !write && !read && !send; }
  /// Returns the kinds that both sets contain.
  constexpr RtrSet common(const RtrSet& o) const {
    return {write && o.write, read && o.read, send && o.send};
  }
  constexpr bool operator==(const RtrSet&) const = default;
};

/// The largest IRD and ORD that the 14 bits of the enhanced word can carry. The next value, 0x3FFF,
/// means "not negotiated". [EMPA-26]
inline constexpr std::uint16_t kMaxReads = 0x3FFE;

/// Options of MPA startup.
struct StartupOptions {
  /// MPA revision, 1 or 2. Initiator: the revision of the Request. Responder: the highest revision
  /// that this end accepts in a Request.
  std::uint8_t revision = 2;
  bool crc = true;            ///< C bit: this end wants CRCs [MPA-2] [MPA-36]
  bool markers = false;       ///< M bit: this end needs markers in what it receives
  bool allow_markers = true;  ///< responder: false rejects a Request with M=1
  /// Initiator, revision 2: asks for peer-to-peer mode and prefers this RTR. kNone asks for
  /// client-server mode instead. [EMPA-2]
  Rtr rtr = Rtr::kNone;
  /// Initiator: the RTR kinds that this end offers, in addition to `rtr`. Responder: the RTR kinds
  /// that this end accepts; an empty set stands for RDMA Write.
  RtrSet rtr_supported{};
  std::uint16_t ird = 16;  ///< inbound RDMA Reads that this end can answer at a time, at most 16382
  std::uint16_t ord = 16;  ///< outbound RDMA Reads that this end wants at a time, at most 16382
  /// Initiator: refuses a Reply that needs a larger IRD (Terminate 2/0/06).
  std::uint16_t max_ird = 128;
  std::uint16_t min_ord = 0;  ///< responder: rejects a Request with a smaller IRD [EMPA-20]
  bool negotiate_ird = true;  ///< false: sends IRD 0x3FFF, so each end keeps its IRD (RFC 6581 9.1)
  bool negotiate_ord = true;  ///< false: sends ORD 0x3FFF, so each end keeps its ORD
  /// Rounds the IRD down to a power of two. Kernel siw rounds its number of Reads up to a power of
  /// two, and would otherwise have more Reads outstanding than this end can answer.
  bool round_ird = false;
  /// Initiator: appends an extensions_tag(), which offers RFC 7306, to the ULP's private data, if
  /// there is room for it. Responder: appends a tag to the Reply if the Request has a tag. The ends
  /// have agreed on the extensions if both frames have a tag. A peer that does not know the tag
  /// sees 8 more octets of private data.
  bool extensions = false;
  /// With `extensions`: the tag also offers Send with Immediate. A mark in the last 4 octets of an
  /// Immediate says that the Immediate belongs to the next Send. Both ends have to offer Send with
  /// Immediate.
  bool send_immediate = false;
  /// With `send_immediate`: the tag also says that requests of this end complete when the peer has
  /// acknowledged them (rfc-notes/decisions/0023).
  bool acknowledged = false;
  Duration timeout = std::chrono::seconds(10);  ///< time limit for the whole exchange [MPA-102]
};

/// The outcome of startup: the values that both ends use in full operation.
struct Negotiated {
  Role role = Role::kInitiator;
  std::uint8_t revision = 1;  ///< MPA revision of the Reply [MPA-11]
  bool enhanced = false;      ///< both frames have the enhanced word
  bool crc = true;  ///< framer and deframer use CRCs; the layers above do not see this [MPA-39]
  bool tx_markers = false;  ///< the peer's M bit: this end inserts markers
  bool rx_markers = false;  ///< this end's M bit: the peer inserts markers
  /// Whether both ends agreed on an RTR. There is no agreement if the peer did not echo the A bit
  /// of the Request.
  bool peer_to_peer = false;
  /// Initiator: the RTR to send first. Responder: kNone, because a responder treats any first FPDU
  /// as the RTR.
  Rtr rtr = Rtr::kNone;
  std::uint16_t ird = 0;        ///< IRD of this end
  std::uint16_t ord = 0;        ///< ORD of this end
  bool extensions = false;      ///< both ends support RFC 7306
  bool send_immediate = false;  ///< both ends support an Immediate that belongs to the next Send
  /// With `send_immediate`: the peer's requests complete when this end has acknowledged them.
  bool peer_acknowledged = false;
};

/// The contents of the peer's frame, which the ULP may read. [EMPA-16] [EMPA-25]
struct PeerOffer {
  std::uint8_t revision = 1;
  bool enhanced = false;
  bool peer_to_peer = false;
  bool crc = false;
  bool markers = false;
  RtrSet rtr{false, false, false};  ///< RTR kinds offered; empty unless peer_to_peer [EMPA-43]
  std::uint16_t ird = 0;            ///< the peer's IRD, valid if `enhanced`
  std::uint16_t ord = 0;            ///< the peer's ORD, valid if `enhanced`
  bool extensions = false;          ///< the peer supports RFC 7306
  bool send_immediate = false;  ///< the peer supports an Immediate that belongs to the next Send
};

/// Why startup failed, and what the driver has to do about it.
struct Failure {
  bytes::Fault fault{};
  bool timed_out = false;  ///< StartupOptions::timeout has passed
  /// Initiator: startup entered full operation only so that the driver can report this fault to the
  /// peer. The driver sends one Terminate and then closes.
  bool send_terminate = false;
  /// Initiator: the driver may try again with revision 1 on a new TCP connection. [EMPA-50]
  bool retry_plain = false;
  /// Initiator: the TCP connection was lost before the first octet of the Reply arrived.
  bool unanswered = false;
  /// The peer uses TLS and this end does not.
  bool speaks_tls = false;
};

}  // namespace iwarp::mpa
