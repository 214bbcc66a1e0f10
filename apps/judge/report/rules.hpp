// SPDX-License-Identifier: Apache-2.0
// The rows of rfc-notes/requirements, which are compiled into the program, so that a failure can
// say what the violated rule is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace iwarp::judge {

/// Returns one text per row: "IBV-12, ibv_modify_qp(3): " and the requirement. An unknown id gives
/// only the id.
std::vector<std::string> rule_texts(std::string_view rows);

}  // namespace iwarp::judge
