// SPDX-License-Identifier: Apache-2.0
// Reads IRD and ORD from the private data of SMB Direct ([MS-SMBD] 6.1). Adapters without the
// enhanced setup of RFC 6581 negotiate IRD and ORD in this way. No field identifies such private
// data, so other private data may happen to have the same form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "iwarp/mpa/startup_frame.hpp"

namespace iwarp::trace {

//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// |                             IRD                               |
// |                             ORD                               |
struct SmbDirectDepths {
  std::uint32_t ird = 0;  ///< number of RDMA Reads that the sender can answer at a time
  std::uint32_t ord = 0;  ///< number of RDMA Reads that the sender may request at a time
  /// Deviation: some peers write the fields in little-endian order, although [MS-SMBD] requires
  /// network byte order.
  bool little_endian = false;
};
inline constexpr std::size_t kSmbDirectDepthsSize = 8;

/// Returns IRD and ORD if the private data of `frame` has the form of SMB Direct: no enhanced word,
/// 8 octets, and two numbers that RFC 6581 can express and that are not both 0.
std::optional<SmbDirectDepths> smb_direct_depths(const mpa::StartupFrame& frame);

/// Returns text such as "IRD 16, ORD 0 in the encoding of SMB Direct".
std::string describe(const SmbDirectDepths& depths);

}  // namespace iwarp::trace
