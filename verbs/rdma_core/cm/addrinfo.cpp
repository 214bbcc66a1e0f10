// SPDX-License-Identifier: Apache-2.0
// rdma_getaddrinfo(): resolves names and hints to socket addresses. Each part of the result is
// allocated with malloc(3). Some programs replace a part with memory that they have allocated
// themselves, and rdma_freeaddrinfo() must be able to free this memory, too.
#include <netdb.h>
#include <rdma/rdma_cma.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace iwarp::rdma_core {
namespace {

const rdma_addrinfo kNoHints{.ai_qp_type = IBV_QPT_RC, .ai_port_space = RDMA_PS_TCP};

struct AddrinfoDeleter {
  void operator()(rdma_addrinfo* info) const { rdma_freeaddrinfo(info); }
};
using AddrinfoHandle = std::unique_ptr<rdma_addrinfo, AddrinfoDeleter>;

void* copy(const void* from, std::size_t size) {
  void* const out = std::malloc(size);
  if (out == nullptr) throw std::bad_alloc();
  return std::memcpy(out, from, size);
}

void set(sockaddr*& to, socklen_t& to_size, const sockaddr* from, socklen_t size) {
  if (from == nullptr || size == 0 || to != nullptr) return;
  to = static_cast<sockaddr*>(copy(from, size));
  to_size = size;
}

/// Sets ai_qp_type and ai_port_space. If the hints contain only one of these, derives the other
/// from it. If they contain neither, sets IBV_QPT_RC and RDMA_PS_TCP.
/// [RCM-60, RCM-61]
void set_transport(rdma_addrinfo& info, const rdma_addrinfo& hints) {
  info.ai_qp_type = hints.ai_qp_type;
  info.ai_port_space = hints.ai_port_space;
  const bool datagrams = info.ai_qp_type == IBV_QPT_UD || info.ai_port_space == RDMA_PS_UDP;
  if (info.ai_qp_type == 0) info.ai_qp_type = datagrams ? IBV_QPT_UD : IBV_QPT_RC;
  if (info.ai_port_space == 0) info.ai_port_space = datagrams ? RDMA_PS_UDP : RDMA_PS_TCP;
}

/// Resolves `node` and `service`. Returns 0 or an error code of getaddrinfo(3).
/// [RCM-50, RCM-51, RCM-53, RCM-54, RCM-55, RCM-56, RCM-57, RCM-64]
int look_up(const char* node, const char* service, const rdma_addrinfo& hints,
            rdma_addrinfo& info) {
  addrinfo wanted{};
  const bool passive = (hints.ai_flags & RAI_PASSIVE) != 0;
  wanted.ai_flags = passive ? AI_PASSIVE : 0;
  if ((hints.ai_flags & RAI_NUMERICHOST) != 0) wanted.ai_flags |= AI_NUMERICHOST;
  if ((hints.ai_flags & RAI_FAMILY) != 0) wanted.ai_family = hints.ai_family;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(node, service, &wanted, &found)) return failed;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  info.ai_family = found->ai_family;
  if (passive) {
    set(info.ai_src_addr, info.ai_src_len, found->ai_addr, found->ai_addrlen);
  } else {
    set(info.ai_dst_addr, info.ai_dst_len, found->ai_addr, found->ai_addrlen);
  }
  return 0;
}

/// If look_up() has not set an address, copies this address from the hints. A program may pass
/// hints that contain addresses, but no name that look_up() could resolve.
/// [RCM-52]
void set_from_hints(const rdma_addrinfo& hints, rdma_addrinfo& info) {
  set(info.ai_src_addr, info.ai_src_len, hints.ai_src_addr, hints.ai_src_len);
  set(info.ai_dst_addr, info.ai_dst_len, hints.ai_dst_addr, hints.ai_dst_len);
  if (info.ai_family == 0) info.ai_family = hints.ai_family;
  for (const sockaddr* address : {info.ai_dst_addr, info.ai_src_addr}) {
    if (info.ai_family == 0 && address != nullptr) info.ai_family = address->sa_family;
  }
}

// [RCM-49, RCM-62, RCM-63]
int get(const char* node, const char* service, const rdma_addrinfo* given, rdma_addrinfo** out) {
  const rdma_addrinfo& hints = given != nullptr ? *given : kNoHints;
  if (node == nullptr && service == nullptr && given == nullptr) return EAI_NONAME;
  AddrinfoHandle info(static_cast<rdma_addrinfo*>(std::calloc(1, sizeof(rdma_addrinfo))));
  if (info == nullptr) return EAI_MEMORY;
  info->ai_flags = hints.ai_flags;
  set_transport(*info, hints);
  if (node != nullptr || service != nullptr) {
    if (const int failed = look_up(node, service, hints, *info)) return failed;
  }
  set_from_hints(hints, *info);
  *out = info.release();
  return 0;
}

}  // namespace
extern "C" {

int rdma_getaddrinfo(const char* node, const char* service, const rdma_addrinfo* hints,
                     rdma_addrinfo** info) {
  try {
    return get(node, service, hints, info);
  } catch (const std::bad_alloc&) {
    return EAI_MEMORY;
  }
}

// [RCM-65, RCM-66]
void rdma_freeaddrinfo(rdma_addrinfo* info) {
  while (info != nullptr) {
    rdma_addrinfo* const next = info->ai_next;
    std::free(info->ai_src_addr);
    std::free(info->ai_dst_addr);
    std::free(info->ai_src_canonname);
    std::free(info->ai_dst_canonname);
    std::free(info->ai_route);
    std::free(info->ai_connect);
    std::free(info);
    info = next;
  }
}

}  // extern "C"

}  // namespace iwarp::rdma_core
