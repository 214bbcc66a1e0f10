// SPDX-License-Identifier: Apache-2.0
// LoggedConnections: the connections of a log (rfc-notes/qlog.md), reported as Connections reports
// those of a capture and numbered on from them, with the actions of their ends. The reader of the
// file passes the events one by one. Memory is bounded: when there are too many connections, the
// one that was started first is closed.
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
  /// Both must outlive this object.
  LoggedConnections(ConnectionListener& listener, Connections::Counts& counts);
  ~LoggedConnections();
  LoggedConnections(const LoggedConnections&) = delete;
  LoggedConnections& operator=(const LoggedConnections&) = delete;

  struct Ends {
    TcpEnd local;
    TcpEnd remote;
    bool opened_locally = true;
  };

  // Each returns null, or why the event was left out. `group`: names a connection of the file,
  // which begins with its `started`.
  const char* started(std::string_view group, const Ends& ends, const PacketMark& mark);
  /// `offset`: place of the first octet in the stream of that side. Octets between it and those
  /// before count as missing.
  const char* octets(std::string_view group, bool outbound, std::uint64_t offset,
                     bytes::View octets, const PacketMark& mark);
  const char* closed(std::string_view group, bool outbound, bool reset, const PacketMark& mark);
  /// The connection has no further events.
  const char* ended(std::string_view group, const PacketMark& mark);
  const char* local(std::string_view group, const verbs::LocalEvent& event, const PacketMark& mark);
  /// A datagram of a UD queue pair, which has neither beginning nor end.
  const char* datagram(bool outbound, const Ends& ends, bytes::View octets, const PacketMark& mark);
  /// The file has ended: closes all connections. A group of the next file is another connection.
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
