// SPDX-License-Identifier: Apache-2.0
// socket(2) for this library's own sockets. Where librspreload.so makes a program's sockets
// rsockets it stands in front of the C library's, and an rsocket over an rsocket would have no end.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" int socket(int domain, int type, int protocol) noexcept {
  return static_cast<int>(::syscall(SYS_socket, domain, type, protocol));
}
