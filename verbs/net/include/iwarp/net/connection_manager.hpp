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

/// Returns the tap of a connection, or null. `outgoing`: this end connects. The addresses are
/// numeric. Called by any thread; must not call the Rnic.
using TapFactory = std::function<std::unique_ptr<verbs::WireTap>(
    const Address& local, const Address& peer, bool outgoing)>;

/// Options of an initiator.
struct ConnectOptions {
  verbs::ConnectionOptions connection;  ///< options of MPA and of the connection
  /// At most 512 bytes, or 508 with revision 2. Some peers (kernel siw, cxgb4) close the connection
  /// if there are more than 256, the 4 of revision 2 included; the event kConnectFailed says so.
  std::vector<std::byte> private_data;
  /// Numeric address to connect from; port 0: any. A BoundSocket of the application may hold the
  /// port.
  std::optional<Address> local;
  /// Limit for resolving the name and connecting TCP.
  std::chrono::milliseconds tcp_timeout = std::chrono::seconds(10);
  /// TCP congestion control by its name in tcp(7) TCP_CONGESTION; empty: the system's default. One
  /// that is not available or not permitted is an `Errc::kInvalidArgument`. An adopted socket goes
  /// on pacing if it did so under its former congestion control.
  std::string congestion;
  /// Connects again with revision 1, without RTR and without the tag of RFC 7306, if the peer
  /// closes or resets TCP after an enhanced Request. [EMPA-50]
  bool fall_back_to_revision_1 = true;
  /// How long to retry, after short pauses, if TCP is refused, or closed or reset before the first
  /// octet of the Reply: for programs that open a listener while their peer connects. Revision 1 is
  /// tried only after that time.
  std::chrono::milliseconds retry_refused_for = std::chrono::seconds(0);
  TapFactory tap;  ///< makes the tap of the connection; may be empty
  /// Makes the carrier; null: bare TCP. Its own set-up counts towards StartupOptions::timeout.
  std::shared_ptr<const CarrierFactory> carrier;
};

/// Options of a responder.
struct ListenOptions {
  verbs::ConnectionOptions connection;  ///< options of MPA and of the connections
  /// Requests to the port that the application has not polled from its channel; further ones are
  /// reset.
  int backlog = 1024;
  std::string congestion;  ///< as in ConnectOptions
  TapFactory tap;          ///< makes the tap of each connection; may be empty
  std::shared_ptr<const CarrierFactory> carrier;  ///< as in ConnectOptions
  /// Called, by any thread, if a set-up ends before a request because of the carrier: the peer's
  /// fails, or only one end uses one. Must not wait or call the Rnic.
  std::function<void(const Address& peer, const std::string& why)> refused;
};

/// A peer's request for a connection. Not thread-safe. Rejects the peer if destroyed undecided.
class ConnectRequest {
 public:
  virtual ~ConnectRequest() = default;
  virtual const Address& peer() const = 0;   ///< numeric address of the peer
  virtual const Address& local() const = 0;  ///< numeric address to which the peer connected
  /// Returns the peer's private data.
  virtual const std::vector<std::byte>& private_data() const = 0;
  /// Returns what the peer's Request offers.
  virtual const mpa::PeerOffer& offer() const = 0;
  /// As Carrier::peer_identity().
  virtual const std::string& peer_identity() const = 0;
  /// Returns whether the request is undecided and the peer has not closed the connection.
  virtual bool peer_waits() const = 0;
  /// States that the application has recognized the peer, by its private data for example: after
  /// accept(), the set-up is not evicted while it waits for the peer's RTR. Call before accept().
  virtual void set_recognized() = 0;
  /// Accepts with `qp`, which moves to RTS; the event kEstablished follows, or kConnectFailed.
  /// `ird` and `ord` are what this end wants, and are lowered to the peer's offer. Post receives
  /// first: the peer may send at once. Fails with
  /// - `Errc::kWrongState` if the request is decided, or `qp` is not Idle or is being connected,
  /// - `Errc::kConnectionReset` if the peer has closed the connection,
  /// - `Errc::kOrdTooLarge` if `ird` or `ord` is above mpa::kMaxReads,
  /// - `Errc::kPrivateDataTooLong`: more than 512 bytes, or 508 if the Request was enhanced,
  /// - `Errc::kInvalidArgument` if `qp` belongs to another Rnic,
  /// - `std::errc::not_enough_memory`.
  /// The request remains undecided, except after kConnectionReset.
  virtual std::error_code accept(verbs::QueuePair& qp, std::uint16_t ird = 16,
                                 std::uint16_t ord = 16,
                                 const std::vector<std::byte>& private_data = {}) = 0;
  /// Rejects the request and closes TCP. Fails with `Errc::kWrongState` if the request is decided,
  /// `Errc::kPrivateDataTooLong` as accept() (then it remains undecided), or
  /// `Errc::kConnectionReset` if the peer has closed the connection.
  virtual std::error_code reject(const std::vector<std::byte>& private_data = {}) = 0;
  /// Rejects the request, and moves the TCP connection, which stays open and is non-blocking, to
  /// `socket`. Fails as reject(), and with `Errc::kBusy` if TCP did not accept the whole Reply at
  /// once (it is closed afterwards) or `Errc::kInvalidArgument` if there is a carrier. [MPA-86]
  virtual std::error_code reject_and_keep(UniqueFd& socket,
                                          const std::vector<std::byte>& private_data = {}) = 0;
  /// Resets the connection, as if there were no listener; the initiator may try again.
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
    kDisconnected,    ///< the connection is over and `qp` has left RTS, see `end` and `why`
  };
  Type type = Type::kConnectFailed;
  verbs::QueuePair* qp = nullptr;  ///< except kConnectRequest
  /// Number of `qp`. Destroying a queue pair removes its events from the channel, but not those
  /// that have been polled.
  verbs::QpNum qp_num = 0;
  std::unique_ptr<ConnectRequest> request;  ///< kConnectRequest
  std::vector<std::byte> private_data;      ///< the peer's
  std::optional<mpa::PeerOffer> offer;      ///< what the peer's frame offers
  Address local;                            ///< numeric; port 0: TCP was not connected
  Address peer;                             ///< numeric; port 0: the name was not resolved
  /// kRejected: `Errc::kRejected`. kConnectFailed: `Errc::kConnectionRefused`, kConnectionReset,
  /// kTimedOut, kAddressInvalid, kAddressInUse (ConnectOptions::local), kInvalidArgument
  /// (congestion), kMpaProtocol, kCarrierFailed or kSystem.
  std::error_code error;
  /// kConnectFailed, kRejected, kDisconnected: a sentence that names the peer and the reason.
  std::string why;
  std::optional<verbs::StreamEnd> end;  ///< kDisconnected
  std::string peer_identity;  ///< kConnectRequest, kEstablished: as Carrier::peer_identity()
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
