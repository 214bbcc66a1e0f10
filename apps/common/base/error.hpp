// SPDX-License-Identifier: Apache-2.0
// Reports the failure of calls and connections by the exceptions of command_line/error.hpp.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <system_error>

#include "command_line/error.hpp"
#include "iwarp/net/connection_manager.hpp"
#include "iwarp/verbs/log_record.hpp"

namespace iwarp::apps {

/// Thrown if the stream to the peer has ended, regardless of which end closed or aborted it.
class PeerGone : public Error {
 public:
  using Error::Error;
};

/// Returns why a connection failed, for example that it was refused, timed out, or was rejected
/// with a text from the peer.
std::string to_text(const net::CmEvent& event);

/// Throws Error("`what`: reason") if `error` is set.
void check(const std::error_code& error, std::string_view what);

/// Returns the value, or throws Error("`what`: reason").
template <typename T>
T check(std::expected<T, std::error_code> value, const std::string& what) {
  if (!value) check(value.error(), what);
  return std::move(*value);
}

using verbs::printable;

}  // namespace iwarp::apps
