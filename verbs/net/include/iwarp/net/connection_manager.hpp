// SPDX-License-Identifier: Apache-2.0
// Connection manager: listen, connect, accept and reject, with private data (RFC 5044 section 7.1,
// RFC 6581). As in librdmacm, the outcome of each operation is an event on a channel. Private data
// is passed on and not interpreted.
//
// <!-- figure: source test/net/examples.cpp | block void connect -->
// ```cpp
// void connect(const Program& client, const Program& server) {
//   const auto listener = must(server.rnic->listen({"127.0.0.1", 0}, {}, *server.events));
//   must(client.rnic->connect(*client.qp, listener->local(), {}, *client.events));
//   must(next_event(*server.events, kLimit).request->accept(*server.qp));
//   const auto outcome = next_event(*client.events, kLimit);
//   if (outcome.type != CmEvent::Type::kEstablished) throw std::runtime_error(outcome.why);
// }
// ```
// <!-- end -->
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

class CarrierFactory;                    // see carrier.hpp
enum class SetupFailure : std::uint8_t;  // see statistics.hpp

/// Makes the tap of a connection, or returns null if no tap should observe the connection.
/// `outgoing` is true if this end connects. The addresses are numeric. Any thread may call the
/// function, and the function must not call the Rnic.
using TapFactory = std::function<std::unique_ptr<verbs::WireTap>(
    const Address& local, const Address& peer, bool outgoing)>;

/// Options of an initiator.
struct ConnectOptions {
  verbs::ConnectionOptions connection{};  ///< options of MPA and of the connection
  /// Private data of the Request: at most 512 bytes, or 508 with revision 2. Some peers (kernel
  /// siw, cxgb4) close the connection if there are more than 256 bytes, including the 4 bytes that
  /// revision 2 adds; the event kConnectFailed then mentions this limit.
  std::vector<std::byte> private_data{};
  /// Octets that follow `private_data` in a Request of revision 2, and count towards its limits.
  /// Omitted when the initiator connects again with revision 1.
  std::vector<std::byte> private_trailer{};
  /// Numeric address to connect from; port 0 means any port. A port that a BoundSocket of the
  /// application holds is allowed.
  std::optional<Address> local{};
  /// Limit for the time to resolve the name and connect TCP, both together.
  std::chrono::milliseconds tcp_timeout = std::chrono::seconds(10);
  /// Name of the TCP congestion control, see TCP_CONGESTION in tcp(7). If empty, a connection
  /// between two ends of this host uses reno, and any other connection the system's default. If the
  /// named congestion control is not available or not permitted, connecting fails with
  /// `Errc::kInvalidArgument`. An adopted socket keeps pacing if its former congestion control used
  /// pacing.
  std::string congestion{};
  /// Whether to connect again with revision 1, without RTR and without the tag of RFC 7306, if the
  /// peer closes or resets TCP after an enhanced Request. [EMPA-50]
  bool fall_back_to_revision_1 = true;
  /// How long to keep retrying, with short pauses, if the peer refuses the TCP connection, or
  /// closes or resets it before the first octet of the Reply has arrived. For programs that may
  /// connect before their peer listens. Revision 1 is tried only after this time has passed.
  std::chrono::milliseconds retry_refused_for = std::chrono::seconds(0);
  TapFactory tap{};  ///< makes the tap of the connection; may be empty
  /// Makes the carrier of the connection; null if MPA uses TCP directly. The time for setting up
  /// the carrier counts towards StartupOptions::timeout.
  std::shared_ptr<const CarrierFactory> carrier{};
};

/// Options of a responder.
struct ListenOptions {
  verbs::ConnectionOptions connection{};  ///< options of MPA and of the connections
  /// Maximum number of connection requests to this port that are on the channel, waiting to be
  /// polled. The device resets the connections of further requests.
  int backlog = 1024;
  std::string congestion{};  ///< see ConnectOptions::congestion
  TapFactory tap{};          ///< makes the tap of each connection; may be empty
  std::shared_ptr<const CarrierFactory> carrier{};  ///< see ConnectOptions::carrier
  /// Called, by any thread, for each set-up that Statistics::passive counts as failed, unless the
  /// application has abandoned it. The function must not wait or call the Rnic.
  std::function<void(const Address& peer, SetupFailure reason, const std::string& why)>
      setup_failed{};
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
  /// Returns whether the request still has to be accepted or rejected, and the peer has not closed
  /// the connection.
  virtual bool peer_waits() const = 0;
  /// Call before accept() if the application has recognized the peer, for example by its private
  /// data. The set-up is then not evicted while it waits for the peer's RTR.
  virtual void set_recognized() = 0;
  /// Accepts the request with `qp`, which moves to RTS. The event kEstablished or kConnectFailed
  /// follows. `ird` and `ord` are the values that this end wants; accept() lowers a value if the
  /// peer offers less. Post receives before the call, because the peer may send at once. Fails with
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
  /// accepted, rejected or dropped, `Errc::kPrivateDataTooLong` as accept() does (the application
  /// can then call reject() again), or `Errc::kConnectionReset` if the peer has closed the
  /// connection.
  virtual std::error_code reject(const std::vector<std::byte>& private_data = {}) = 0;
  /// Rejects the request but keeps TCP open: moves the TCP socket, which is non-blocking, to
  /// `socket`. Fails as reject() does; with `Errc::kBusy` if TCP did not accept the whole Reply at
  /// once, in which case TCP is closed; or with `Errc::kInvalidArgument` if there is a carrier.
  /// [MPA-86]
  virtual std::error_code reject_and_keep(UniqueFd& socket,
                                          const std::vector<std::byte>& private_data = {}) = 0;
  /// Resets the connection, as if no program were listening. The initiator may try again.
  virtual void drop() = 0;
};

/// An event of the connection manager.
struct CmEvent {
  /// What happened.
  enum class Type : std::uint8_t {
    kConnectRequest,  ///< a peer wants to connect, see `request`
    kEstablished,     ///< `qp` is in RTS; for an initiator, see `private_data`
    kRejected,        ///< the peer rejected the request, see `private_data`
    kConnectFailed,   ///< there is no connection, see `error` and `why`
    /// The connection has ended and `qp` is no longer in RTS, see `end` and `why`.
    kDisconnected,
  };
  Type type = Type::kConnectFailed;
  verbs::QueuePair* qp = nullptr;  ///< queue pair of the connection; null for kConnectRequest
  /// Number of `qp`. Destroying a queue pair removes its events from the channel. An event that the
  /// application has already polled keeps its `qp`, which then dangles; `qp_num` stays valid.
  verbs::QpNum qp_num = 0;
  std::unique_ptr<ConnectRequest> request{};  ///< set for kConnectRequest only
  std::vector<std::byte> private_data{};      ///< private data of the peer's Request or Reply
  std::optional<mpa::PeerOffer> offer{};      ///< the offer in the peer's Request or Reply
  Address local{};  ///< numeric address of this end; port 0 if TCP was not connected
  Address peer{};   ///< numeric address of the peer; port 0 if its name was not resolved
  /// kRejected: `Errc::kRejected`. kConnectFailed: `Errc::kConnectionRefused`, kConnectionReset,
  /// kTimedOut, kAddressInvalid, kAddressInUse (ConnectOptions::local), kInvalidArgument
  /// (congestion), kMpaProtocol, kCarrierFailed or kSystem.
  std::error_code error{};
  /// kConnectFailed, kRejected, kDisconnected: a sentence that names the peer and the reason.
  std::string why{};
  std::optional<verbs::StreamEnd> end{};  ///< set for kDisconnected only
  std::string peer_identity{};  ///< kConnectRequest, kEstablished: the Carrier::peer_identity()
  /// kRejected: the TCP socket, open and non-blocking. Destroying the event closes the socket
  /// unless the application has moved it. Empty if TCP had not accepted the whole Request, or if
  /// there is a carrier. [MPA-91]
  UniqueFd socket{};
  std::vector<std::byte> read_ahead{};  ///< octets that arrived on `socket` after the Reply
};

/// The channel of connection manager events.
using CmChannel = Channel<CmEvent>;
/// Owns a CmChannel, which must outlive the listeners and queue pairs that use it.
using CmChannelHandle = std::unique_ptr<CmChannel>;

/// A listening port. The destructor stops listening; requests that are already on the channel, or
/// were polled from it, stay valid.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Returns the numeric address and the port on which it listens.
  virtual const Address& local() const = 0;
};

}  // namespace iwarp::net
