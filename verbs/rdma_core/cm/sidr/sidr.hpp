// SPDX-License-Identifier: Apache-2.0
// Sidr: has the UDP ports of datagram ids. It retransmits each request until it is answered, and
// stores the answers that were sent, so that a repeated request gets the same answer. Sidr does not
// look into an id: it passes a pointer to the id back to the CM through Sidr::Calls. The mutex of
// the ids guards all of Sidr. The dispatcher receives the messages. Sidr answers only requests to
// an id that listens, and no answer is larger than its request, so that the port cannot be used to
// amplify an attack.
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

/// The UDP port of an id that listens or sends a request.
struct SidrEnd {
  using Clock = std::chrono::steady_clock;
  /// The peer of one exchange, and the number of the request.
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
    unsigned left = 0;  ///< number of transmissions that remain
  };
  struct Answer {
    Peer to;
    std::optional<SidrOctets> octets;  ///< nullopt: the program has not answered the request yet
  };
  /// Counts the messages that were dropped.
  struct Dropped {
    std::uint64_t malformed = 0;  ///< messages that were malformed or sent to a multicast group
    std::uint64_t unasked = 0;    ///< replies that match no request of this end
    std::uint64_t unheard = 0;    ///< requests to an id that does not listen
    std::uint64_t undecided = 0;  ///< requests repeated before the program has answered
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
  /// Functions of the CM that query an id and report the outcome of an exchange. Sidr calls them
  /// with the mutex locked.
  struct Calls {
    Backlog (*backlog)(const CmId& id);
    void (*requested)(CmId& listener, const SidrEnd::Peer& from, SidrMessage message);
    void (*answered)(CmId& asker, const SidrMessage& message);
    void (*unanswered)(CmId& asker);
  };
  /// `mutex` is the mutex of the ids. Throws std::system_error if no descriptor can be opened.
  Sidr(const Calls& calls, std::mutex& mutex);

  /// Returns a descriptor that is readable while check() has work to do.
  int fd() const override { return epoll_.get(); }
  void check() override;

  // Call the functions below with the mutex locked.
  /// Starts to receive messages for `end`. Throws std::system_error if it cannot.
  void add(std::shared_ptr<SidrEnd> end, CmId& owner);
  void remove(SidrEnd& end);
  void ask(SidrEnd& end, const SidrEnd::Peer& to, const SidrMessage& message);
  /// Sends and stores the answer to a request. Returns false if the request is no longer known.
  static bool answer(SidrEnd& end, const SidrEnd::Peer& to, const SidrMessage& message);

 private:
  void receive(SidrEnd& end);
  void came(SidrEnd& end, const SidrEnd::Peer& from, SidrMessage message);
  void request_came(SidrEnd& end, const SidrEnd::Peer& from, SidrMessage message);
  void look_at_clock();

  const Calls calls_;
  std::mutex& mutex_;
  net::UniqueFd epoll_;
  net::UniqueFd timer_;
  std::map<int, std::shared_ptr<SidrEnd>> ends_;  ///< ports by the descriptor of their socket
};

}  // namespace iwarp::rdma_core
