// SPDX-License-Identifier: Apache-2.0
// Formats a Fault in the notation of the requirement tables.
#include "iwarp/bytes/fault.hpp"

#include <fmt/format.h>

namespace iwarp::bytes {

std::string to_string(const Fault& fault) {
  return fmt::format("{}/{}/{:02x} {}", static_cast<int>(fault.layer), fault.type, fault.code,
                     fault.why);
}

}  // namespace iwarp::bytes
