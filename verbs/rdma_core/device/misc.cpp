// SPDX-License-Identifier: Apache-2.0
// Small functions of the C interface that need no Core: functions for sysfs, fork, P_Keys, GIDs,
// vendor options, and the order in which data is written.
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "exports/private_nodes.hpp"
#include "process/errno_table.hpp"

namespace {

using iwarp::rdma_core::minus_one;
using iwarp::rdma_core::or_no_memory;

/// Returns the mount point of sysfs, without a slash at the end.
std::string sysfs_path() {
  const char* chosen = ::secure_getenv("SYSFS_PATH");
  std::string path = chosen != nullptr ? chosen : "/sys";
  while (!path.empty() && path.back() == '/') path.pop_back();
  return path;
}

/// Reads at most `size` bytes of a small file into `buf`. Returns the number of bytes that were
/// read. If the file cannot be read, sets errno and returns -1.
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

// These functions are declared here because no header declares them any more, although other
// libraries of rdma-core still call them.
const char* ibv_get_sysfs_path();
int ibv_read_sysfs_file(const char* dir, const char* file, char* buf, std::size_t size);
int ibv_dontfork_range(void* base, std::size_t size);
int ibv_dofork_range(void* base, std::size_t size);
int private_ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned index, int* type);

const char* ibv_get_sysfs_path() {
  return or_no_memory([] {
    static const auto& path = *new std::string(sysfs_path());
    return path.c_str();
  });
}

int ibv_read_sysfs_file(const char* dir, const char* file, char* buf, std::size_t size) {
  ssize_t count =
      or_no_memory([=] { return read_start((std::string(dir) + '/' + file).c_str(), buf, size); });
  if (count < 0) return -1;
  const bool has_newline = count > 0 && buf[count - 1] == '\n';
  if (has_newline) --count;
  // The terminating zero replaces a line feed at the end of the file. If the file does not end with
  // a line feed, the buffer must have room for both the text and the terminating zero.
  if (!has_newline && static_cast<std::size_t>(count) == size) return minus_one(EOVERFLOW);
  buf[count] = '\0';
  return static_cast<int>(count);
}

// The functions for fork(2) do nothing, because in this library registered memory is ordinary
// memory whose pages a fork may copy. [IBV-69, IBV-70, IBV-71, IBV-73]
int ibv_fork_init() { return 0; }
ibv_fork_status ibv_is_fork_initialized() { return IBV_FORK_UNNEEDED; }
int ibv_dontfork_range(void* /*base*/, std::size_t /*size*/) { return 0; }
int ibv_dofork_range(void* /*base*/, std::size_t /*size*/) { return 0; }

// [IBV-112]
int ibv_get_pkey_index(ibv_context* context, std::uint8_t port, __be16 pkey) {
  __be16 found = 0;
  for (int index = 0; ibv_query_pkey(context, port, index, &found) == 0; ++index) {
    if (found == pkey) return index;
  }
  return -1;
}

// Returns the type of a GID as a value of IBV_GID_TYPE_SYSFS_*, which no public header declares.
// For an RNIC, whose GIDs have no type, and for an unused entry, returns IB/RoCE v1, as rdma-core
// does.
int private_ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned index, int* type) {
  constexpr int kIbOrRoceV1 = 0;
  constexpr int kRoceV2 = 1;
  ibv_gid_entry entry{};
  const int code = ibv_query_gid_ex(context, port, index, &entry, 0);
  if (code != 0 && code != ENODATA) return minus_one(code);
  *type = entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? kRoceV2 : kIbOrRoceV1;
  return 0;
}
IWARP_IN_PRIVATE_NODES(ibv_query_gid_type)

// Returns 0, which means that the order in which payload is written is not guaranteed. The reason
// is that verified placement (decision 0003) copies the payload with memcpy(). [IBV-424, IBV-425]
// [IBV-627]
int ibv_query_qp_data_in_order(ibv_qp* /*qp*/, ibv_wr_opcode /*op*/, std::uint32_t /*flags*/) {
  return 0;
}

// Enhanced connection establishment (ECE) negotiates vendor options. This device has none, so
// ibv_query_ece() returns none, and ibv_set_ece() accepts none. [IBV-422, IBV-423]
int ibv_query_ece(ibv_qp* /*qp*/, ibv_ece* ece) {
  *ece = {};
  return 0;
}
int ibv_set_ece(ibv_qp* /*qp*/, ibv_ece* ece) {
  *ece = {};
  return 0;
}

}  // extern "C"
