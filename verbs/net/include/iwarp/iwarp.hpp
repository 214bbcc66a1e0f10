// SPDX-License-Identifier: Apache-2.0
// All that a program includes: devices, memory, queues, connections, and the few lines that every
// program would write again. Errors are values in what it includes (std::expected,
// std::error_code); must() turns them into exceptions for programs that have nothing better to do.
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

/// The value, or std::system_error.
template <typename T>
T must(net::Expected<T> value) {
  if (!value) throw std::system_error(value.error());
  return std::move(*value);
}

inline void must(std::error_code error) {
  if (error) throw std::system_error(error);
}

/// The next completion. Polls until there is one, which also does the work of the connections.
inline verbs::WorkCompletion next_completion(verbs::CompletionQueue& cq) {
  verbs::WorkCompletion wc;
  while (cq.poll({&wc, 1}) == 0) {
  }
  return wc;
}

/// The next event, or std::system_error with Errc::kTimedOut.
inline net::CmEvent next_event(net::CmChannel& channel, std::chrono::milliseconds timeout) {
  auto event = channel.wait(timeout);
  if (!event) throw std::system_error(make_error_code(verbs::Errc::kTimedOut));
  return std::move(*event);
}

inline constexpr std::size_t kAdvertSize = 12;

/// {TO, STag} of a region in network order: what a peer must know to read or write it. The iWARP
/// protocols leave how it is told to programs; private data of the set-up is one place.
inline std::vector<std::byte> advert_of(const net::Memory& region) {
  std::vector<std::byte> octets(kAdvertSize);
  bytes::Writer out(octets);
  out.u64(region.to(region.address()));
  out.u32(region.stag().value);
  return octets;
}

/// What a peer's advert_of() says; nothing when it is too short.
inline std::optional<verbs::RemoteAddress> read_advert(bytes::View octets) {
  if (octets.size() < kAdvertSize) return std::nullopt;
  bytes::Reader in(octets);
  const auto to = in.u64();
  return verbs::RemoteAddress{.rkey = verbs::Stag{in.u32()}, .to = to};
}

}  // namespace iwarp
