// SPDX-License-Identifier: Apache-2.0
// Counts the segments that the TCP connections of this process have sent, including
// acknowledgements, by querying the kernel for every open TCP socket. A separate file because the
// kernel's header for this and the C library's exclude each other.
#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>

#include "usage/usage.hpp"

namespace iwarp::apps::usage {

double tcp_segments_sent() {
  DIR* const open = opendir("/proc/self/fd");
  if (open == nullptr) return 0;
  double out = 0;
  while (const auto* entry = readdir(open)) {
    tcp_info info{};
    socklen_t size = sizeof info;
    // Fails for a descriptor that is not a TCP socket.
    const int fd = std::atoi(entry->d_name);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) out += info.tcpi_segs_out;
  }
  closedir(open);
  return out;
}

}  // namespace iwarp::apps::usage
