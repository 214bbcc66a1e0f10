// SPDX-License-Identifier: Apache-2.0
// SocketSet: an epoll(7) set of the sockets that feed one completion queue. It tells a polling
// thread which of many sockets are ready, and wakes a thread that sleeps on the set. WatchedSocket:
// one socket, the sets that contain it, and the events for which they wait.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "sockets/epoll_fd.hpp"

namespace iwarp::net {

class Driven;

/// The constructor throws std::system_error if no descriptor is available.
class SocketSet {
 public:
  /// Returns the descriptor, which is readable while any of the sockets is ready.
  int fd() const { return epoll_.get(); }

  struct Ready {
    Driven* driven = nullptr;
    bool readable = false;
    bool room = false;  ///< the socket has room to send
  };
  static constexpr std::size_t kMost = 32;
  /// Returns up to kMost sockets that are ready. Further ready sockets are returned by the next
  /// calls. Does not wait.
  std::span<const Ready> ready(std::array<Ready, kMost>& out) const;

  /// Call when the application gets a descriptor that is readable while a socket of this set is
  /// ready. From then on, note_taken() sets `*owed`: input that another thread has since read may
  /// have made the descriptor readable. If the application has seen that, it still expects an
  /// event. A null `owed` stops this.
  void expose_to(std::atomic<bool>* owed) { owed_.store(owed); }
  /// Call after reading input from a socket of the set, or after removing a socket from the set.
  void note_taken() const {
    if (auto* const owed = owed_.load()) owed->store(true);
  }

  // Only WatchedSocket calls the following functions.
  bool add(int socket, Driven& driven, bool room) const;
  void change(int socket, Driven& driven, bool room) const;
  void remove(int socket) const { epoll_.remove(socket); }

 private:
  EpollFd epoll_;
  std::atomic<std::atomic<bool>*> owed_{nullptr};
};

class WatchedSocket {
 public:
  WatchedSocket(int socket, Driven& driven) : driven_(driven), socket_(socket) {}
  WatchedSocket(const WatchedSocket&) = delete;
  WatchedSocket& operator=(const WatchedSocket&) = delete;

  /// Adds the socket to `set`. Returns false if the kernel refuses, memory runs out, or the socket
  /// is closed.
  bool join(std::shared_ptr<SocketSet> set) noexcept;
  void leave(const SocketSet* set);
  /// Sets the events for which the sets wait: input if `readable`, room to send if `room`. If not
  /// `readable`, removes the socket from all sets, because epoll(7) reports errors even for an
  /// empty event mask. Returns false if the kernel refuses to add the socket again.
  bool watch(bool readable, bool room) {
    return (readable == readable_ && room == room_) || change(readable, room);
  }
  void note_taken();
  /// Removes the socket from all sets. Call before it is closed.
  void close();

 private:
  bool change(bool readable, bool room);

  Driven& driven_;
  std::mutex mutex_;  ///< a leaf in the lock order: its holder takes no other lock
  int socket_;        ///< -1 after close()
  /// readable_ and room_ are the arguments of the last watch(); no other function changes them.
  bool readable_ = true;
  bool room_ = false;
  std::vector<std::shared_ptr<SocketSet>> sets_;
};

}  // namespace iwarp::net
