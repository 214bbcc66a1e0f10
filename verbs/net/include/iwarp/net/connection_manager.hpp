// SPDX-License-Identifier: Apache-2.0
// Connection manager: listen, connect, accept, reject, with private data (RFC 5044 section 7.1,
// RFC 6581), in the manner of rdma_cm: everything that happens comes as an event on a channel.
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
#include "iwarp/net/carrier.hpp"
#include "iwarp/net/channel.hpp"
#include "iwarp/net/unique_fd.hpp"
#include "iwarp/verbs/connection.hpp"

namespace iwarp::net {

/// Makes the tap of a connection, or null. `outgoing`: we connect; the addresses are numeric.
using TapFactory = std::function<std::unique_ptr<verbs::WireTap>(
    const Address& local, const Address& peer, bool outgoing)>;

struct ConnectOptions {
  verbs::ConnectionOptions connection;
  /// At most 512 octets, 508 with revision 2. Some peers (kernel siw, cxgb4) close on more than
  /// 256, the 4 of revision 2 included; when that happens, the event kConnectFailed says so.
  std::vector<std::byte> private_data;
  /// Connect from there; numeric. Port 0: any. A BoundSocket of this program may have the port.
  std::optional<Address> local;
  std::chrono::milliseconds tcp_timeout = std::chrono::seconds(10);
  /// TCP's congestion control, as tcp(7) TCP_CONGESTION names it; empty: the system's. One that is
  /// not there, or not permitted, is kInvalidArgument. A socket that was adopted goes on pacing if
  /// the one before it did.
  std::string congestion;
  /// The peer closes or resets after an enhanced Request and says nothing: connect again with
  /// revision 1, without RTR and without the tag of RFC 7306. [EMPA-50]
  bool fall_back_to_revision_1 = true;
  /// Refused, or closed or reset before an octet of the Reply: connect again, after short pauses,
  /// for so long. For programs that open their listener, or one more, while their peer connects.
  /// Revision 1 is tried after that time only.
  std::chrono::milliseconds retry_refused_for = std::chrono::seconds(0);
  TapFactory tap;
  /// Null: bare TCP. Its own set-up counts to StartupOptions::timeout.
  std::shared_ptr<const CarrierFactory> carrier;
};

struct ListenOptions {
  verbs::ConnectionOptions connection;
  /// Requests to the port that the program has not taken from its channel; further ones are reset.
  int backlog = 1024;
  std::string congestion;  ///< as in ConnectOptions
  TapFactory tap;
  std::shared_ptr<const CarrierFactory> carrier;  ///< as in ConnectOptions
  /// Told, by any thread, of peers that do not get as far as to ask because carriers differ: theirs
  /// fails, or one end has one and the other not. Must not wait, nor call the Rnic.
  std::function<void(const Address& peer, const std::string& why)> refused;
};

/// A peer that asks to be connected. Destroyed undecided, it is rejected.
class ConnectRequest {
 public:
  virtual ~ConnectRequest() = default;
  virtual const Address& peer() const = 0;
  virtual const Address& local() const = 0;
  virtual const std::vector<std::byte>& private_data() const = 0;
  virtual const mpa::PeerOffer& offer() const = 0;
  /// As Carrier::peer_identity().
  virtual const std::string& peer_identity() const = 0;
  /// False: it has closed the connection, or ours is over.
  virtual bool peer_waits() const = 0;
  /// The program has recognized the peer, by its private data for example: once accepted, the
  /// set-up is not evicted while it waits for the peer's RTR. Call before accept().
  virtual void set_recognized() = 0;
  /// `ird` and `ord`: what this end wants; cut to the peer's offer. The QP becomes RTS; an
  /// kEstablished event follows. Post receives before: the peer may send at once.
  virtual std::error_code accept(verbs::QueuePair& qp, std::uint16_t ird = 16,
                                 std::uint16_t ord = 16,
                                 const std::vector<std::byte>& private_data = {}) = 0;
  /// Closes TCP as well.
  virtual std::error_code reject(const std::vector<std::byte>& private_data = {}) = 0;
  /// Leaves TCP open, and `socket`, which is non-blocking, to the program. [MPA-86] Errc::kBusy: it
  /// did not take the Reply at once, and is closed behind it. Errc::kInvalidArgument: a carrier is
  /// on it.
  virtual std::error_code reject_and_keep(UniqueFd& socket,
                                          const std::vector<std::byte>& private_data = {}) = 0;
  /// Resets the connection, as if nobody had listened: who connects may try again.
  virtual void drop() = 0;
};

struct CmEvent {
  enum class Type : std::uint8_t {
    kConnectRequest,  ///< `request`
    kEstablished,     ///< `qp` is in RTS; connecting side: `private_data` of the reply
    kRejected,        ///< the peer said no; `private_data`
    kConnectFailed,   ///< `error`, `why`
    kDisconnected,    ///< `qp` has left RTS
  };
  Type type = Type::kConnectFailed;
  verbs::QueuePair* qp = nullptr;
  /// Of `qp`: destroying that takes its events back, but not one that somebody holds already.
  verbs::QpNum qp_num = 0;
  std::unique_ptr<ConnectRequest> request;
  std::vector<std::byte> private_data;
  std::optional<mpa::PeerOffer> offer;
  Address local;  ///< numeric; port 0: TCP was not connected
  Address peer;   ///< numeric; port 0: it did not even come to an address
  std::error_code error;
  /// One sentence that names the peer. kConnectFailed, kRejected, kDisconnected.
  std::string why;
  std::optional<verbs::StreamEnd> end;  ///< kDisconnected
  std::string peer_identity;  ///< kConnectRequest, kEstablished: as Carrier::peer_identity()
  /// kRejected: the TCP connection, still open and non-blocking; closed with the event unless the
  /// program takes it. [MPA-91] None: TCP had not even taken the Request, or a carrier is on it.
  UniqueFd socket;
  std::vector<std::byte> read_ahead;  ///< what came on `socket` behind the Reply, in order
};

using CmChannel = Channel<CmEvent>;
using CmChannelHandle = std::unique_ptr<CmChannel>;

/// Stops listening when destroyed; requests already delivered stay valid.
class Listener {
 public:
  virtual ~Listener() = default;
  /// With the port that was really bound.
  virtual const Address& local() const = 0;
};

}  // namespace iwarp::net
