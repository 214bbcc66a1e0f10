// SPDX-License-Identifier: Apache-2.0
// Sums up how many segments the open TCP sockets of this process have sent, including
// acknowledgements; the kernel reports this for each socket. This is a separate file because the
// kernel's header and the C library's header cannot be included together.
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
    // getsockopt() fails for a descriptor that is not a TCP socket; skip this descriptor.
    const int fd = std::atoi(entry->d_name);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) out += info.tcpi_segs_out;
  }
  closedir(open);
  return out;
}

}  // namespace iwarp::apps::usage
