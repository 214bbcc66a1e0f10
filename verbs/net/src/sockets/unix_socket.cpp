// SPDX-License-Identifier: Apache-2.0
// listen_unix(): makes a socket that only its user can connect to. Removes the socket file of a
// process that has ended, but no other file.
#include "iwarp/net/unix_socket.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sockets/sockets.hpp"

namespace iwarp::net {
namespace {

UniqueFd unix_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

/// Returns whether `address` is a socket of this user on which no process listens any more.
bool is_left_over(const sockaddr_un& address) {
  struct stat about{};
  if (::lstat(address.sun_path, &about) != 0 || !S_ISSOCK(about.st_mode)) return false;
  if (about.st_uid != ::geteuid()) return false;
  const UniqueFd probe = unix_socket();
  return probe && ::connect(probe.get(), generic(address), sizeof address) != 0 &&
         errno == ECONNREFUSED;
}

}  // namespace

std::optional<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un out{};
  if (path.empty() || path.size() >= sizeof out.sun_path) return std::nullopt;
  out.sun_family = AF_UNIX;
  std::memcpy(out.sun_path, path.data(), path.size());
  return out;
}

std::expected<UniqueFd, std::error_code> listen_unix(const std::string& path, int backlog) {
  const auto address = unix_address(path);
  if (!address) return std::unexpected(std::make_error_code(std::errc::filename_too_long));
  UniqueFd socket = unix_socket();
  // Set the mode before the socket has a name, so that other users can never connect.
  if (!socket || ::fchmod(socket.get(), S_IRUSR | S_IWUSR) != 0) {
    return std::unexpected(last_error());
  }
  if (is_left_over(*address)) ::unlink(path.c_str());
  if (::bind(socket.get(), generic(*address), sizeof *address) != 0 ||
      ::listen(socket.get(), backlog) != 0) {
    return std::unexpected(last_error());
  }
  return socket;
}

}  // namespace iwarp::net
