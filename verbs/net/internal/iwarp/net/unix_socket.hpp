// SPDX-License-Identifier: Apache-2.0
// Opens listening Unix sockets, for requests from other processes of the same user.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <expected>
#include <optional>
#include <string>
#include <system_error>

#include "iwarp/net/unique_fd.hpp"

namespace iwarp::net {

/// Returns the socket address of a path, or nullopt if the path is empty or too long.
std::optional<sockaddr_un> unix_address(const std::string& path);

/// Makes a non-blocking socket that listens at `path`, with mode 0600 from the beginning. Replaces
/// a socket of this user at `path` if no process listens on it. Fails with
/// `std::errc::filename_too_long` or the system's error, for example EADDRINUSE.
std::expected<UniqueFd, std::error_code> listen_unix(const std::string& path, int backlog);

}  // namespace iwarp::net
