// SPDX-License-Identifier: Apache-2.0
// Connection manager: listen, connect, accept and reject, with private data (RFC 5044 section 7.1,
// RFC 6581). As in rdma_cm, every outcome is an event on a channel.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "iwarp/net/address.hpp"
#include "iwarp/net/channel.hpp"
#include "iwarp/net/unique_fd.hpp"
#include "iwarp/verbs/connection_options.hpp"
#include "iwarp/verbs/stream_end.hpp"

namespace iwarp::verbs {
class QueuePair;
class WireTap;
}  // namespace iwarp::verbs

namespace iwarp::net {

class CarrierFactory;  // see carrier.hpp

/// Returns the tap of a connection, or null if no tap should observe it. `outgoing`: this end
/// connects. The addresses are numeric. Any thread may call it; it must not call the Rnic.
using TapFactory = std::function<std::unique_ptr<verbs::WireTap>(
    const Address& local, const Address& peer, bool outgoing)>;

/// Options of an initiator.
struct ConnectOptions {
  verbs::ConnectionOptions connection;  ///< options of MPA and of the connection
  /// Private data of the Request: at most 512 bytes, or 508 with revision 2. Some peers (kernel
  /// siw, cxgb4) close the connection if there are more than 256 bytes, including the 4 bytes that
  /// revision 2 adds; the event kConnectFailed mentions that.
  std::vector<std::byte> private_data;
  /// Numeric address to connect from; port 0 means any port. A BoundSocket of the application may
  /// hold the port.
  std::optional<Address> local;
  /// Limit for resolving the name and connecting TCP, together.
  std::chrono::milliseconds tcp_timeout = std::chrono::seconds(10);
  /// Name of the TCP congestion control, see TCP_CONGESTION in tcp(7); empty for the system's
  /// default. If it is not available or not permitted, connecting fails with
  /// `Errc::kInvalidArgument`. An adopted socket whose former congestion control used pacing
  /// continues to pace.
  std::string congestion;
  /// Connects again with revision 1, without RTR and without the tag of RFC 7306, if the peer
  /// closes or resets TCP after an enhanced Request. [EMPA-50]
  bool fall_back_to_revision_1 = true;
  /// How long to retry, after short pauses, if the peer refuses TCP, or closes or resets it before
  /// the first octet of the Reply. For programs that may connect before their peer listens.
  /// Revision 1 is tried only after that time.
  std::chrono::milliseconds retry_refused_for = std::chrono::seconds(0);
  TapFactory tap;  ///< makes the tap of the connection; may be empty
  /// Makes the carrier of the connection; null if MPA uses TCP directly. The time for setting up
  /// the carrier counts towards StartupOptions::timeout.
  std::shared_ptr<const CarrierFactory> carrier;
};

/// Options of a responder.
struct ListenOptions {
  verbs::ConnectionOptions connection;  ///< options of MPA and of the connections
  /// Maximum number of requests to the port that the application has not polled from its channel.
  /// The connections of further requests are reset.
  int backlog = 1024;
  std::string congestion;  ///< as in ConnectOptions
  TapFactory tap;          ///< makes the tap of each connection; may be empty
  std::shared_ptr<const CarrierFactory> carrier;  ///< as in ConnectOptions
  /// Called, by any thread, if a set-up ends before its request because of the carrier: the carrier
  /// fails, or only one end uses a carrier. Must not wait or call the Rnic.
  std::function<void(const Address& peer, const std::string& why)> refused;
};

/// A peer's request for a connection. Not thread-safe. The destructor rejects the request unless it
/// has been accepted, rejected or dropped.
class ConnectRequest {
 public:
  virtual ~ConnectRequest() = default;
  virtual const Address& peer() const = 0;   ///< numeric address of the peer
  virtual const Address& local() const = 0;  ///< numeric address to which the peer connected
  /// Returns the peer's private data.
  virtual const std::vector<std::byte>& private_data() const = 0;
  /// Returns what the peer's Request offers.
  virtual const mpa::PeerOffer& offer() const = 0;
  /// Returns the Carrier::peer_identity() of the connection; empty without a carrier.
  virtual const std::string& peer_identity() const = 0;
  /// Returns whether the request still has to be accepted or rejected, and the peer has not closed
  /// the connection.
  virtual bool peer_waits() const = 0;
  /// Call before accept() if the application has recognized the peer, by its private data for
  /// example. Then the set-up is not evicted while it waits for the peer's RTR.
  virtual void set_recognized() = 0;
  /// Accepts with `qp`, which moves to RTS; the event kEstablished follows, or kConnectFailed.
  /// `ird` and `ord` are the values that this end wants; they are lowered to the peer's offer. Post
  /// receives first, because the peer may send at once. Fails with
  /// - `Errc::kWrongState` if the request has been accepted, rejected or dropped, or if `qp` is not
  ///   Idle or is being connected,
  /// - `Errc::kConnectionReset` if the peer has closed the connection,
  /// - `Errc::kOrdTooLarge` if `ird` or `ord` is above mpa::kMaxReads,
  /// - `Errc::kPrivateDataTooLong` if there are more than 512 bytes, or 508 if the Request was
  ///   enhanced,
  /// - `Errc::kInvalidArgument` if `qp` belongs to another Rnic,
  /// - `std::errc::not_enough_memory`.
  /// After a failure the request can still be accepted, except after kConnectionReset.
  virtual std::error_code accept(verbs::QueuePair& qp, std::uint16_t ird = 16,
                                 std::uint16_t ord = 16,
                                 const std::vector<std::byte>& private_data = {}) = 0;
  /// Rejects the request and closes TCP. Fails with `Errc::kWrongState` if the request has been
  /// accepted, rejected or dropped, `Errc::kPrivateDataTooLong` as accept() does (then it can be
  /// rejected again), or `Errc::kConnectionReset` if the peer has closed the connection.
  virtual std::error_code reject(const std::vector<std::byte>& private_data = {}) = 0;
  /// Rejects the request, and moves the TCP connection, which stays open and is non-blocking, to
  /// `socket`. Fails as reject() does, with `Errc::kBusy` if TCP did not accept the whole Reply at
  /// once (TCP is closed afterwards), or `Errc::kInvalidArgument` if there is a carrier. [MPA-86]
  virtual std::error_code reject_and_keep(UniqueFd& socket,
                                          const std::vector<std::byte>& private_data = {}) = 0;
  /// Resets the connection, as if no program listened; the initiator may try again.
  virtual void drop() = 0;
};

/// An event of the connection manager.
struct CmEvent {
  /// What happened.
  enum class Type : std::uint8_t {
    kConnectRequest,  ///< a peer wants to connect, see `request`
    kEstablished,     ///< `qp` is in RTS; initiator: `private_data` of the Reply
    kRejected,        ///< the peer rejected the request, see `private_data`
    kConnectFailed,   ///< there is no connection, see `error` and `why`
    /// The connection has ended and `qp` is no longer in RTS, see `end` and `why`.
    kDisconnected,
  };
  Type type = Type::kConnectFailed;
  verbs::QueuePair* qp = nullptr;  ///< queue pair of the connection; null for kConnectRequest
  /// Number of `qp`. Destroying a queue pair removes its events from the channel, but not those
  /// that have been polled.
  verbs::QpNum qp_num = 0;
  std::unique_ptr<ConnectRequest> request;  ///< set for kConnectRequest only
  std::vector<std::byte> private_data;      ///< private data of the peer's Request or Reply
  std::optional<mpa::PeerOffer> offer;      ///< what the peer's frame offers
  Address local;                            ///< numeric; the port is 0 if TCP was not connected
  Address peer;                             ///< numeric; the port is 0 if the name was not resolved
  /// kRejected: `Errc::kRejected`. kConnectFailed: `Errc::kConnectionRefused`, kConnectionReset,
  /// kTimedOut, kAddressInvalid, kAddressInUse (ConnectOptions::local), kInvalidArgument
  /// (congestion), kMpaProtocol, kCarrierFailed or kSystem.
  std::error_code error;
  /// kConnectFailed, kRejected, kDisconnected: a sentence that names the peer and the reason.
  std::string why;
  std::optional<verbs::StreamEnd> end;  ///< set for kDisconnected only
  std::string peer_identity;  ///< kConnectRequest, kEstablished: the Carrier::peer_identity()
  /// kRejected: the TCP connection, open and non-blocking; closed with the event unless the
  /// application moves it. Empty if TCP had not accepted the whole Request, or there is a carrier.
  /// [MPA-91]
  UniqueFd socket;
  std::vector<std::byte> read_ahead;  ///< octets that arrived on `socket` after the Reply
};

/// The channel of connection manager events.
using CmChannel = Channel<CmEvent>;
/// Owns a CmChannel; it must outlive the listeners and queue pairs that use it.
using CmChannelHandle = std::unique_ptr<CmChannel>;

/// A listening port. The destructor stops listening; requests already delivered stay valid.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Returns the numeric address, with the port that was bound.
  virtual const Address& local() const = 0;
};

}  // namespace iwarp::net
