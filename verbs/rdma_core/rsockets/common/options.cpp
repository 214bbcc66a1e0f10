// SPDX-License-Identifier: Apache-2.0
#include "rsockets/common/options.hpp"

#include <netinet/in.h>
#include <rdma/rsocket.h>

#include <cerrno>
#include <limits>

#include "rsockets/common/mapping_scale.hpp"

namespace iwarp::rdma_core::rsockets {
namespace {

template <typename T>
T limited(int value) {
  return static_cast<T>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<T>::max()));
}

/// Returns the size that an option of the level SOL_RDMA sets, or null if there is none.
std::uint16_t Sizes::* size_named(int name) {
  return name == RDMA_SQSIZE   ? &Sizes::send_requests
         : name == RDMA_RQSIZE ? &Sizes::receives
         : name == RDMA_INLINE ? &Sizes::inline_octets
                               : nullptr;
}

}  // namespace

int set_limit(std::chrono::microseconds& limit, const void* value, socklen_t length) {
  timeval time{};
  if (!read_value(time, value, length)) return EINVAL;
  if (time.tv_usec < 0 || time.tv_usec >= 1'000'000) return EDOM;
  limit = std::chrono::seconds(std::max<time_t>(time.tv_sec, 0)) +
          std::chrono::microseconds(time.tv_usec);
  return 0;
}

timeval timeval_of(std::chrono::microseconds limit) {
  return {.tv_sec = limit.count() / 1'000'000, .tv_usec = limit.count() % 1'000'000};
}

// Makes the ring twice as large as the value, as the kernel does for socket buffers. One half of
// the ring is filled while the other half is read.
void set_buffer(std::uint32_t& ring, int value) {
  constexpr int kMost = 1 << 28;
  ring = static_cast<std::uint32_t>(std::clamp(value, 2048, kMost)) * 2;
}

int set_of_rdma(Sizes& sizes, int name, int value) {
  if (name == RDMA_IOMAPSIZE) {
    sizes.mappings = rounded_mappings(limited<std::uint32_t>(value));
    return 0;
  }
  const auto size = size_named(name);
  if (size == nullptr) return ENOTSUP;
  sizes.*size = limited<std::uint16_t>(value);
  return 0;
}

void copy_address(const sockaddr& from, sockaddr* out, socklen_t* length) {
  const socklen_t size = from.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (*length != 0) std::memcpy(out, &from, std::min(*length, size));
  *length = size;
}

std::expected<std::int64_t, int> size_of_rdma(const Sizes& sizes, int name) {
  if (name == RDMA_IOMAPSIZE) return sizes.mappings;
  const auto size = size_named(name);
  if (size == nullptr) return std::unexpected(ENOTSUP);
  return sizes.*size;
}

}  // namespace iwarp::rdma_core::rsockets
