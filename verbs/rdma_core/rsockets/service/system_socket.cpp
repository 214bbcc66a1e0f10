// SPDX-License-Identifier: Apache-2.0
// socket(2) for this library's own sockets. librspreload.so replaces the C library's socket() to
// turn a program's sockets into rsockets; an rsocket over an rsocket would never end.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" int socket(int domain, int type, int protocol) noexcept {
  return static_cast<int>(::syscall(SYS_socket, domain, type, protocol));
}
