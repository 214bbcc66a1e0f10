// SPDX-License-Identifier: Apache-2.0
// What each error of a Terminate (RFC 5040 section 4.8) means to the programs at both ends, and the
// vendor_err that represents the error in completions.
#pragma once

#include <cstdint>
#include <optional>

#include "iwarp/bytes/fault.hpp"

namespace iwarp::verbs {

/// What an error means, and what to do about it. Both members are static strings, each a clause
/// without a full stop.
struct Guidance {
  const char* meaning = "";
  const char* advice = "";
};
/// Returns the guidance for a fault that rdmap::explain() knows; for any other fault, returns a
/// Guidance whose meaning is "an error code that no RFC assigns".
Guidance guidance(const bytes::Fault& fault);

/// Returns the vendor_err of a failed completion whose stream ended with a Terminate: 0x1LTCC with
/// the Terminate's layer L, error type T and error code CC.
std::uint32_t vendor_error(const bytes::Fault& fault);
/// Returns the fault that a vendor_err represents, with the text of rdmap::explain() as `why`.
/// Returns nullopt if `number` does not have the form 0x1LTCC.
std::optional<bytes::Fault> fault_of_vendor_error(std::uint32_t number);
/// The vendor_err of a completion whose status was set by an injected fault.
inline constexpr std::uint32_t kInjectedVendorError = 0x20000;

}  // namespace iwarp::verbs
