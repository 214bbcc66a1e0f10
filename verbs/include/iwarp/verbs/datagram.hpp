// SPDX-License-Identifier: Apache-2.0
// Datagrams as they are in UDP: one untagged DDP segment with a Send, the addresses that a stream
// would have agreed on, and CRC32c (rfc-notes/datagrams.md). No sockets; what the fields mean for a
// queue pair is judged in datagram_queue_pair.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/bytes/view.hpp"
#include "iwarp/verbs/region.hpp"

namespace iwarp::verbs {

//  0                   1                   2                   3
//  |0|1| 0000  | 01|  01 | 00 | opcode |          0 (32) ...           |
//  |              ...              |          QN = 0 (32) ...          |
//  |              ...              |          MSN (32) ...             |
//  |              ...              |          MO = 0 (32) ...          |
//  |              ...              |    flags (8)  |  destination QPN ...
//  |      ... (24)                 |     0 (8)     |  source QPN (24)  |
//  |                Q_Key (32)                                         |
//  |                instance (32)                                      |
//  |                immediate data (32)                                |
//  |                payload ...                                        |
//  |                CRC32c (32)                                        |
struct DatagramHeader {
  QpNum destination = 0;
  QpNum source = 0;
  std::uint32_t q_key = 0;
  /// A number of the source queue pair that another of the same QPN will not have. MSNs count
  /// within it.
  std::uint32_t instance = 0;
  std::uint32_t msn = 0;
  bool solicited = false;
  std::optional<std::uint32_t> immediate;
  bool operator==(const DatagramHeader&) const = default;
};

inline constexpr std::size_t kDatagramHeaderSize = 38;
inline constexpr std::size_t kDatagramCrcSize = 4;
/// Octets around the payload.
inline constexpr std::size_t kDatagramOverhead = kDatagramHeaderSize + kDatagramCrcSize;
inline constexpr std::size_t kMaxDatagramPayload = 4096;
inline constexpr std::size_t kMaxDatagram = kMaxDatagramPayload + kDatagramOverhead;
/// Every member of a group is meant.
inline constexpr QpNum kMulticastQp = 0xFFFFFF;

/// Where a queue pair of that number is to be found: the lower half is its UDP port.
constexpr std::uint16_t datagram_port(QpNum qp) { return static_cast<std::uint16_t>(qp & 0xFFFF); }

struct Datagram {
  DatagramHeader header;
  bytes::View payload;  ///< within what was decoded
};

using DatagramHeaderOctets = std::array<std::byte, kDatagramHeaderSize>;

DatagramHeaderOctets encode(const DatagramHeader& header);
/// nullopt: not of this form, too short, or too long. The CRC is not looked at.
std::optional<Datagram> decode_datagram(bytes::View octets);
/// `octets` has at least kDatagramCrcSize.
bool has_right_crc(bytes::View octets);
/// In words, on one line; works on truncated octets, too.
std::string describe_datagram(bytes::View octets);

}  // namespace iwarp::verbs
