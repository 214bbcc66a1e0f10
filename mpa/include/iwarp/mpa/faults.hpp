// SPDX-License-Identifier: Apache-2.0
// The MPA rows of the Terminate Control table (RFC 5044 section 8, RFC 6581 section 8). [EMPA-14]
#pragma once

#include "iwarp/bytes/fault.hpp"

namespace iwarp::mpa {

using bytes::Fault;
using bytes::Layer;

inline constexpr Fault kTcpLost{Layer::kMpa, 0, 0x01, "TCP connection closed or lost"};
inline constexpr Fault kStartupTimeout{Layer::kMpa, 0, 0x01, "MPA startup timed out"};
inline constexpr Fault kCrcMismatch{Layer::kMpa, 0, 0x02, "CRC32c of the FPDU is wrong"};
inline constexpr Fault kMarkerMismatch{Layer::kMpa, 0, 0x03, "marker and ULPDU_Length disagree"};
inline constexpr Fault kBadStartupFrame{Layer::kMpa, 0, 0x04, "invalid MPA Request or Reply frame"};
inline constexpr Fault kTlsSpoken{
    Layer::kMpa, 0, 0x04,
    "the peer uses TLS and this end does not (use TLS at both ends or at neither)"};
inline constexpr Fault kLocalCatastrophic{Layer::kMpa, 0, 0x05, "local catastrophic error"};
inline constexpr Fault kInsufficientIrd{Layer::kMpa, 0, 0x06, "insufficient IRD resources"};
inline constexpr Fault kNoMatchingRtr{Layer::kMpa, 0, 0x07, "no matching RTR option"};

}  // namespace iwarp::mpa
