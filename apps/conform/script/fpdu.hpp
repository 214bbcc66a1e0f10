// SPDX-License-Identifier: Apache-2.0
// Builds FPDUs and ULPDUs for the tester (RFC 5044 section 4, RFC 5041 section 4). They are valid
// by default, and wrong in exactly one place on request. The code does not use mpa::Framer, which
// may itself be under test.
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
  std::uint32_t crc_xor = 0;                  ///< bits of the CRC field to flip
  std::optional<std::uint16_t> ulpdu_length;  ///< value that replaces the true length
  std::uint8_t pad_fill = 0;                  ///< value of the PAD octets; the CRC covers it
  std::uint16_t fpduptr_xor = 0;  ///< bits to flip in FPDUPTR of the FPDU's first marker
  /// Value of the reserved half of the FPDU's markers; the CRC covers it.
  std::uint16_t marker_reserved = 0;
  /// Octet of which bit 0 is flipped after the CRC was computed.
  std::optional<std::size_t> flip_octet;
};

/// The state of the framing in one direction.
struct Framing {
  bool markers = false;
  bool crc = true;
  std::uint64_t position = 0;  ///< stream position of the next octet, markers included
};

/// Returns the octets of one FPDU, and advances `framing.position` by them.
Octets make_fpdu(bytes::View ulpdu, Framing& framing, const Tamper& tamper = {});

Octets make_ulpdu(const ddp::SegmentHeader& header, bytes::View payload);

/// Returns a valid untagged header for `opcode`, with L=1 and MO=0.
ddp::SegmentHeader untagged(rdmap::Opcode opcode, std::uint32_t msn, std::uint32_t inv_stag = 0);
ddp::SegmentHeader tagged(rdmap::Opcode opcode, std::uint32_t stag, std::uint64_t to);

Octets encode_read_request(const rdmap::ReadRequest& request);

/// Returns `n` octets of a pattern that depends on `seed`.
Octets pattern(std::size_t n, std::uint32_t seed = 1);

}  // namespace iwarp::apps::conform
