// SPDX-License-Identifier: Apache-2.0
// Generates the text of a ping.
#include "ping/ping_messages.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace iwarp::apps {

void fill_ping(bytes::Span text, std::uint32_t number) {
  constexpr std::uint32_t kFirst = 'A';
  constexpr std::uint32_t kLetters = 'z' - 'A' + 1;
  const auto head = fmt::format("rdma-ping-{}: ", number);
  const auto head_size = std::min(head.size(), text.size());
  std::ranges::copy(std::as_bytes(std::span(head).first(head_size)), text.begin());
  auto letter = number % kLetters;
  for (auto& octet : text.subspan(head_size)) {
    octet = static_cast<std::byte>(kFirst + letter);
    letter = (letter + 1) % kLetters;
  }
  if (!text.empty()) text.back() = std::byte{0};
}

}  // namespace iwarp::apps
