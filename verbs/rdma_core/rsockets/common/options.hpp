// SPDX-License-Identifier: Apache-2.0
// The options that rsetsockopt() and rfcntl() have set on an rsocket.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>

namespace iwarp::rdma_core::rsockets {

/// The sizes of an rsocket: its rings and inline data in bytes, and its queues in requests.
struct Sizes {
  std::uint32_t send_ring = 1U << 17;
  std::uint32_t receive_ring = 1U << 17;
  std::uint16_t send_requests = 384;
  std::uint16_t receives = 384;
  std::uint16_t inline_octets = 64;
  std::uint32_t mappings = 0;  ///< number of mappings that the peer may make
};

/// Returns the sizes of a new rsocket: those above, unless files in /etc/rdma/rsocket set others.
/// Reads the files once. Thread-safe. Throws std::bad_alloc.
const Sizes& default_sizes();

struct Options {
  Sizes sizes = default_sizes();
  int family = 0;
  int status_flags = 0;      ///< file status flags that F_SETFL has set
  int descriptor_flags = 0;  ///< descriptor flags that F_SETFD has set
  int error = 0;             ///< the error that SO_ERROR returns and clears
  int reuse_address = 0;
  int keep_alive = 0;
  int keep_alive_seconds = 7200;
  int out_of_band_inline = 0;
  int no_delay = 0;
  int type_of_service = 0;
  int v6_only = 0;
  linger linger_for{.l_onoff = 1, .l_linger = 0};  ///< default as in the original rsockets
  bool linger_is_set = false;
  std::chrono::microseconds receive_limit{0};  ///< time limit of receives; 0 means no limit
  std::chrono::microseconds send_limit{0};
};

template <typename T>
bool read_value(T& to, const void* value, socklen_t length) {
  if (value == nullptr || length < sizeof to) return false;
  std::memcpy(&to, value, sizeof to);
  return true;
}

template <typename T>
int write_value(const T& from, void* value, socklen_t* length) {
  *length = std::min<socklen_t>(*length, sizeof from);
  std::memcpy(value, &from, *length);
  return 0;
}

/// Stores an address as getsockname(2) does: truncates it to `*length` bytes, and sets `*length` to
/// its full size.
void copy_address(const sockaddr& from, sockaddr* out, socklen_t* length);

// The rsockets greeting contains the number of mappings that a peer may make in one octet. A number
// up to 128 is stored unchanged. A larger number n is stored as 128 + n / 256, but at most as 255.
inline constexpr std::uint32_t kExactMappings = 128;

constexpr std::uint8_t scale_of(std::uint32_t mappings) {
  if (mappings <= kExactMappings) return static_cast<std::uint8_t>(mappings);
  return static_cast<std::uint8_t>(kExactMappings | std::min(mappings >> 8, kExactMappings - 1));
}

constexpr std::uint32_t mappings_of(std::uint8_t scale) {
  return scale <= kExactMappings ? scale : (scale & (kExactMappings - 1)) << 8;
}

/// Returns the number of mappings that the peer gets when it decodes scale_of(wanted).
constexpr std::uint32_t rounded_mappings(std::uint32_t wanted) {
  return mappings_of(scale_of(wanted));
}

}  // namespace iwarp::rdma_core::rsockets
