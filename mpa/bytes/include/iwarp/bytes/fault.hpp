// SPDX-License-Identifier: Apache-2.0
// Fault: a rule that the peer broke, in the terms of the Terminate Control field (RFC 5040 section
// 4.8). Faults are returned as values. The layer that finds a Fault latches it and accepts nothing
// more. Only RDMAP turns the first Fault into a Terminate. Neither an incomplete frame nor misuse
// by the caller is ever a Fault.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

namespace iwarp::bytes {

/// The Layer nibble of Terminate Control, named as in RFC 5040 section 4.8.
enum class Layer : std::uint8_t { kRdma = 0, kDdp = 1, kMpa = 2 };

/// One error of the Terminate Control tables.
struct [[nodiscard]] Fault {
  Layer layer = Layer::kRdma;
  std::uint8_t type = 0;  ///< Error Type, a nibble
  std::uint8_t code = 0;  ///< Error Code, an octet
  const char* why = "";   ///< what is wrong, in a few words; a static string

  /// Compares the fields that are on the wire, and not `why`.
  constexpr bool operator==(const Fault& o) const {
    return layer == o.layer && type == o.type && code == o.code;
  }
};

/// Returns layer, type, code and reason: "1/1/00 invalid STag".
std::string to_string(const Fault& fault);

/// A value or, if the peer broke a rule, the Fault.
template <typename T>
using Result = std::expected<T, Fault>;

/// Shorthand: `return fault(mpa::kCrcMismatch);`
constexpr std::unexpected<Fault> fault(Fault f) { return std::unexpected<Fault>(f); }

/// Does the job of a Result<void>, but has only two machine words, so that it is returned in
/// registers. This matters because every segment goes through several checks.
class [[nodiscard]] Check {
 public:
  constexpr Check() = default;  ///< makes a check that passed
  // NOLINTNEXTLINE(google-explicit-constructor): std::expected converts implicitly as well
  constexpr Check(const std::unexpected<Fault>& wrong)
      : why_(wrong.error().why), triplet_(pack(wrong.error())) {}

  /// Returns whether the check passed.
  constexpr explicit operator bool() const { return why_ == nullptr; }
  /// Returns the fault of a check that did not pass.
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

  const char* why_ = nullptr;  ///< null if the check passed; every Fault has a reason
  std::uint64_t triplet_ = 0;
};

}  // namespace iwarp::bytes
