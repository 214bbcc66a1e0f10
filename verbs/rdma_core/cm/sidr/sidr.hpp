// SPDX-License-Identifier: Apache-2.0
// Sidr: the UDP ports of ids of datagrams, the requests that they send until they are answered, and
// the answers that they have given, for requests that come again. It knows an id by its address
// alone, and asks the CM about it through Sidr::Calls. All under the mutex of the ids; what comes
// is taken by the dispatcher. Only a request to a listener of the program is answered, and no
// answer is larger than its question.
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

/// A port, of an id that listens or asks.
struct SidrEnd {
  using Clock = std::chrono::steady_clock;
  /// The peer of one exchange.
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
    unsigned left = 0;  ///< so many tries
  };
  struct Answer {
    Peer to;
    std::optional<SidrOctets> octets;  ///< none: the program has not said yet
  };
  /// What came and changed nothing.
  struct Dropped {
    std::uint64_t malformed = 0;  ///< or sent to a group
    std::uint64_t unasked = 0;    ///< replies
    std::uint64_t unheard = 0;    ///< requests to an id that does not listen
    std::uint64_t undecided = 0;  ///< repeated before the program has said
    std::uint64_t crowded = 0;    ///< behind a full backlog
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
  /// What an id can do with one more request.
  enum class Backlog : std::uint8_t { kHasRoom, kFull, kNotListening };
  /// What the CM has to say of ids, and what becomes of exchanges; called with the mutex locked.
  struct Calls {
    Backlog (*backlog)(const CmId& id);
    void (*requested)(CmId& listener, const SidrEnd::Peer& from, SidrMessage message);
    void (*answered)(CmId& asker, const SidrMessage& message);
    void (*unanswered)(CmId& asker);
  };
  /// `mutex`: that of the ids. Throws std::system_error when there is no descriptor to be had.
  Sidr(const Calls& calls, std::mutex& mutex);

  /// Readable when check() is due.
  int fd() const override { return epoll_.get(); }
  void check() override;

  // With the mutex locked.
  /// From now on `end` hears what comes.
  void add(std::shared_ptr<SidrEnd> end, CmId& owner);
  void remove(SidrEnd& end);
  void ask(SidrEnd& end, const SidrEnd::Peer& to, const SidrMessage& message);
  /// False: the request is not known any more.
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
  std::map<int, std::shared_ptr<SidrEnd>> ends_;  ///< by descriptor
};

}  // namespace iwarp::rdma_core
