// SPDX-License-Identifier: Apache-2.0
// The text that both ends of `iwarp ping` exchange, and its default and maximum size. The text has
// the format of rdma-core's rping: "rdma-ping-N: ", then the letters from 'A' to 'z' repeatedly,
// and a NUL at the end. With each ping the letters start one letter later.
#pragma once

#include <cstdint>

#include "iwarp/bytes/view.hpp"

namespace iwarp::apps {

inline constexpr std::uint32_t kPingDefaultSize = 64;
/// Maximum size of the text in bytes; rping accepts 26 to 65535.
inline constexpr std::uint32_t kPingMaxSize = 4 << 20;

/// Fills `text` with the text of ping `number`, truncated to the size of `text`.
void fill_ping(bytes::Span text, std::uint32_t number);

}  // namespace iwarp::apps
