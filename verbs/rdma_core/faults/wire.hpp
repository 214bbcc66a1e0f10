// SPDX-License-Identifier: Apache-2.0
// Wire: replaces the system calls with which the driver sends and receives. It counts the octets
// that connections send, resets a connection after an exact number of octets, loses and delays
// datagrams, and lets no data pass while the port of a device is down. Connections are numbered in
// the order in which they send or receive their first octet.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace iwarp::rdma_core {
class Device;
}

namespace iwarp::rdma_core::fault {

class Injector;

class Wire {
 public:
  explicit Wire(Injector& injector) : injector_(injector) {}
  /// Restores the system calls. Runs only if the Core could not be made, like ~Clock().
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  /// Redirects to this object all system calls that the process makes for connections and
  /// datagrams.
  void attach();
  /// Resets the connection with this ordinal, or all connections if `connection` is 0, but only if
  /// they belong to `device`, unless `device` is empty.
  void reset(std::uint32_t connection, std::string_view device);
  /// Returns since when the port of the socket's device has been down, or nullopt if it is up. A
  /// socket that belongs to no device is cut while all ports are down.
  std::optional<std::chrono::nanoseconds> cut_since(int fd);
  bool is_cut(int fd) { return cut_since(fd).has_value(); }

 private:
  struct Connection {
    std::uint32_t ordinal;
    /// Identifies the socket, whose descriptor may be reused for another socket.
    std::uint64_t cookie;
  };
  static int connect(int fd, const sockaddr* address, socklen_t length);
  static int accept(int fd, sockaddr* address, socklen_t* length, int flags);
  static ssize_t send(int fd, const msghdr* message, int flags);
  static ssize_t receive(int fd, msghdr* message, int flags);
  static int send_datagrams(int fd, mmsghdr* messages, unsigned count, int flags);
  static int receive_datagrams(int fd, mmsghdr* messages, unsigned count, int flags);
  static void carries(int fd, std::uint32_t qp_num);
  static std::chrono::milliseconds silent_for(int fd);
  void forget(int fd);
  std::uint32_t ordinal(int fd);
  const Device* device_of(int fd);
  ssize_t send_some(int fd, const msghdr& message, int flags);

  Injector& injector_;
  std::mutex mutex_;  ///< no other lock is taken while this mutex is locked
  std::unordered_map<int, Connection> connections_;
  std::unordered_map<int, std::uint32_t> qps_;  ///< the queue pairs of sockets that have one
  std::uint32_t begun_ = 0;
};

}  // namespace iwarp::rdma_core::fault
