// SPDX-License-Identifier: Apache-2.0
// Helpers for the startup tests: convert frames from and to hex, and drive one end.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "iwarp/bytes/hex.hpp"
#include "iwarp/mpa/startup.hpp"

namespace iwarp::mpa {

// For doctest's failure messages.
inline doctest::String toString(StartupState state) {
  return std::string(to_string(state)).c_str();
}
inline doctest::String toString(const Fault& fault) { return bytes::to_string(fault).c_str(); }

}  // namespace iwarp::mpa

namespace iwarp::mpa::test {

using Octets = std::vector<std::byte>;
using namespace std::chrono_literals;

inline constexpr TimePoint kStart{};
inline constexpr EnhancedWord kClientServer{.ird = 4, .ord = 4};
inline const std::string kRequestKey = "4d504120 49442052 65712046 72616d65 ";
inline const std::string kReplyKey = "4d504120 49442052 65702046 72616d65 ";

/// Worked frames A and B: an enhanced Request with private data "HELO", and its Reply.
inline const std::string kFrameA = kRequestKey + "50020008 8004c004 48454c4f";
inline const std::string kFrameB = kReplyKey + "50020004 80048004";

inline Octets hex(const std::string& text) { return bytes::from_hex(text).value(); }

inline std::string text(bytes::View octets) { return bytes::to_hex(octets); }

inline Octets octets(std::string_view characters) {
  Octets out;
  for (const char c : characters) out.push_back(static_cast<std::byte>(c));
  return out;
}

/// Makes a frame from its parts. `private_data` includes the enhanced word if there is one.
inline Octets frame(FrameKind kind, std::uint8_t flags, std::uint8_t revision,
                    bytes::View private_data = {}) {
  Octets out = hex(kind == FrameKind::kRequest ? kRequestKey : kReplyKey);
  out.push_back(static_cast<std::byte>(flags));
  out.push_back(static_cast<std::byte>(revision));
  out.push_back(static_cast<std::byte>(private_data.size() >> 8));
  out.push_back(static_cast<std::byte>(private_data.size() & 0xFF));
  out.insert(out.end(), private_data.begin(), private_data.end());
  return out;
}

/// Makes an enhanced frame with C=1, the given word and no ULP private data.
inline Octets enhanced_frame(FrameKind kind, const EnhancedWord& word, std::uint8_t flags = 0x50) {
  std::array<std::byte, 4> field;
  bytes::store_be(field.data(), encode(word));
  return frame(kind, flags, 2, field);
}

/// Returns everything that `end` wants to send, and marks it as sent.
inline Octets drain(Startup& end) {
  const auto view = end.transmit();
  Octets out(view.begin(), view.end());
  end.transmitted(out.size());
  return out;
}

/// Returns an initiator whose Request has been sent.
inline Startup requested(const StartupOptions& options, bytes::View private_data = {}) {
  Startup end(Role::kInitiator, options);
  REQUIRE(end.request(private_data, kStart));
  drain(end);
  return end;
}

inline Startup listening(const StartupOptions& options = {}) {
  Startup end(Role::kResponder, options);
  end.listen(kStart);
  return end;
}

/// Decodes the frame that `end` sent. The result refers to `octets`.
inline StartupFrame decoded(FrameKind kind, bytes::View octets) {
  const auto result = decode_startup_frame(kind, octets).value();
  REQUIRE(std::holds_alternative<StartupFrame>(result));
  return std::get<StartupFrame>(result);
}

inline EnhancedWord word_of(const StartupFrame& frame) {
  REQUIRE(frame.enhanced);
  REQUIRE(frame.private_data.size() >= kEnhancedWordSize);
  return decode_enhanced_word(bytes::load_be<std::uint32_t>(frame.private_data.data()));
}

/// Returns the enhanced word with which a responder with `options` answers a Request that carries
/// `word`.
inline EnhancedWord answer(const StartupOptions& options, const EnhancedWord& word,
                           std::uint16_t ird, std::uint16_t ord) {
  auto end = listening(options);
  end.receive(enhanced_frame(FrameKind::kRequest, word), kStart);
  REQUIRE(end.accept({}, ird, ord));
  const auto reply = drain(end);
  return word_of(decoded(FrameKind::kReply, reply));
}

/// Checks that `end` failed with `fault`, sends nothing and has no timer.
inline void check_failed(const Startup& end, const Fault& fault) {
  CHECK(end.state() == StartupState::kFailed);
  REQUIRE(end.failure());
  CHECK(end.failure()->fault == fault);
  CHECK(end.transmit().empty());
  CHECK_FALSE(end.timeout());
}

/// Returns a responder that has received `octets_in` in one piece.
inline Startup after(const StartupOptions& options, bytes::View octets_in) {
  auto end = listening(options);
  end.receive(octets_in, kStart);
  return end;
}

}  // namespace iwarp::mpa::test
