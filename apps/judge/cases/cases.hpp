// SPDX-License-Identifier: Apache-2.0
// The tables of cases, one per file of this folder.
#pragma once

#include <span>

#include "judge/frame/case.hpp"

namespace iwarp::judge {

std::span<const Case> device_cases();  ///< opening, attributes, ports, GIDs, P_Keys

}  // namespace iwarp::judge
