// SPDX-License-Identifier: Apache-2.0
// What goes into MPA startup and what comes out of it: options, the peer's offer, the outcome.
// Values only; Startup (startup.hpp) gives them their meaning.
#pragma once

#include <chrono>
#include <cstdint>

#include "iwarp/mpa/faults.hpp"

namespace iwarp::mpa {

using Clock = std::chrono::steady_clock;  // the type of time points; no clock is read here
using TimePoint = Clock::time_point;
using Duration = Clock::duration;

enum class Role : std::uint8_t { kInitiator, kResponder };
enum class Rtr : std::uint8_t { kNone, kWrite, kRead, kSend };

struct RtrSet {
  bool write = true;
  bool read = true;
  bool send = true;
  constexpr bool has(Rtr kind) const {
    return (kind == Rtr::kWrite && write) || (kind == Rtr::kRead && read) ||
           (kind == Rtr::kSend && send);
  }
  constexpr bool empty() const { return !write && !read && !send; }
  constexpr RtrSet common(const RtrSet& o) const {
    return {write && o.write, read && o.read, send && o.send};
  }
  constexpr bool operator==(const RtrSet&) const = default;
};

/// The largest IRD and ORD that the 14 bits of the enhanced word can say: one more means "not
/// negotiated". [EMPA-26]
inline constexpr std::uint16_t kMaxReads = 0x3FFE;

struct StartupOptions {
  /// 1 or 2. Initiator: of the Request; responder: the highest that it takes.
  std::uint8_t revision = 2;
  bool crc = true;            ///< our C bit [MPA-2] [MPA-36]
  bool markers = false;       ///< our M bit: markers in what we receive
  bool allow_markers = true;  ///< responder: false rejects a Request with M=1
  /// Initiator, revision 2: ask for peer-to-peer mode and prefer this RTR; kNone: client-server.
  /// [EMPA-2]
  Rtr rtr = Rtr::kNone;
  /// Initiator: kinds offered (`rtr` always is); responder: kinds we can take (none: write).
  RtrSet rtr_supported;
  std::uint16_t ird = 16;       ///< inbound RDMA Reads we can answer at a time, at most 16382
  std::uint16_t ord = 16;       ///< outbound RDMA Reads we would like, at most 16382
  std::uint16_t max_ird = 128;  ///< initiator: refuse (2/0/06) a Reply that needs more
  std::uint16_t min_ord = 0;    ///< responder: reject a Request that allows us fewer [EMPA-20]
  bool negotiate_ird = true;    ///< false: say 0x3FFF, each end keeps its own value (RFC 6581 9.1)
  bool negotiate_ord = true;    ///< the same for ORD
  /// Say an IRD that is a power of two, the next lower one: a peer that rounds its own number of
  /// Reads up to one (kernel siw) would otherwise have more outstanding than we can answer.
  bool round_ird = false;
  /// Initiator: append the tag of RFC 7306 to the ULP's private data (when there is room for it).
  /// Responder: answer a tag with a tag. Only when both did are the extensions agreed on. Whoever
  /// knows nothing of it sees 8 more octets of private data. See extensions_tag().
  bool extensions = false;
  /// With `extensions`: the tag also says that an Immediate may belong to the Send behind it, which
  /// leaves its last 4 octets to us. Agreed on when both ends said so.
  bool send_immediate = false;
  /// With `send_immediate`: the tag also says that requests of this end complete when the peer has
  /// acknowledged them (rfc-notes/decisions/0023).
  bool acknowledged = false;
  Duration timeout = std::chrono::seconds(10);  ///< for the whole exchange [MPA-102]
};

/// The outcome: what full operation runs with.
struct Negotiated {
  Role role = Role::kInitiator;
  std::uint8_t revision = 1;  ///< [MPA-11]
  bool enhanced = false;
  bool crc = true;          ///< for framer and deframer; the layers above do not see it [MPA-39]
  bool tx_markers = false;  ///< the peer's M
  bool rx_markers = false;  ///< our M
  /// RTR agreed on. False although asked for: the peer did not echo it; no RTR is sent then.
  bool peer_to_peer = false;
  /// Initiator: the RTR it sends first. Responder: kNone (any first FPDU counts).
  Rtr rtr = Rtr::kNone;
  std::uint16_t ird = 0;        ///< in force at this end
  std::uint16_t ord = 0;        ///< in force at this end
  bool extensions = false;      ///< both ends said that they speak RFC 7306
  bool send_immediate = false;  ///< and that an Immediate may belong to the Send behind it
  /// With `send_immediate`: the peer's requests complete when this end has acknowledged them.
  bool peer_acknowledged = false;
};

/// What the peer's frame said, for the ULP. [EMPA-16] [EMPA-25]
struct PeerOffer {
  std::uint8_t revision = 1;
  bool enhanced = false;
  bool peer_to_peer = false;
  bool crc = false;
  bool markers = false;
  RtrSet rtr{false, false, false};  ///< kinds named; empty unless peer_to_peer [EMPA-43]
  std::uint16_t ird = 0;            ///< 0 and not enhanced: the peer did not say
  std::uint16_t ord = 0;
  bool extensions = false;      ///< the peer said that it speaks RFC 7306
  bool send_immediate = false;  ///< and that an Immediate may belong to the Send behind it
};

/// Why startup failed, and what the driver does about it.
struct Failure {
  Fault fault;
  bool timed_out = false;
  /// Initiator, full operation reached only to say this: send one Terminate, then close.
  bool send_terminate = false;
  /// Initiator: a new connection with revision 1 is worth a try. [EMPA-50]
  bool retry_plain = false;
  /// Initiator: TCP was lost before an octet of the Reply had come.
  bool unanswered = false;
  /// The peer has TLS where this end has not.
  bool speaks_tls = false;
};

}  // namespace iwarp::mpa
