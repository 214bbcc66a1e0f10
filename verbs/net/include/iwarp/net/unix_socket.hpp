// SPDX-License-Identifier: Apache-2.0
// Unix sockets at which a process of the user is asked, and told, something.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <expected>
#include <optional>
#include <string>
#include <system_error>

#include "iwarp/net/unique_fd.hpp"

namespace iwarp::net {

/// nullopt: no path, or too long for one.
std::optional<sockaddr_un> unix_address(const std::string& path);

/// Listens at `path`, not blocking, with mode 0600 before it has a name. What a process of this
/// user left there is replaced. Error: filename_too_long, or the system's.
std::expected<UniqueFd, std::error_code> listen_unix(const std::string& path, int backlog);

}  // namespace iwarp::net
