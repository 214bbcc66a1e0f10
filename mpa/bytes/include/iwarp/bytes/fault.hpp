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

/// What a Result<void> would be, but returned in registers: the checks of every segment give one.
class [[nodiscard]] Check {
 public:
  constexpr Check() = default;  ///< nothing is wrong
  // NOLINTNEXTLINE(google-explicit-constructor): as std::expected has it
  constexpr Check(const std::unexpected<Fault>& wrong) : fault_(wrong.error()) {}

  constexpr explicit operator bool() const { return fault_.why == nullptr; }
  constexpr const Fault& error() const { return fault_; }

 private:
  Fault fault_{.why = nullptr};  ///< every Fault has a reason
};

}  // namespace iwarp::bytes
