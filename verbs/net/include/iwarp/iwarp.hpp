// SPDX-License-Identifier: Apache-2.0
// The one header that an application includes: devices, memory, queues and connections, and the few
// helpers that every application would write again. All functions return errors as values
// (std::expected, std::error_code); must() turns them into exceptions.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <system_error>
#include <utility>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/net/rnic.hpp"
#include "iwarp/verbs/errors.hpp"
#include "iwarp/version.hpp"

namespace iwarp {

/// Returns the value, or throws std::system_error with its error.
template <typename T>
T must(net::Expected<T> value) {
  if (!value) throw std::system_error(value.error());
  return std::move(*value);
}

/// Throws std::system_error with `error` unless `error` means success.
inline void must(std::error_code error) {
  if (error) throw std::system_error(error);
}

/// Busy-polls until there is a completion and returns it. The polls also drive the connections.
inline verbs::WorkCompletion next_completion(verbs::CompletionQueue& cq) {
  verbs::WorkCompletion wc;
  while (cq.poll({&wc, 1}) == 0) {
  }
  return wc;
}

/// Returns the next event. Blocks for at most `timeout`; a negative `timeout` means no limit.
/// Throws std::system_error with Errc::kTimedOut if no event arrives in that time.
inline net::CmEvent next_event(net::CmChannel& channel, std::chrono::milliseconds timeout) {
  auto event = channel.wait(timeout);
  if (!event) throw std::system_error(make_error_code(verbs::Errc::kTimedOut));
  return std::move(*event);
}

inline constexpr std::size_t kAdvertSize = 12;

/// Returns the TO and the STag of a region in network byte order. A peer needs both to read or
/// write the region. The iWARP protocols do not define how the application sends these two values
/// to the peer; private data is one way.
inline std::vector<std::byte> advert_of(const net::Memory& region) {
  std::vector<std::byte> octets(kAdvertSize);
  bytes::Writer out(octets);
  out.u64(region.to(region.address()));
  out.u32(region.stag().value);
  return octets;
}

/// Decodes the octets that the peer's advert_of() returned, or returns nullopt if there are fewer
/// than kAdvertSize octets.
inline std::optional<verbs::RemoteAddress> read_advert(bytes::View octets) {
  if (octets.size() < kAdvertSize) return std::nullopt;
  bytes::Reader in(octets);
  const auto to = in.u64();
  return verbs::RemoteAddress{.rkey = verbs::Stag{in.u32()}, .to = to};
}

}  // namespace iwarp
