// SPDX-License-Identifier: Apache-2.0
#include "process/descriptors.hpp"

#include <fcntl.h>
#include <sys/select.h>

#include "process/settings.hpp"

namespace iwarp::rdma_core {

int high_duplicate(int fd) {
  const auto& chosen = settings().adversary;
  if (!chosen || !chosen->has(options::Freedom::kDescriptors)) return -1;
  return ::fcntl(fd, F_DUPFD_CLOEXEC, FD_SETSIZE);
}

}  // namespace iwarp::rdma_core
