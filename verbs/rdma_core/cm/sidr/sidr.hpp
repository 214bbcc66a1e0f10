// SPDX-License-Identifier: Apache-2.0
// Sidr (service id resolution): sends and receives the requests and answers of datagram ids on
// their UDP ports. It retransmits each request until an answer arrives. It stores the answers that
// it has sent, so that a repeated request gets the same answer. Sidr does not access the members of
// an id; it only passes a pointer to the id to the functions of the CM in Sidr::Calls. Cm::mutex
// guards all of Sidr. The dispatcher thread receives the messages. Sidr answers only requests for
// an id that listens, and an answer is never larger than its request, so that an attacker cannot
// use the port for amplification.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "cm/sidr/message.hpp"
#include "iwarp/net/datagram_socket.hpp"
#include "process/service.hpp"

namespace iwarp::rdma_core {

struct CmId;

/// The UDP port of a datagram id that listens or sends a request.
struct SidrEnd {
  using Clock = std::chrono::steady_clock;
  /// Identifies one request by the peer that sends or answers it and by the request's number.
  struct Peer {
    verbs::DatagramPath path;
    std::uint16_t port = 0;
    std::uint32_t request = 0;
    bool is(const Peer& o) const {
      return path.peer == o.path.peer && port == o.port && request == o.request;
    }
  };
  struct Asking {
    Peer to;
    SidrOctets octets;
    Clock::time_point due;
    Clock::duration wait;
    unsigned left = 0;  ///< number of times that the request may still be sent
  };
  struct Answer {
    Peer to;
    std::optional<SidrOctets> octets;  ///< nullopt while the program has not answered the request
  };
  struct Dropped {
    /// Messages that were malformed, or that were sent to a multicast group.
    std::uint64_t malformed = 0;
    std::uint64_t unasked = 0;    ///< replies that match no outstanding request
    std::uint64_t unheard = 0;    ///< requests to an id that does not listen
    std::uint64_t undecided = 0;  ///< repeated requests that the program had not answered yet
    std::uint64_t crowded = 0;    ///< requests that arrived while the backlog was full
  };
  static constexpr std::size_t kMaxAnswers = 1024;

  explicit SidrEnd(net::DatagramSocket its_socket) : socket(std::move(its_socket)) {}
  void send(const SidrOctets& octets, const Peer& to) const;
  void log_dropped() const;

  net::DatagramSocket socket;
  CmId* owner = nullptr;
  std::optional<Asking> asking;
  std::deque<Answer> answers;
  Dropped dropped;
};

class Sidr final : public Service {
 public:
  /// Says whether an id can accept one more request.
  enum class Backlog : std::uint8_t { kHasRoom, kFull, kNotListening };
  /// Functions of the CM. They query an id, or report a request, an answer or a timeout to it. Sidr
  /// calls them with the mutex locked.
  struct Calls {
    Backlog (*backlog)(const CmId& id);
    void (*requested)(CmId& listener, const SidrEnd::Peer& from, SidrMessage message);
    void (*answered)(CmId& asker, const SidrMessage& message);
    void (*unanswered)(CmId& asker);
  };
  /// `mutex` must be Cm::mutex. Throws std::system_error if no file descriptor can be opened.
  Sidr(const Calls& calls, std::mutex& mutex);

  /// Returns a descriptor that is readable while check() has work to do.
  int fd() const override { return epoll_.get(); }
  void check() override;
  TimePoint finish_turn() override;

  // Call the functions below with the mutex locked.
  /// Starts to receive messages for `end`. Throws std::system_error if that fails.
  void add(std::shared_ptr<SidrEnd> end, CmId& owner);
  void remove(SidrEnd& end);
  /// Sets the request that `end` sends. The caller must call Core::recheck() afterwards, so that
  /// the dispatcher sends it.
  static void ask(SidrEnd& end, const SidrEnd::Peer& to, const SidrMessage& message);
  /// Sends and stores the answer to a request. Returns false if `end` has forgotten the request.
  static bool answer(SidrEnd& end, const SidrEnd::Peer& to, const SidrMessage& message);

 private:
  void receive(SidrEnd& end);
  void received(SidrEnd& end, const SidrEnd::Peer& from, SidrMessage message);
  void request_received(SidrEnd& end, const SidrEnd::Peer& from, SidrMessage message);

  const Calls calls_;
  std::mutex& mutex_;
  net::UniqueFd epoll_;
  /// The ports, by the file descriptor of their socket.
  std::map<int, std::shared_ptr<SidrEnd>> ends_;
};

}  // namespace iwarp::rdma_core
