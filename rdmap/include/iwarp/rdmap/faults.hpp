// SPDX-License-Identifier: Apache-2.0
// The RDMAP rows of the Terminate Control table (RFC 5040 section 4.8). [RDMAP-16]
#pragma once

#include "iwarp/bytes/fault.hpp"

namespace iwarp::rdmap {

using bytes::Fault;
using bytes::Layer;

inline constexpr Fault kLocalCatastrophic{Layer::kRdma, 0, 0x00, "local catastrophic error"};
inline constexpr Fault kInvalidStag{Layer::kRdma, 1, 0x00, "invalid STag"};
inline constexpr Fault kBounds{Layer::kRdma, 1, 0x01, "base or bounds violation"};
inline constexpr Fault kAccessRights{Layer::kRdma, 1, 0x02, "access rights violation"};
inline constexpr Fault kNotAssociated{Layer::kRdma, 1, 0x03,
                                      "STag not associated with this stream"};
inline constexpr Fault kWrap{Layer::kRdma, 1, 0x04, "TO wraps"};
inline constexpr Fault kCannotInvalidate{Layer::kRdma, 1, 0x09, "STag cannot be invalidated"};
inline constexpr Fault kVersionInvalid{Layer::kRdma, 2, 0x05, "invalid RDMAP version"};
inline constexpr Fault kUnexpectedOpcode{Layer::kRdma, 2, 0x06, "unexpected opcode"};
inline constexpr Fault kStreamCatastrophic{Layer::kRdma, 2, 0x07,
                                           "catastrophic error, localized to this stream"};
inline constexpr Fault kGlobalCatastrophic{Layer::kRdma, 2, 0x08, "catastrophic error, global"};
inline constexpr Fault kOperationUnspecified{Layer::kRdma, 2, 0xFF, "unspecified error"};

/// Returns whether a fault is a Remote Protection Error of RDMAP, whatever its code.
constexpr bool is_protection_error(const Fault& fault) {
  return fault.layer == Layer::kRdma && fault.type == kInvalidStag.type;
}

}  // namespace iwarp::rdmap
