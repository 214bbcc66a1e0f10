// SPDX-License-Identifier: Apache-2.0
// Connections: finds the MPA connections among the packets of a capture, on any port, and tells a
// listener what passes on each. Packets go to their TCP connection, its streams to a StreamDecoder,
// its frames to a Session. What turns out not to be MPA is forgotten. Datagrams of this stack are
// told one by one. Memory is bounded: the
// connection that was silent for longest goes when there are too many.
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
  bool opening_seen = false;              ///< the SYN is in the capture
  std::array<bool, 2> seen{};             ///< octets of that side are
  std::array<bool, 2> startup_seen{};     ///< its startup frame is
  bool rejected = false;                  ///< by a Reply with R=1
  std::array<bool, 2> guessed{};          ///< its markers and CRCs were found out by looking
  std::array<std::uint64_t, 2> frames{};  ///< of that side, so far
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
  kSetAside,   ///< there were too many at a time
  kEndOfFile,  ///< it was open when the capture ended
};

struct Closed {
  Closing how = Closing::kEndOfFile;
  Side first = Side::kNear;  ///< kFin: which side ended its stream first
  std::array<TcpReassembly::Counts, 2> tcp;
  std::array<std::size_t, 2> unanswered{};  ///< Read and Atomic Requests of that side
};

/// A packet of UDP that has the form of one of this stack's, to the port that it names.
struct SeenDatagram {
  TcpEnd source;
  TcpEnd destination;
  verbs::Datagram datagram;
  bool has_right_crc = false;
  bytes::View octets;  ///< of the whole
};

class ConnectionListener {
 public:
  virtual ~ConnectionListener() = default;
  virtual void frame(const ConnectionInfo& connection, const Explained& explained,
                     const PacketMark& mark) = 0;
  virtual void skipped(const ConnectionInfo& connection, const Skipped& skipped) = 0;
  virtual void closed(const ConnectionInfo& connection, const Closed& closed,
                      const PacketMark& mark) = 0;
  /// What one end did, from its log; no capture has that.
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
  /// The capture has ended: what is held is given, and all connections are closed.
  void finish();

  struct Counts {
    std::array<std::uint64_t, 5> packets{};  ///< by PacketKind
    std::uint64_t connections = 0;           ///< of TCP
    std::uint64_t mpa = 0;                   ///< of them
    std::uint64_t set_aside = 0;             ///< of those, for want of room
    std::uint64_t records = 0;               ///< of logs, beside the packets
    std::uint64_t datagrams = 0;             ///< of this stack, among the packets without TCP
    std::uint64_t logged_datagrams = 0;      ///< of logs
  };
  const Counts& counts() const { return counts_; }
  /// For whoever finds more connections elsewhere.
  Counts& counts() { return counts_; }
  /// Octets that wait for others; at most kMaxHeld behind each packet.
  std::size_t held() const;

  static constexpr std::size_t kMaxConnections = 4096;
  static constexpr std::size_t kMaxMpa = 512;
  static constexpr std::size_t kMaxHeld = 24 * 1024 * 1024;
  /// Octets of a connection that are kept while one of its streams waits behind a hole, so that
  /// both are told in the order of the capture. With more the hole is given up.
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
