// SPDX-License-Identifier: Apache-2.0
// Input and output of MPA startup: options, the peer's offer, the outcome. Values only, see
// startup.hpp.
#pragma once

#include <chrono>
#include <cstdint>

#include "iwarp/bytes/fault.hpp"

namespace iwarp::mpa {

/// The clock to which all time points belong. The layers below the driver do not read it.
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

/// A set of kinds of RTR.
struct RtrSet {
  bool write = true;
  bool read = true;
  bool send = true;
  /// Returns whether the set contains the kind; never kNone.
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

/// The largest IRD and ORD that the 14 bits of the enhanced word can carry: one more means "not
/// negotiated". [EMPA-26]
inline constexpr std::uint16_t kMaxReads = 0x3FFE;

/// Options of MPA startup.
struct StartupOptions {
  /// MPA revision, 1 or 2. Initiator: of the Request; responder: the highest that it accepts.
  std::uint8_t revision = 2;
  bool crc = true;            ///< C bit: this end wants CRCs [MPA-2] [MPA-36]
  bool markers = false;       ///< M bit: this end needs markers in what it receives
  bool allow_markers = true;  ///< responder: false rejects a Request with M=1
  /// Initiator, revision 2: asks for peer-to-peer mode and prefers this RTR; kNone: client-server.
  /// [EMPA-2]
  Rtr rtr = Rtr::kNone;
  /// Initiator: kinds offered, beside `rtr`; responder: kinds accepted (if empty: write).
  RtrSet rtr_supported;
  std::uint16_t ird = 16;  ///< inbound RDMA Reads that this end can answer at a time, at most 16382
  std::uint16_t ord = 16;  ///< outbound RDMA Reads that this end wants at a time, at most 16382
  std::uint16_t max_ird = 128;  ///< initiator: refuses (2/0/06) a Reply that needs more
  std::uint16_t min_ord = 0;    ///< responder: rejects a Request that allows fewer [EMPA-20]
  bool negotiate_ird = true;    ///< false: sends 0x3FFF, each end keeps its value (RFC 6581 9.1)
  bool negotiate_ord = true;    ///< as negotiate_ird, for ORD
  /// Rounds the IRD down to a power of two: a peer that rounds its number of Reads up to one
  /// (kernel siw) would otherwise have more outstanding than this end can answer.
  bool round_ird = false;
  /// Initiator: appends the tag of RFC 7306 to the ULP's private data, if there is room for it.
  /// Responder: answers a tag with a tag. The extensions are agreed on if both did. A peer without
  /// them sees 8 more octets of private data. See extensions_tag().
  bool extensions = false;
  /// With `extensions`: the tag also offers that an Immediate may belong to the Send after it,
  /// which takes the Immediate's last 4 octets. Agreed on if both ends offer it.
  bool send_immediate = false;
  /// With `send_immediate`: the tag also says that requests of this end complete when the peer has
  /// acknowledged them (rfc-notes/decisions/0023).
  bool acknowledged = false;
  Duration timeout = std::chrono::seconds(10);  ///< for the whole exchange [MPA-102]
};

/// The outcome: the terms of full operation.
struct Negotiated {
  Role role = Role::kInitiator;
  std::uint8_t revision = 1;  ///< [MPA-11]
  bool enhanced = false;      ///< both frames have the enhanced word
  bool crc = true;            ///< for framer and deframer; the layers above do not see it [MPA-39]
  bool tx_markers = false;    ///< the peer's M
  bool rx_markers = false;    ///< this end's M
  /// Whether an RTR was agreed on: not if the peer did not echo the request for one.
  bool peer_to_peer = false;
  /// Initiator: the RTR to send first. Responder: kNone (any first FPDU counts).
  Rtr rtr = Rtr::kNone;
  std::uint16_t ird = 0;        ///< in force at this end
  std::uint16_t ord = 0;        ///< in force at this end
  bool extensions = false;      ///< both ends support RFC 7306
  bool send_immediate = false;  ///< both ends support an Immediate that belongs to the next Send
  /// With `send_immediate`: the peer's requests complete when this end has acknowledged them.
  bool peer_acknowledged = false;
};

/// What the peer's frame says, for the ULP. [EMPA-16] [EMPA-25]
struct PeerOffer {
  std::uint8_t revision = 1;
  bool enhanced = false;
  bool peer_to_peer = false;
  bool crc = false;
  bool markers = false;
  RtrSet rtr{false, false, false};  ///< kinds named; empty unless peer_to_peer [EMPA-43]
  std::uint16_t ird = 0;            ///< meaningful if `enhanced`
  std::uint16_t ord = 0;            ///< meaningful if `enhanced`
  bool extensions = false;          ///< the peer supports RFC 7306
  bool send_immediate = false;      ///< and an Immediate that belongs to the next Send
};

/// Why startup failed, and what the driver is to do about it.
struct Failure {
  bytes::Fault fault;
  bool timed_out = false;  ///< StartupOptions::timeout has passed
  /// Initiator: full operation was reached only to report this: send one Terminate, then close.
  bool send_terminate = false;
  /// Initiator: a new connection with revision 1 is worth a try. [EMPA-50]
  bool retry_plain = false;
  /// Initiator: TCP was lost before the first octet of the Reply arrived.
  bool unanswered = false;
  /// The peer uses TLS and this end does not.
  bool speaks_tls = false;
};

}  // namespace iwarp::mpa
