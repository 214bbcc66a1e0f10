// SPDX-License-Identifier: Apache-2.0
// SocketSet: the sockets that feed one completion queue, as an epoll(7) set. A polling thread
// learns from it which of many sockets are ready; a thread that sleeps on it is woken by them.
// WatchedSocket: the sets that contain one socket, and what they wait for.
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

/// Throws std::system_error if no descriptor is available.
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
  /// Returns up to kMost of the sockets that are ready, in rotation. Does not wait.
  std::span<const Ready> ready(std::array<Ready, kMost>& out) const;

  /// The application has a descriptor that is readable while a socket of this set is ready. Sets
  /// `owed` when the application may have seen it readable and the input has been taken since. Null
  /// ends that.
  void expose_to(std::atomic<bool>* owed) { owed_.store(owed); }
  /// Input was taken from a socket, or a socket was removed from the set.
  void note_taken() const {
    if (auto* const owed = owed_.load()) owed->store(true);
  }

  // For WatchedSocket.
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

  /// Adds the socket to `set`. Returns false if the kernel refuses or the socket is closed.
  bool join(std::shared_ptr<SocketSet> set);
  void leave(const SocketSet* set);
  /// Sets what the sets wait for. `readable`: input; without it the socket is in no set, because
  /// the kernel would report errors unasked. `room`: room to send. Returns false if the kernel
  /// refuses to add the socket again.
  bool watch(bool readable, bool room) {
    return (readable == readable_ && room == room_) || change(readable, room);
  }
  void note_taken();
  /// Removes the socket from all sets. Call before it is closed.
  void close();

 private:
  bool change(bool readable, bool room);

  Driven& driven_;
  std::mutex mutex_;      ///< last in the lock order
  int socket_;            ///< -1: closed
  bool readable_ = true;  ///< like room_, changed only by watch()
  bool room_ = false;
  std::vector<std::shared_ptr<SocketSet>> sets_;
};

}  // namespace iwarp::net
