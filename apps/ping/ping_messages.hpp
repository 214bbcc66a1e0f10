// SPDX-License-Identifier: Apache-2.0
// What both ends of ping share: the text that goes round and the bounds of its size.
// Compatible with rping of rdma-core: "rdma-ping-N: " and then the letters from 'A' to 'z' in turn,
// one further along with each ping, and a NUL at the end.
#pragma once

#include <cstdint>

#include "iwarp/bytes/view.hpp"

namespace iwarp::apps {

inline constexpr std::uint32_t kPingDefaultSize = 64;
inline constexpr std::uint32_t kPingMaxSize = 4 << 20;  ///< rping itself takes 26 to 65535

/// Fills `text` with ping number `number`; what does not fit is left out.
void fill_ping(bytes::Span text, std::uint32_t number);

}  // namespace iwarp::apps
