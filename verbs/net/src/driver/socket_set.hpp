// SPDX-License-Identifier: Apache-2.0
// SocketSet: the sockets of what feeds one completion queue, as an epoll(7) set. Who
// polls learns from it which of many sockets have something; who sleeps on it is woken by them.
// WatchedSocket: the sets that one socket is in, and what they wait for.
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

/// Throws std::system_error when there is no descriptor to be had.
class SocketSet {
 public:
  /// Readable while any of the sockets is ready.
  int fd() const { return epoll_.get(); }

  struct Ready {
    Driven* driven = nullptr;
    bool readable = false;
    bool room = false;  ///< the socket takes more
  };
  static constexpr std::size_t kMost = 32;
  /// Some of the sockets that are ready now, in turn; does not wait.
  std::span<const Ready> ready(std::array<Ready, kMost>& out) const;

  /// The program has a descriptor that is readable while a socket here is ready. `owed` becomes
  /// true when it may have seen that, and what it saw is gone. Null: no more.
  void expose_to(std::atomic<bool>* owed) { owed_.store(owed); }
  /// Something was taken from a socket, or a socket was taken out.
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

  /// False: the kernel does not take it; or it is closed.
  bool join(std::shared_ptr<SocketSet> set);
  void leave(const SocketSet* set);
  /// `readable`: whether octets are wanted; if not, it is in no set, for the kernel tells of errors
  /// unasked. `room`: whether room to write is waited for.
  /// False: the kernel does not take it again.
  bool watch(bool readable, bool room) {
    return (readable == readable_ && room == room_) || change(readable, room);
  }
  void note_taken();
  /// Before the socket is closed.
  void close();

 private:
  bool change(bool readable, bool room);

  Driven& driven_;
  std::mutex mutex_;      ///< the last
  int socket_;            ///< -1: closed
  bool readable_ = true;  ///< as room_, changed by watch() alone
  bool room_ = false;
  std::vector<std::shared_ptr<SocketSet>> sets_;
};

}  // namespace iwarp::net
