// SPDX-License-Identifier: Apache-2.0
// LoggedConnections: reports the connections of a log file (rfc-notes/qlog.md) and the actions of
// their ends. LoggedConnections reports to the same listener as Connections, which reads captures,
// and continues the connection numbers of Connections. QlogReader passes the events to it one by
// one. Memory is bounded: if there are too many connections, the one that was started first is
// closed.
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
  /// The listener and the counts must outlive this object.
  LoggedConnections(ConnectionListener& listener, Connections::Counts& counts);
  ~LoggedConnections();
  LoggedConnections(const LoggedConnections&) = delete;
  LoggedConnections& operator=(const LoggedConnections&) = delete;

  struct Ends {
    TcpEnd local;
    TcpEnd remote;
    bool opened_locally = true;
  };

  // Each of the following functions adds one event. It returns null, or the reason why the event
  // was ignored. `group` names the connection in the file; the first call for a group must be a
  // call of started().
  const char* started(std::string_view group, const Ends& ends, const PacketMark& mark);
  /// Adds octets of one stream. `offset` is the stream offset of the first of these octets. If the
  /// octets that were added earlier end before `offset`, the octets in between count as missing.
  const char* octets(std::string_view group, bool outbound, std::uint64_t offset,
                     bytes::View octets, const PacketMark& mark);
  const char* closed(std::string_view group, bool outbound, bool reset, const PacketMark& mark);
  /// Ends a connection: the log has no further events of it.
  const char* ended(std::string_view group, const PacketMark& mark);
  const char* local(std::string_view group, const verbs::LocalEvent& event, const PacketMark& mark);
  /// Adds a datagram of a UD queue pair. A datagram belongs to no connection and therefore to no
  /// group.
  const char* datagram(bool outbound, const Ends& ends, bytes::View octets, const PacketMark& mark);
  /// Ends the file and closes all connections. If the next file has groups with the same names as
  /// this file, these groups are other connections.
  void finish();

  static constexpr std::size_t kMaxOpen = 512;
  static constexpr std::size_t kMaxGroup = 64;  ///< maximum size of a group name, in bytes
  static constexpr std::uint64_t kMaxMissing = std::uint64_t{1} << 40;

 private:
  struct Flow;

  Flow* find(std::string_view group);
  void close(Flow& flow, Closing otherwise);

  ConnectionListener& listener_;
  Connections::Counts& counts_;
  PacketMark last_;
  std::list<Flow> flows_;  ///< open connections, the newest first
};

}  // namespace iwarp::apps::frames
