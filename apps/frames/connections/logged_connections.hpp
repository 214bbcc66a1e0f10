// SPDX-License-Identifier: Apache-2.0
// LoggedConnections: the connections of a log (rfc-notes/qlog.md) as Connections has those of a
// capture, numbered on with them, and what their ends did besides. Given events one by one by
// whoever reads the file. Memory is bounded: the connection that was started first goes when there
// are too many.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "frames/connections/connections.hpp"

namespace iwarp::apps::frames {

class LoggedConnections {
 public:
  /// Both outlive this.
  LoggedConnections(ConnectionListener& listener, Connections::Counts& counts);
  ~LoggedConnections();
  LoggedConnections(const LoggedConnections&) = delete;
  LoggedConnections& operator=(const LoggedConnections&) = delete;

  struct Ends {
    TcpEnd local;
    TcpEnd remote;
    bool opened_locally = true;
  };

  // Each: null, or why the event was left out. `group`: which connection of the file; its
  // `started` comes first.
  const char* started(std::string_view group, const Ends& ends, const PacketMark& mark);
  /// `offset`: of the first octet in the stream of that side. What lies between it and the octets
  /// before counts as missing.
  const char* octets(std::string_view group, bool outbound, std::uint64_t offset,
                     bytes::View octets, const PacketMark& mark);
  const char* closed(std::string_view group, bool outbound, bool reset, const PacketMark& mark);
  /// Nothing of it follows.
  const char* ended(std::string_view group, const PacketMark& mark);
  const char* local(std::string_view group, const verbs::LocalEvent& event, const PacketMark& mark);
  /// Of a queue pair of datagrams, which has neither beginning nor end.
  const char* datagram(bool outbound, const Ends& ends, bytes::View octets, const PacketMark& mark);
  /// The file has ended: all connections are closed, and groups mean others in the next.
  void finish();

  static constexpr std::size_t kMaxOpen = 512;
  static constexpr std::size_t kMaxGroup = 64;  ///< octets of a name
  static constexpr std::uint64_t kMaxMissing = std::uint64_t{1} << 40;

 private:
  struct Flow;

  Flow* find(std::string_view group);
  void close(Flow& flow, Closing otherwise);

  ConnectionListener& listener_;
  Connections::Counts& counts_;
  PacketMark last_;
  std::list<Flow> flows_;  ///< the newest first
};

}  // namespace iwarp::apps::frames
