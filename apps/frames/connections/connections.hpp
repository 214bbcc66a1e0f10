// SPDX-License-Identifier: Apache-2.0
// Connections: finds the MPA connections among the packets of a capture, on any port, and reports
// their frames to a listener. It sorts the packets by TCP connection and passes the octets of each
// stream to a StreamDecoder. It passes the frames that the decoder finds to a Session. It drops
// connections that turn out not to carry MPA, and reports each datagram of this stack separately.
// Its memory is bounded: if there are too many connections, it evicts the one that has been silent
// for longest.
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
  std::uint64_t number = 0;  ///< number of this MPA connection in the capture, counted from 1
  TcpEnd near;  ///< end that opened the connection, or sender of the first captured packet
  TcpEnd far;
  bool opening_seen = false;           ///< whether the capture contains the SYN
  std::array<bool, 2> seen{};          ///< by side: whether the capture has octets from that side
  std::array<bool, 2> startup_seen{};  ///< by side: whether its startup frame was captured
  bool rejected = false;               ///< whether a Reply with R=1 rejected the connection
  /// By side: true if the capture lacks the startup frames. The decoder then guesses whether that
  /// side's frames have markers and CRCs.
  std::array<bool, 2> guessed{};
  std::array<std::uint64_t, 2> frames{};  ///< by side: number of frames so far
};

/// A contiguous range of octets from one side in which the decoder found no frame.
struct Skipped {
  Side from = Side::kNear;
  /// Offset of the range in the stream, counted from the first captured octet of that side.
  std::uint64_t offset = 0;
  std::uint64_t octets = 0;   ///< size of the range, including `missing`
  std::uint64_t missing = 0;  ///< number of octets in the range that are not in the capture
  const char* why = "";
  PacketMark mark;
};

enum class Closing : std::uint8_t {
  kFin,
  kReset,
  kReplaced,   ///< closed because a new connection uses the same ports
  kSetAside,   ///< evicted because the limit of connections or of octets was exceeded
  kEndOfFile,  ///< still open when the capture ended
};

struct Closed {
  Closing how = Closing::kEndOfFile;
  Side first = Side::kNear;  ///< for kFin: the side that ended its stream first
  std::array<TcpReassembly::Counts, 2> tcp;
  /// By side: number of Read Requests and Atomic Requests of that side that got no response.
  std::array<std::size_t, 2> unanswered{};
};

/// A UDP datagram in the format of this stack. It was sent to the port that belongs to its
/// destination QPN.
struct SeenDatagram {
  TcpEnd source;
  TcpEnd destination;
  verbs::Datagram datagram;
  bool has_right_crc = false;
  bytes::View octets;  ///< the whole UDP payload
};

class ConnectionListener {
 public:
  virtual ~ConnectionListener() = default;
  virtual void frame(const ConnectionInfo& connection, const Explained& explained,
                     const PacketMark& mark) = 0;
  virtual void skipped(const ConnectionInfo& connection, const Skipped& skipped) = 0;
  virtual void closed(const ConnectionInfo& connection, const Closed& closed,
                      const PacketMark& mark) = 0;
  /// Reports an action of one end, from the log of that end. Captures contain no such actions.
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
  /// Ends the capture: delivers the octets that are still held, and then closes all connections.
  void finish();

  struct Counts {
    std::array<std::uint64_t, 5> packets{};  ///< number of packets, by PacketKind
    std::uint64_t connections = 0;           ///< TCP connections
    std::uint64_t mpa = 0;                   ///< number of connections that carry MPA
    /// Number of connections that carry octets, but no MPA: those that begin as TLS does, and all
    /// others.
    std::uint64_t tls = 0;
    std::uint64_t plain = 0;
    std::uint64_t roce = 0;       ///< number of packets of RoCE v2 among those that are not TCP
    std::uint64_t set_aside = 0;  ///< number of MPA connections that were evicted while open
    std::uint64_t records = 0;    ///< number of records in log files; not part of `packets`
    /// Number of datagrams of this stack among the packets that are not TCP.
    std::uint64_t datagrams = 0;
    std::uint64_t logged_datagrams = 0;  ///< number of datagrams of this stack in log files
  };
  const Counts& counts() const { return counts_; }
  /// Returns the counts, to which LoggedConnections adds the connections of log files.
  Counts& counts() { return counts_; }
  /// Returns the number of octets that wait for missing octets. It is at most kMaxHeld after each
  /// call of packet().
  std::size_t held() const;

  static constexpr std::size_t kMaxConnections = 4096;
  static constexpr std::size_t kMaxMpa = 512;
  static constexpr std::size_t kMaxHeld = 24 * 1024 * 1024;
  /// Maximum size of the parts that one connection keeps while one of its streams waits for the
  /// octets of a hole. When this size is exceeded, the octets of the hole count as missing, and
  /// both streams continue.
  static constexpr std::size_t kMaxKept = TcpReassembly::kMaxHeld;

 private:
  struct Flow;
  struct FlowSink;
  struct Table;

  void look_at_udp(int link_type, bytes::View packet, std::size_t wire_size,
                   const PacketMark& mark);
  /// Counts the connection as one without MPA when the first octets of a side are captured.
  void look_at_first_octets(Flow& flow, Side from, const TcpSegment& segment);
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
