// SPDX-License-Identifier: Apache-2.0
// The wire format of datagrams (rfc-notes/datagrams.md). A UDP datagram contains the header of one
// untagged DDP segment with a Send, then the queue pair numbers and the Q_Key, then the payload and
// a CRC32c. Because there is no connection, each datagram has to carry the numbers and the Q_Key.
// The codec checks only the form; DatagramQueuePair checks the values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "iwarp/bytes/view.hpp"
#include "iwarp/verbs/datagram_types.hpp"

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
/// The header of a datagram, in host byte order.
struct DatagramHeader {
  QpNum destination = 0;  ///< destination QPN, 24 bits; kMulticastQp: every member of the group
  QpNum source = 0;       ///< source QPN, 24 bits
  std::uint32_t q_key = 0;
  /// A random number that distinguishes the source from earlier queue pairs with the same QPN. Each
  /// instance has its own series of MSNs.
  std::uint32_t instance = 0;
  std::uint32_t msn = 0;  ///< increases by 1 with each datagram of the source, modulo 2^32
  bool solicited = false;
  std::optional<std::uint32_t> immediate;
  bool operator==(const DatagramHeader&) const = default;
};

inline constexpr std::size_t kDatagramHeaderSize = 38;
inline constexpr std::size_t kDatagramCrcSize = 4;
/// Size of a datagram without its payload, in octets.
inline constexpr std::size_t kDatagramOverhead = kDatagramHeaderSize + kDatagramCrcSize;
inline constexpr std::size_t kMaxDatagram = kMaxDatagramPayload + kDatagramOverhead;

/// Returns the UDP port of queue pair `qp`: the lower 16 bits of its number.
constexpr std::uint16_t datagram_port(QpNum qp) { return static_cast<std::uint16_t>(qp & 0xFFFF); }

/// A decoded datagram.
struct Datagram {
  DatagramHeader header;
  bytes::View payload;  ///< a view into the decoded octets
};

/// An encoded header.
using DatagramHeaderOctets = std::array<std::byte, kDatagramHeaderSize>;

/// Encodes a header. Truncates QPNs to 24 bits.
DatagramHeaderOctets encode(const DatagramHeader& header);
/// Decodes a UDP payload; the result refers to `octets`. Returns nullopt if `octets` does not have
/// the form above, is shorter than kDatagramOverhead or is longer than kMaxDatagram. Does not check
/// the CRC.
std::optional<Datagram> decode_datagram(bytes::View octets);
/// Returns whether the last kDatagramCrcSize octets are the CRC of all octets before them. There
/// must be at least kDatagramCrcSize octets.
bool has_right_crc(bytes::View octets);
/// Describes a datagram on one line. Accepts any octets.
std::string describe_datagram(bytes::View octets);

}  // namespace iwarp::verbs
