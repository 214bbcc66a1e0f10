// SPDX-License-Identifier: Apache-2.0
// Connection manager: the parts that initiators and responders share. They turn the events of a
// connection into events for the application, and describe failures.
#pragma once

#include <memory>
#include <string_view>
#include <system_error>

#include "driver/driven_connection.hpp"
#include "iwarp/net/channel_port.hpp"
#include "iwarp/net/connection_manager.hpp"
#include "setup/setups.hpp"

namespace iwarp::net {

/// The interface through which the connection manager calls the device. The device records which
/// queue pairs are free to be connected.
class Claims {
 public:
  /// Reserves the queue pair for a connection or for an attempt to connect. Fails with
  /// Errc::kWrongState if the queue pair is reserved already, or with Errc::kInvalidArgument if the
  /// device does not know it.
  virtual std::error_code claim(verbs::QueuePair& qp, CmChannel& channel) = 0;
  /// Frees the queue pair for a new connection.
  virtual void release(const verbs::QueuePair& qp) = 0;
  /// Attaches the connection to the queue pair and to the feeds of its completion queues. Returns
  /// false if the queue pair is not, or is no longer, reserved.
  virtual bool attach(verbs::QueuePair& qp,
                      const std::shared_ptr<DrivenConnection>& connection) = 0;

 protected:
  ~Claims() = default;
};

/// Returns the event that says why the stream of an established connection ended.
CmEvent disconnected(const DrivenConnection& connection, const verbs::StreamEnd& end);

/// What the clients of both ends have in common.
class CmClient : public ConnectionClient {
 protected:
  CmClient(Claims& claims, CmChannel& channel) : claims_(claims), channel_(channel) {}

  Claims& claims_;
  CmChannel& channel_;
  bool established_ = false;  ///< whether kEstablished has been reported
  /// Holds the event for the end of the connection until that event is reported; then empty.
  MadeEvent<CmEvent> end_ = MadeEvent<CmEvent>(1);
};

/// The client of a connection that this end opens. After a failure, the client calls `retry`, if
/// set. If `retry` returns true, the Connector connects again, and the failure is not reported.
/// `private_octets` is the size of the private data in the Request, which some peers limit.
class InitiatorClient final : public CmClient {
 public:
  using Retry = std::function<bool(const mpa::Failure&)>;
  InitiatorClient(Claims& claims, CmChannel& channel, Retry retry, std::size_t private_octets)
      : CmClient(claims, channel), retry_(std::move(retry)), private_octets_(private_octets) {}
  void happened(DrivenConnection& connection, const verbs::Connection& core,
                const verbs::ConnectionEvent& event) override;

 private:
  CmEvent describe_end(DrivenConnection& connection, const verbs::Connection& core,
                       const verbs::ConnectionEvent& event) const;

  Retry retry_;
  const std::size_t private_octets_;
};

/// The client of a connection that a peer opens. Puts the peer's request on `channel`, or resets
/// the set-up if `backlog` requests to the same port are already on the channel. The set-up is
/// pending until it is established.
class ResponderClient final : public CmClient {
 public:
  using Failed = decltype(ListenOptions::setup_failed);
  ResponderClient(Claims& claims, CmChannel& channel, std::size_t backlog, Failed failed,
                  Setups::Mark pending)
      : CmClient(claims, channel),
        backlog_(backlog),
        failed_(std::move(failed)),
        pending_(std::move(pending)) {}
  void happened(DrivenConnection& connection, const verbs::Connection& core,
                const verbs::ConnectionEvent& event) override;
  void setup_failed(const DrivenConnection& connection, SetupFailure reason,
                    std::string_view why) noexcept override;
  void awaits_rtr() override { pending_.accepted(); }

 private:
  void request(DrivenConnection& connection, const mpa::Startup& startup);
  bool has_room(std::uint16_t port);

  const std::size_t backlog_;
  const Failed failed_;
  Setups::Mark pending_;
};

CmEvent startup_failed(const DrivenConnection& connection, const mpa::Failure& failure);
/// Returns the event kConnectFailed for a system error while connecting.
CmEvent connect_failed(std::string_view what, const std::error_code& error);

}  // namespace iwarp::net
