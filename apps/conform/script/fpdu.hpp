// SPDX-License-Identifier: Apache-2.0
// Builds FPDUs and ULPDUs for the tester (RFC 5044 section 4, RFC 5041 section 4). FPDUs are valid
// by default; a Tamper makes them wrong in one place. The code does not use mpa::Framer, which may
// itself be under test.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/rdmap/message_header.hpp"

namespace iwarp::apps::conform {

using Octets = std::vector<std::byte>;

/// Deliberate errors to make in an FPDU.
struct Tamper {
  std::uint32_t crc_xor = 0;                  ///< bits to flip in the CRC field
  std::optional<std::uint16_t> ulpdu_length;  ///< value that replaces the true length
  std::uint8_t pad_fill = 0;                  ///< value of each PAD octet; the CRC covers it
  std::uint16_t fpduptr_xor = 0;  ///< bits to flip in FPDUPTR of the first marker in the FPDU
  /// Value of the reserved half of each marker in the FPDU; the CRC covers it.
  std::uint16_t marker_reserved = 0;
  /// Index of an octet whose bit 0 is flipped after the CRC has been computed.
  std::optional<std::size_t> flip_octet;
};

/// The state of MPA framing in one direction of a stream.
struct Framing {
  bool markers = false;
  bool crc = true;
  std::uint64_t position = 0;  ///< stream position of the next octet; includes markers
};

/// Returns the octets of one FPDU. Advances `framing.position` by their number.
Octets make_fpdu(bytes::View ulpdu, Framing& framing, const Tamper& tamper = {});

Octets make_ulpdu(const ddp::SegmentHeader& header, bytes::View payload);

/// Returns a valid untagged header for `opcode`, with L=1 and MO=0.
ddp::SegmentHeader untagged(rdmap::Opcode opcode, std::uint32_t msn, std::uint32_t inv_stag = 0);
ddp::SegmentHeader tagged(rdmap::Opcode opcode, std::uint32_t stag, std::uint64_t to);

Octets encode_read_request(const rdmap::ReadRequest& request);

/// Returns `n` octets of a test pattern. `seed` selects the pattern.
Octets pattern(std::size_t n, std::uint32_t seed = 1);

}  // namespace iwarp::apps::conform
