// SPDX-License-Identifier: Apache-2.0
// Small functions that need no Core: sysfs, fork, P_Key and GID look-ups, vendor options, and the
// order in which data is written.
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "device/persona.hpp"
#include "exports/private_nodes.hpp"
#include "process/errno_table.hpp"

namespace {

using iwarp::rdma_core::minus_one;

/// Returns the mount point of sysfs, without a slash at the end.
std::string sysfs_path() {
  const char* chosen = ::secure_getenv("SYSFS_PATH");
  std::string path = chosen != nullptr ? chosen : "/sys";
  while (!path.empty() && path.back() == '/') path.pop_back();
  return path;
}

/// Reads at most `size` bytes of a small file. Returns their number, or -1 with errno set.
ssize_t read_start(const char* path, char* buf, std::size_t size) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const ssize_t count = ::read(fd, buf, size);
  const int error = errno;
  ::close(fd);
  errno = error;
  return count;
}

}  // namespace

extern "C" {

// No header declares these any more, but other libraries of rdma-core call them.
const char* ibv_get_sysfs_path();
int ibv_read_sysfs_file(const char* dir, const char* file, char* buf, std::size_t size);
int ibv_dontfork_range(void* base, std::size_t size);
int ibv_dofork_range(void* base, std::size_t size);
int private_ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned index, int* type);

const char* ibv_get_sysfs_path() {
  static const auto& path = *new std::string(sysfs_path());
  return path.c_str();
}

int ibv_read_sysfs_file(const char* dir, const char* file, char* buf, std::size_t size) {
  const auto path = std::string(dir) + '/' + file;
  ssize_t count = read_start(path.c_str(), buf, size);
  if (count < 0) return -1;
  const bool has_newline = count > 0 && buf[count - 1] == '\n';
  if (has_newline) --count;
  // The text and its terminating zero must fit.
  if (!has_newline && static_cast<std::size_t>(count) == size) return minus_one(EOVERFLOW);
  buf[count] = '\0';
  return static_cast<int>(count);
}

// Registered memory is ordinary memory here, so a fork may copy its pages.
int ibv_fork_init() { return 0; }
ibv_fork_status ibv_is_fork_initialized() { return IBV_FORK_UNNEEDED; }
int ibv_dontfork_range(void* /*base*/, std::size_t /*size*/) { return 0; }
int ibv_dofork_range(void* /*base*/, std::size_t /*size*/) { return 0; }

int ibv_get_pkey_index(ibv_context* context, std::uint8_t port, __be16 pkey) {
  __be16 found = 0;
  for (int index = 0; ibv_query_pkey(context, port, index, &found) == 0; ++index) {
    if (found == pkey) return index;
  }
  return -1;
}

// An RNIC has no GID type. The kernel also reports its RNICs as IB/RoCE v1.
int private_ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned index, int* type) {
  ibv_gid gid{};
  if (index > INT_MAX) return minus_one(EINVAL);
  if (ibv_query_gid(context, port, static_cast<int>(index), &gid) != 0) return -1;
  *type = iwarp::rdma_core::facts().sysfs_gid_type;
  return 0;
}
IWARP_IN_PRIVATE_NODES(ibv_query_gid_type)

// Verified placement (decision 0003) copies the payload with memcpy(), which guarantees no order.
int ibv_query_qp_data_in_order(ibv_qp* /*qp*/, ibv_wr_opcode /*op*/, std::uint32_t /*flags*/) {
  return 0;
}

// Enhanced connection establishment negotiates vendor options. This device has none, so it reports
// none and accepts none of the requested ones.
int ibv_query_ece(ibv_qp* /*qp*/, ibv_ece* ece) {
  *ece = {};
  return 0;
}
int ibv_set_ece(ibv_qp* /*qp*/, ibv_ece* ece) {
  *ece = {};
  return 0;
}

}  // extern "C"
