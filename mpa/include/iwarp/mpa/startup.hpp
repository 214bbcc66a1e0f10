// SPDX-License-Identifier: Apache-2.0
// Startup: the MPA connection set-up of both roles (RFC 5044 section 7.1, RFC 6581).
// Owns the startup state machine. Sans-IO: octets and time come in as arguments. Retrying with
// another revision needs a new TCP connection and is therefore the driver's (see Failure).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "iwarp/mpa/faults.hpp"
#include "iwarp/mpa/startup_frame.hpp"

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
};

struct StartupOptions {
  std::uint8_t revision = 2;  ///< initiator: revision of the Request; responder: highest accepted
  bool crc = true;            ///< our C bit [MPA-2] [MPA-36]
  bool markers = false;       ///< our M bit: markers in what we receive
  bool allow_markers = true;  ///< responder: false rejects a Request with M=1
  /// Initiator, revision 2: ask for peer-to-peer mode and prefer this RTR; kNone: client-server.
  Rtr rtr = Rtr::kNone;
  RtrSet rtr_supported;       ///< initiator: kinds offered; responder: kinds we can take
  std::uint16_t ird = 16;     ///< inbound RDMA Reads we can answer at a time
  std::uint16_t ord = 16;     ///< outbound RDMA Reads we would like
  std::uint16_t max_ird = 128;  ///< initiator: refuse (2/0/06) a Reply that needs more
  Duration timeout = std::chrono::seconds(10);  ///< for the whole exchange [MPA-102]
};

/// The outcome: what full operation runs with.
struct Negotiated {
  Role role = Role::kInitiator;
  std::uint8_t revision = 1;
  bool enhanced = false;
  bool crc = true;
  bool tx_markers = false;  ///< the peer's M
  bool rx_markers = false;  ///< our M
  bool peer_to_peer = false;
  /// Initiator: the RTR it sends first. Responder: kNone (any first FPDU counts).
  Rtr rtr = Rtr::kNone;
  std::uint16_t ird = 0;  ///< in force at this end
  std::uint16_t ord = 0;  ///< in force at this end
};

/// What the peer's frame said, for the ULP. [EMPA-16] [EMPA-25]
struct PeerOffer {
  std::uint8_t revision = 1;
  bool enhanced = false;
  bool peer_to_peer = false;
  bool crc = false;
  bool markers = false;
  std::uint16_t ird = 0;  ///< 0 and not enhanced: the peer did not say
  std::uint16_t ord = 0;
};

enum class StartupState : std::uint8_t {
  kIdle,           ///< nothing sent or received
  kAwaitReply,     ///< initiator: Request out
  kAwaitRequest,   ///< responder: nothing valid yet
  kAwaitDecision,  ///< responder: the ULP has to accept or reject
  kFullOperation,  ///< done: negotiated() is valid
  kRejected,       ///< Reply with R=1 sent or received; the TCP connection stays open [MPA-86] [MPA-91]
  kFailed,         ///< close the TCP connection; failure() says why
};

/// Why startup failed, and what the driver does about it.
struct Failure {
  Fault fault;
  bool timed_out = false;
  /// Initiator, full operation reached only to say this: send one Terminate, then close.
  bool send_terminate = false;
  /// Initiator: a new connection with revision 1 is worth a try. [EMPA-50]
  bool retry_plain = false;
};

class Startup {
 public:
  Startup(Role role, const StartupOptions& options);

  /// Initiator: queues the Request. private_data is at most 512 octets, 508 with revision 2; more:
  /// returns false and nothing happens. [MPA-80] [EMPA-10]
  bool request(bytes::View private_data, TimePoint now);
  /// Responder: the TCP connection exists; starts the timer. [MPA-99]
  void listen(TimePoint now);

  /// Takes stream octets; returns how many belong to startup. What is left over belongs to full
  /// operation (initiator side only; octets behind a Request are a protocol error). Poll state()
  /// and transmit() afterwards.
  std::size_t receive(bytes::View octets, TimePoint now);
  /// The peer closed or reset while startup was under way.
  void closed(TimePoint now);

  /// Responder in kAwaitDecision. `ird`/`ord`: what the ULP wants at this end; they are cut to the
  /// peer's offer as RFC 6581 section 9.1 says. Limits of private_data as for request().
  bool accept(bytes::View private_data, std::uint16_t ird, std::uint16_t ord);
  bool reject(bytes::View private_data);

  /// Octets to send, valid until the next non-const call; then transmitted(n).
  bytes::View transmit() const;
  void transmitted(std::size_t n);

  std::optional<TimePoint> timeout() const;
  void handle_timeout(TimePoint now);

  StartupState state() const;
  /// The peer's ULP private data (without the enhanced word); valid while this object lives.
  bytes::View peer_private_data() const;
  /// After the peer's frame was understood.
  const std::optional<PeerOffer>& peer_offer() const;
  /// In kFullOperation.
  const Negotiated& negotiated() const;
  /// In kFailed; also in kFullOperation when send_terminate is set.
  const std::optional<Failure>& failure() const;

 private:
  void fail(const Fault& fault, bool retry_plain = false);
  void on_request(const StartupFrame& frame);
  void on_reply(const StartupFrame& frame);

  Role role_;
  StartupOptions options_;
  StartupState state_ = StartupState::kIdle;
  std::vector<std::byte> in_;
  std::vector<std::byte> out_;
  std::size_t out_sent_ = 0;
  std::size_t private_offset_ = kStartupHeaderSize;
  std::optional<TimePoint> deadline_;
  std::optional<PeerOffer> offer_;
  Negotiated negotiated_;
  std::optional<Failure> failure_;
};

}  // namespace iwarp::mpa
