// SPDX-License-Identifier: Apache-2.0
// Connections: finds the MPA connections among the packets of a capture, on any port, and reports
// to a listener what each of them carries. Packets go to their TCP connection, its streams to a
// StreamDecoder, its frames to a Session. Connections that turn out not to be MPA are dropped.
// Datagrams of this stack are reported one by one. Memory is bounded: when there are too many
// connections, the one that was silent for longest is evicted.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "frames/connections/packet.hpp"
#include "frames/connections/tcp_reassembly.hpp"
#include "frames/session/session.hpp"
#include "iwarp/verbs/datagram.hpp"
#include "iwarp/verbs/local_event.hpp"

namespace iwarp::apps::frames {

struct ConnectionInfo {
  std::uint64_t number = 0;  ///< among the MPA connections of the capture, from 1
  TcpEnd near;               ///< opened the connection, or was seen first
  TcpEnd far;
  bool opening_seen = false;           ///< the SYN is in the capture
  std::array<bool, 2> seen{};          ///< the capture has octets of that side
  std::array<bool, 2> startup_seen{};  ///< the capture has that side's startup frame
  bool rejected = false;               ///< by a Reply with R=1
  std::array<bool, 2> guessed{};  ///< whether it uses markers and CRCs was guessed from its frames
  std::array<std::uint64_t, 2> frames{};  ///< frames of that side so far
};

/// Octets of one side in which no frame was found, in one piece.
struct Skipped {
  Side from = Side::kNear;
  std::uint64_t offset = 0;   ///< in the stream of that side, as far as it was captured
  std::uint64_t octets = 0;   ///< all of them
  std::uint64_t missing = 0;  ///< those that are not in the capture
  const char* why = "";
  PacketMark mark;
};

enum class Closing : std::uint8_t {
  kFin,
  kReset,
  kReplaced,   ///< the same ports were used for a new connection
  kSetAside,   ///< evicted: there were too many at a time
  kEndOfFile,  ///< it was open when the capture ended
};

struct Closed {
  Closing how = Closing::kEndOfFile;
  Side first = Side::kNear;  ///< kFin: which side ended its stream first
  std::array<TcpReassembly::Counts, 2> tcp;
  std::array<std::size_t, 2> unanswered{};  ///< Read and Atomic Requests of that side
};

/// A UDP packet in the form of this stack's datagrams, to the port that its QPN names.
struct SeenDatagram {
  TcpEnd source;
  TcpEnd destination;
  verbs::Datagram datagram;
  bool has_right_crc = false;
  bytes::View octets;  ///< the whole payload
};

class ConnectionListener {
 public:
  virtual ~ConnectionListener() = default;
  virtual void frame(const ConnectionInfo& connection, const Explained& explained,
                     const PacketMark& mark) = 0;
  virtual void skipped(const ConnectionInfo& connection, const Skipped& skipped) = 0;
  virtual void closed(const ConnectionInfo& connection, const Closed& closed,
                      const PacketMark& mark) = 0;
  /// An action of one end, from its log. Captures have none.
  virtual void local(const ConnectionInfo& connection, Side end, const verbs::LocalEvent& event,
                     const PacketMark& mark) {
    (void)connection, (void)end, (void)event, (void)mark;
  }
  virtual void datagram(const SeenDatagram& seen, const PacketMark& mark) {
    (void)seen, (void)mark;
  }
};

class Connections {
 public:
  explicit Connections(ConnectionListener& listener);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  void packet(int link_type, bytes::View packet, std::size_t wire_size, const PacketMark& mark);
  /// The capture has ended: delivers what is held, and closes all connections.
  void finish();

  struct Counts {
    std::array<std::uint64_t, 5> packets{};  ///< by PacketKind
    std::uint64_t connections = 0;           ///< of TCP
    std::uint64_t mpa = 0;                   ///< of them
    std::uint64_t set_aside = 0;             ///< of those, evicted
    std::uint64_t records = 0;               ///< of logs, in addition to the packets
    std::uint64_t datagrams = 0;             ///< of this stack, among the packets without TCP
    std::uint64_t logged_datagrams = 0;      ///< of logs
  };
  const Counts& counts() const { return counts_; }
  /// For LoggedConnections, which counts the connections of logs.
  Counts& counts() { return counts_; }
  /// Octets that wait for missing ones; at most kMaxHeld after each packet.
  std::size_t held() const;

  static constexpr std::size_t kMaxConnections = 4096;
  static constexpr std::size_t kMaxMpa = 512;
  static constexpr std::size_t kMaxHeld = 24 * 1024 * 1024;
  /// Octets of a connection that are kept while one of its streams waits behind a hole, so that
  /// both are reported in the order of the capture. If there are more, the hole is given up.
  static constexpr std::size_t kMaxKept = TcpReassembly::kMaxHeld;

 private:
  struct Flow;
  struct FlowSink;
  struct Table;

  void look_for_datagram(int link_type, bytes::View packet, std::size_t wire_size,
                         const PacketMark& mark);
  static bool begins_anew(const Flow& flow, const TcpSegment& segment);
  void begin(Flow& flow, const TcpSegment& segment);
  void give(Flow& flow, Side from, const TcpSegment& segment, const PacketMark& mark);
  void close(Flow& flow, Closing how, const PacketMark& mark);
  void on_frame(Flow& flow, const Frame& frame);
  void make_room(const Flow* keep);

  ConnectionListener& listener_;
  Counts counts_;
  PacketMark last_;
  std::unique_ptr<Table> table_;
};

}  // namespace iwarp::apps::frames
