// SPDX-License-Identifier: Apache-2.0
// FPDUs as text, one line each, for traces and diagnostics; never on the data path.
// Startup frames have describe_startup_frame() next to their codec.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "iwarp/bytes/view.hpp"

namespace iwarp::mpa {

/// The FPDU at the start of `in`: ULPDU_Length, PAD, markers, the CRC and whether it is right.
/// Works on truncated octets and on octets that are no FPDU; what follows the FPDU is ignored.
/// `position`: where `in` starts in a stream of full operation that carries markers (counted from
/// its first octet, markers included); nullopt: a stream without markers.
std::string describe_fpdu(bytes::View in, std::optional<std::uint64_t> position = std::nullopt);

}  // namespace iwarp::mpa
