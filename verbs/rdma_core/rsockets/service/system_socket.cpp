// SPDX-License-Identifier: Apache-2.0
// Defines a socket(2) that this library calls for its own sockets. librspreload.so replaces the
// socket() of the C library, in order to turn each socket of a program into an rsocket. If this
// library called the socket() of librspreload.so, the UDP or TCP socket of each rsocket would
// itself become an rsocket, in an endless recursion.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// [RCM-391]
extern "C" int socket(int domain, int type, int protocol) noexcept {
  return static_cast<int>(::syscall(SYS_socket, domain, type, protocol));
}
