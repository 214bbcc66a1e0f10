// SPDX-License-Identifier: Apache-2.0
// The limits of this stack. A device reports and enforces the lower one of these limits and those
// of its profile (device/attributes.cpp). Unused objects and queue entries cost no memory.
#pragma once

#include <cstdint>

#include "iwarp/bytes/view.hpp"

namespace iwarp::rdma_core {

inline constexpr std::uint8_t kPortNumber = 1;  ///< the number of the only port
inline constexpr int kMaxQp = 1 << 20;
inline constexpr int kMaxWr = 1 << 20;  ///< capacity of a send, receive or shared receive queue
inline constexpr int kMaxSge = static_cast<int>(bytes::kMaxSge);
/// A Read may have as many SGEs as other requests, because each SGE becomes a Read Request of its
/// own.
inline constexpr int kMaxSgeRead = kMaxSge;
inline constexpr int kMaxInline = 4096;
inline constexpr int kMaxCq = 1 << 20;
inline constexpr int kMaxCqe = 1 << 22;
inline constexpr int kMaxMr = 1 << 20;  ///< maximum number of regions and windows together
inline constexpr int kMaxPd = 1 << 20;
inline constexpr int kMaxSrq = 1 << 20;
inline constexpr int kMaxReads = 128;  ///< maximum of both IRD and ORD
/// The maximum length of a message. The buffers of a receive may be larger.
inline constexpr std::uint32_t kMaxMessage = 1U << 31;
inline constexpr int kCompVectors = 1;
inline constexpr int kMaxAh = 32767;

}  // namespace iwarp::rdma_core
