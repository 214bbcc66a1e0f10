// SPDX-License-Identifier: Apache-2.0
// Fault: what a peer did wrong, in the terms of the Terminate Control field (RFC 5040 section 4.8).
// Faults are returned as values. Only RDMAP turns the first one into a Terminate message; the layer
// that found it keeps it and takes nothing more. "Not enough octets yet" is never a Fault, nor is
// misuse by the caller.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

namespace iwarp::bytes {

/// The Layer nibble of Terminate Control.
enum class Layer : std::uint8_t { kRdma = 0, kDdp = 1, kMpa = 2 };

struct [[nodiscard]] Fault {
  Layer layer = Layer::kRdma;
  std::uint8_t type = 0;  ///< Error Type nibble
  std::uint8_t code = 0;  ///< Error Code octet
  const char* why = "";   ///< a static string for people

  /// Equal on the wire; the explanation does not count.
  constexpr bool operator==(const Fault& o) const {
    return layer == o.layer && type == o.type && code == o.code;
  }
};

/// "1/1/00 invalid STag": the notation of the requirement tables, then the reason.
std::string to_string(const Fault& fault);

template <typename T>
using Result = std::expected<T, Fault>;

/// Shorthand: `return fault(mpa::kCrcMismatch);`
constexpr std::unexpected<Fault> fault(Fault f) { return std::unexpected<Fault>(f); }

/// What a Result<void> would be, but as two words, which are returned in registers and handed on as
/// they are: the checks of every segment give one.
class [[nodiscard]] Check {
 public:
  constexpr Check() = default;  ///< nothing is wrong
  // NOLINTNEXTLINE(google-explicit-constructor): as std::expected has it
  constexpr Check(const std::unexpected<Fault>& wrong)
      : why_(wrong.error().why), triplet_(pack(wrong.error())) {}

  constexpr explicit operator bool() const { return why_ == nullptr; }
  constexpr Fault error() const {
    return {.layer = static_cast<Layer>(triplet_ >> 16),
            .type = static_cast<std::uint8_t>(triplet_ >> 8),
            .code = static_cast<std::uint8_t>(triplet_),
            .why = why_};
  }

 private:
  static constexpr std::uint64_t pack(const Fault& fault) {
    return static_cast<std::uint64_t>(fault.layer) << 16 | std::uint64_t{fault.type} << 8 |
           fault.code;
  }

  const char* why_ = nullptr;  ///< every Fault has a reason
  std::uint64_t triplet_ = 0;
};

}  // namespace iwarp::bytes
