// SPDX-License-Identifier: Apache-2.0
// connect_advice(): what a user can do if TCP cannot connect.
#pragma once

#include <string_view>
#include <system_error>

namespace iwarp::net {

/// Returns a text in brackets, after a space, that says what the user can do about `error`, an
/// error of connect(2) or of verbs::Errc. Returns an empty text if there is no advice.
std::string_view connect_advice(const std::error_code& error);

}  // namespace iwarp::net
