// SPDX-License-Identifier: Apache-2.0
// A peer that implements no protocol: a blocking TCP socket that sends whatever octets a test
// chooses.
#pragma once

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <vector>

#include "iwarp/mpa/startup_frame.hpp"
#include "iwarp/net/unique_fd.hpp"
#include "sockets/sockets.hpp"

namespace iwarp::net {

inline SocketAddress loopback(std::uint16_t port) {
  SocketAddress out;
  auto* in = reinterpret_cast<sockaddr_in*>(&out.storage);
  in->sin_family = AF_INET;
  in->sin_port = htons(port);
  in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  out.length = sizeof(sockaddr_in);
  return out;
}

class RawPeer {
 public:
  explicit RawPeer(UniqueFd socket) : socket_(std::move(socket)) { REQUIRE(socket_); }
  static RawPeer connect(std::uint16_t port) {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto address = loopback(port);
    REQUIRE_EQ(::connect(socket.get(), address.get(), address.length), 0);
    return RawPeer(std::move(socket));
  }
  /// Connects and sends a Request.
  static RawPeer ask(std::uint16_t port,
                     const mpa::StartupFrame& request = {.kind = mpa::FrameKind::kRequest}) {
    auto peer = connect(port);
    peer.send_startup(request);
    return peer;
  }

  void send(const std::vector<std::byte>& octets) {
    REQUIRE_EQ(::send(socket_.get(), octets.data(), octets.size(), MSG_NOSIGNAL),
               static_cast<ssize_t>(octets.size()));
  }
  /// Sends a Request or a Reply.
  void send_startup(const mpa::StartupFrame& frame) {
    std::vector<std::byte> out(mpa::startup_frame_size(frame.private_data.size()));
    bytes::Writer writer{out};
    mpa::encode(frame, writer);
    send(out);
  }
  std::vector<std::byte> receive(std::size_t size) {
    std::vector<std::byte> out(size);
    REQUIRE_EQ(::recv(socket_.get(), out.data(), size, MSG_WAITALL), static_cast<ssize_t>(size));
    return out;
  }
  /// Reads until the other side closes or resets the connection. Returns whether it was a reset.
  bool wait_for_end() {
    std::byte drop[512];
    ssize_t n = 0;
    do {
      n = ::recv(socket_.get(), drop, sizeof drop, 0);
    } while (n > 0);
    return n < 0 && errno == ECONNRESET;
  }
  /// Receives a Request with its private data.
  std::vector<std::byte> receive_request() {
    auto out = receive(mpa::kStartupHeaderSize);
    const auto size = bytes::load_be<std::uint16_t>(out.data() + 18);
    if (size == 0) return out;  // A receive of 0 bytes would wait for data.
    const auto rest = receive(size);
    out.insert(out.end(), rest.begin(), rest.end());
    return out;
  }
  /// Returns whether the other side has closed or reset the connection and all its octets have been
  /// read. Does not block.
  bool has_ended() const {
    std::byte octet{};
    const auto n = ::recv(socket_.get(), &octet, 1, MSG_DONTWAIT | MSG_PEEK);
    return n == 0 || (n < 0 && errno != EAGAIN);
  }
  Address own_address() const { return local_address(socket_.get()); }
  Address address() const { return peer_address(socket_.get()); }
  void reset() {
    reset_on_close(socket_.get());
    socket_.reset();
  }
  void close() { socket_.reset(); }
  UniqueFd release() { return std::move(socket_); }

 private:
  UniqueFd socket_;
};

class RawListener {
 public:
  RawListener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto address = loopback(0);
    REQUIRE_EQ(::bind(socket_.get(), address.get(), address.length), 0);
    REQUIRE_EQ(::listen(socket_.get(), 8), 0);
  }
  Address address() const { return local_address(socket_.get()); }
  RawPeer accept() { return RawPeer(UniqueFd(::accept(socket_.get(), nullptr, nullptr))); }
  /// Accepts a connection and its Request, with a Reply of revision 1.
  RawPeer answer() {
    auto peer = accept();
    peer.receive_request();
    peer.send_startup({.kind = mpa::FrameKind::kReply});
    return peer;
  }

 private:
  UniqueFd socket_;
};

}  // namespace iwarp::net
