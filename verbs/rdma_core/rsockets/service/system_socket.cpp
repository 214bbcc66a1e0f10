// SPDX-License-Identifier: Apache-2.0
// Defines socket(2) for this library's own sockets. librspreload.so replaces the C library's
// socket() to turn a program's sockets into rsockets. If this library called that one, the socket
// of each rsocket would become another rsocket, without end.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" int socket(int domain, int type, int protocol) noexcept {
  return static_cast<int>(::syscall(SYS_socket, domain, type, protocol));
}
