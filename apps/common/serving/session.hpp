// SPDX-License-Identifier: Apache-2.0
// Session: one queue pair with its protection domain, completion queue and channel. All waits have
// a time limit and end on SIGINT. The class is meant for programs with one thread per connection.
// All functions throw Error on failure, and PeerGone if the stream has ended for any reason.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "common/base/error.hpp"
#include "common/serving/client_slot.hpp"
#include "iwarp/net/rnic.hpp"

namespace iwarp::apps {

using namespace std::chrono_literals;
using Timeout = std::chrono::milliseconds;

struct SessionLimits {
  std::uint32_t send_depth = 64;
  std::uint32_t recv_depth = 32;
  std::uint32_t max_inline = 512;
};

class Session {
 public:
  explicit Session(net::Rnic& rnic, const SessionLimits& limits = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Connects, and waits until the connection is established. Throws Error "cannot connect to
  /// HOST:PORT: reason", or Interrupted.
  void connect(const net::Address& to, const net::ConnectOptions& options);
  /// Accepts a connection. Post receives before calling it. If `slot` is not null, the session
  /// records its progress there, and the server can end the connection through `slot`.
  void accept(net::ConnectRequest& request, ClientSlot* slot = nullptr);
  /// Closes the connection gracefully: sends everything that was posted, then a FIN, and waits at
  /// most `timeout` until the peer has closed its end too. Does not throw.
  void disconnect(Timeout timeout = 3s);
  /// Waits at most `timeout` until the peer has closed the stream. Does not throw.
  void await_close(Timeout timeout = 3s);

  net::Memory register_memory(std::span<std::byte> octets, verbs::Access access);
  net::Memory register_memory(std::span<const std::byte> octets, verbs::Access access);

  void post_send(const verbs::SendWr& wr);
  void post_recv(std::uint64_t wr_id, std::span<std::byte> buffer, verbs::Stag lkey);
  /// Sends a few bytes, which are copied during the call. wait() does not return the completion of
  /// this request.
  void send_inline(bytes::View octets);

  /// Returns the next successful completion. Throws PeerGone if a request failed or was flushed,
  /// Error if no request completes within `timeout`, or Interrupted on a stop signal.
  verbs::WorkCompletion wait(Timeout timeout);

  net::Rnic& rnic() { return rnic_; }
  verbs::QueuePair& qp() { return *qp_; }
  const verbs::QueuePair& qp() const { return *qp_; }

 private:
  static constexpr std::uint64_t kInlineSendId = ~std::uint64_t{0};

  std::optional<verbs::WorkCompletion> next();
  void sleep(Timeout timeout);

  net::Rnic& rnic_;
  std::unique_ptr<net::ProtectionDomain> pd_;
  std::unique_ptr<net::CompletionChannel> channel_;
  net::CmChannelHandle cm_;
  net::CqHandle cq_;
  net::QpHandle qp_;
  ClientSlot* slot_ = nullptr;
  std::optional<ClientSlot::Use> use_;  ///< registers qp_ with the client's slot
  std::array<verbs::WorkCompletion, 16> batch_;
  std::span<verbs::WorkCompletion> fresh_;
};

/// Connects `qp` and waits for the result on `events`. No other thread may read `events` during the
/// call. Throws Error "cannot connect to HOST:PORT: reason", or Interrupted on a stop signal.
void connect_qp(net::Rnic& rnic, verbs::QueuePair& qp, const net::Address& to,
                const net::ConnectOptions& options, net::CmChannel& events);
/// Returns why the stream of `qp` ended, as text for a message.
std::string end_reason(const verbs::QueuePair& qp);

/// A buffer in registered memory; the destructor deregisters it.
class Buffer {
 public:
  Buffer(Session& session, std::size_t size, verbs::Access access)
      : octets_(size), memory_(session.register_memory(std::span(octets_), access)) {}
  std::span<std::byte> octets() { return octets_; }
  verbs::Stag stag() const { return memory_.stag(); }
  std::uint64_t to() const { return memory_.to(octets_.data()); }
  bool registered() const { return memory_.valid(); }
  verbs::Sge sge(std::size_t length) {
    return {octets_.data(), static_cast<std::uint32_t>(length), stag()};
  }

 private:
  std::vector<std::byte> octets_;
  net::Memory memory_;
};

/// Opens the software RNIC. Throws Error if that fails.
std::unique_ptr<net::Rnic> open_rnic(const net::RnicOptions& options = {});

}  // namespace iwarp::apps
