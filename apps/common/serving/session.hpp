// SPDX-License-Identifier: Apache-2.0
// Session: one queue pair with what it needs (protection domain, completion queue, channel), and
// waiting that is bounded and ends on SIGINT. For programs with a thread per connection.
// All functions throw Error; the stream's end, however it came, is PeerGone.
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

  /// Connects and waits for the outcome. Error: "cannot connect to HOST:PORT: reason".
  /// Interrupted.
  void connect(const net::Address& to, const net::ConnectOptions& options);
  /// Post receives before. `slot`, if any, is told of progress, and may end the connection.
  void accept(net::ConnectRequest& request, ClientSlot* slot = nullptr);
  /// Orderly close: what was posted is sent, then FIN; waits until the peer has closed too, at most
  /// `timeout`. Does not throw.
  void disconnect(Timeout timeout = 3s);
  /// The peer closes: waits until the stream is over, at most `timeout`. Does not throw.
  void await_close(Timeout timeout = 3s);

  net::Memory register_memory(std::span<std::byte> octets, verbs::Access access);
  net::Memory register_memory(std::span<const std::byte> octets, verbs::Access access);

  void post_send(const verbs::SendWr& wr);
  void post_recv(std::uint64_t wr_id, std::span<std::byte> buffer, verbs::Stag lkey);
  /// A Send of a few octets, copied while posting. wait() keeps its completion to itself.
  void send_inline(bytes::View octets);

  /// The next completion that succeeded. PeerGone: a request failed or was flushed. Error: nothing
  /// came within `timeout`. Interrupted.
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
  std::optional<ClientSlot::Use> use_;  ///< of qp_
  std::array<verbs::WorkCompletion, 16> batch_;
  std::span<verbs::WorkCompletion> fresh_;
};

/// Connects `qp` and waits for the outcome on `events`, which nobody else reads meanwhile. Error:
/// "cannot connect to HOST:PORT: reason". Interrupted.
void connect_qp(net::Rnic& rnic, verbs::QueuePair& qp, const net::Address& to,
                const net::ConnectOptions& options, net::CmChannel& events);
/// Why the stream of `qp` is over, for people.
std::string end_reason(const verbs::QueuePair& qp);

/// Memory with its registration.
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

/// A device, or Error.
std::unique_ptr<net::Rnic> open_rnic(const net::RnicOptions& options = {});

}  // namespace iwarp::apps
