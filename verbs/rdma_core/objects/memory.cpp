// SPDX-License-Identifier: Apache-2.0
// Protection domains, memory regions and memory windows. A region has one STag, which is both its
// lkey and its rkey. The access flags of the region determine what a peer may do with it.
#include <cerrno>

#include "objects/calls.hpp"
#include "objects/memory_access.hpp"
#include "objects/objects.hpp"
#include "process/call_site.hpp"
#include "process/errno_table.hpp"
#include "process/handles.hpp"
#include "process/refusal.hpp"

namespace iwarp::rdma_core {
namespace {

using verbs::Access;

constexpr unsigned kKnownAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                  IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |
                                  IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB;
constexpr unsigned kNeedsLocalWrite = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

/// Returns 0 if a region may have these access flags, otherwise an errno. [RCM-258, RCM-261,
/// RCM-263]
/// [IBV-138, IBV-139, IBV-140, IBV-142, IBV-143, IBV-624, IBV-625]
int check_access(unsigned flags) {
  const unsigned access = flags;
  // Removes the optional flags, which the verbs interface permits a device to ignore.
  flags &= ~static_cast<unsigned>(IBV_ACCESS_OPTIONAL_RANGE);
  if ((flags & IBV_ACCESS_ON_DEMAND) != 0) {
    return refused("IBV_ACCESS_ON_DEMAND", "this device has no on-demand paging (clear the flag)");
  }
  if (const unsigned unknown = flags & ~kKnownAccess) {
    return refused(EINVAL, "access {:#x}: unknown flags {:#x} (clear these flags)", access,
                   unknown);
  }
  const bool writes = (flags & kNeedsLocalWrite) != 0;
  if (!writes || (flags & IBV_ACCESS_LOCAL_WRITE) != 0) return 0;
  return refused(EINVAL,
                 "access {:#x}: IBV_ACCESS_REMOTE_WRITE and IBV_ACCESS_REMOTE_ATOMIC require "
                 "IBV_ACCESS_LOCAL_WRITE (add this flag)",
                 access);
}

Access to_access(unsigned flags) {
  // Never grants the peer the right to invalidate the region. A peer may invalidate only a window,
  // because a window belongs to one stream and a region does not. [RDMAP-113] [IBV-156]
  auto out = remote_access(flags);
  if ((flags & IBV_ACCESS_LOCAL_WRITE) != 0) out = out | Access::kLocalWrite;
  if ((flags & IBV_ACCESS_MW_BIND) != 0) out = out | Access::kBindWindow;
  return out;
}

/// Throws std::system_error with EIO if this process is the child of a fork and its parent opened
/// the context.
void check_alive(const Context& context) {
  if (!context.alive()) fail(EIO);
}

/// Returns the errno for a region that the core has refused with `error`. As in the kernel, the
/// errno is EFAULT if the address range is valid but is not mapped or not writable. [IBV-149,
/// IBV-150]
int why_not_registered(const std::error_code& error, const void* address, std::size_t length,
                       std::uint64_t iova) {
  const auto wraps = [length](std::uint64_t from) { return from + length - 1 < from; };
  const bool is_range =
      length != 0 && !wraps(reinterpret_cast<std::uintptr_t>(address)) && !wraps(iova);
  if (error != verbs::Errc::kInvalidArgument) return refused(error);
  if (!is_range) {
    return refused(EINVAL, "addr {}, length {}: {}", address, length,
                   length == 0 ? "length must be at least 1" : "the range ends above 2^64");
  }
  return refused(
      EFAULT,
      "addr {}, length {}: a page of the range is not mapped, or not writable although access has "
      "IBV_ACCESS_LOCAL_WRITE (map the page first, or register without IBV_ACCESS_LOCAL_WRITE)",
      address, length);
}

// [IBV-22]
net::Memory register_region(Pd& pd, void* address, std::size_t length, std::uint64_t iova,
                            unsigned access) {
  check_alive(pd.context);
  const std::uint64_t most = pd.context.device.limits().max_mr_size;
  if (length > most) fail(refused(EINVAL, "length {}: must be at most {}", length, most));
  if (Hooks* const hooks = pd.context.hooks) hooks->registering(pd.context);
  const std::span octets(static_cast<std::byte*>(address), length);
  auto memory = pd.context.rnic.register_memory(*pd.core, octets, to_access(access),
                                                net::MemoryOptions{.iova = iova});
  if (!memory) fail(why_not_registered(memory.error(), address, length, iova));
  return std::move(*memory);
}

// [IBV-128, IBV-129]
ibv_mr* register_memory(ibv_pd* handle, void* address, std::size_t length, std::uint64_t iova,
                        unsigned access) {
  return guarded_pointer<ibv_mr>([&]() -> ibv_mr* {
    Pd& pd = Pd::of(known(handle));
    if (const int code = check_access(access)) fail(code);
    Created<Mr> mr(new Mr{.pd = &pd,
                          .access = static_cast<int>(access),
                          .iova = iova,
                          .core = register_region(pd, address, length, iova, access)});
    ++pd.users;
    mr->abi = {.context = handle->context,
               .pd = handle,
               .addr = address,
               .length = length,
               .lkey = mr->core.stag().value,
               .rkey = mr->core.stag().value};
    mr->abi.handle = add_handle(mr.get(), handle->context);
    if (Hooks* const hooks = pd.context.hooks) hooks->registered(*mr);
    return &mr.release()->abi;
  });
}

/// Changes the access rights or the protection domain of a region. The address and the STag of the
/// region stay the same. [IBV-162, IBV-169]
void change_region(Mr& mr, Pd& pd, unsigned access) {
  check_alive(pd.context);
  if (Hooks* const hooks = pd.context.hooks) hooks->registering(pd.context);
  const auto error = mr.core.change(*pd.core, to_access(access));
  if (error) fail(why_not_registered(error, mr.abi.addr, mr.abi.length, mr.iova));
}

/// Call before a region is deregistered or changed. For each queue pair that has posted requests
/// but is still connecting, waits until the queue pair has connected or failed, or until one second
/// after its step to RTS. An adapter would already have read the memory of these requests. In this
/// library the requests have not been sent yet, and still need that memory. Fails in the child of a
/// fork, where the locks of the parent's queue pairs may be locked for ever.
void await_posted(const Context& context) {
  check_alive(context);
  for (const auto& service : context.core.services()) service->await_posted();
}

/// Moves the region to other memory, possibly with another protection domain and other access
/// rights. Registers the new memory before it deregisters the old memory. If the new registration
/// fails, the old one stays valid. [IBV-161]
int move_region(Mr& mr, Pd& pd, void* address, std::size_t length, std::uint64_t iova,
                unsigned access) {
  auto memory = register_region(pd, address, length, iova, access);
  if (Hooks* const hooks = pd.context.hooks) hooks->deregistering(mr);
  if (const auto error = mr.core.deregister()) return to_errno(error);
  mr.core = std::move(memory);
  return 0;
}

/// Returns the address that requests use for the first byte of the region: 0 with
/// IBV_ACCESS_ZERO_BASED, and otherwise `address`. [IBV-137]
std::uint64_t default_iova(const void* address, unsigned access) {
  return (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace

int destroy(Mr& mr) {
  if (Hooks* const hooks = mr.pd->context.hooks) hooks->deregistering(mr);
  await_posted(mr.pd->context);
  if (const auto error = mr.core.deregister()) return to_errno(error);
  --mr.pd->users;
  remove_handle(&mr);
  delete &mr;
  return 0;
}

// [IBV-180, IBV-181, IBV-182]
ibv_mw* alloc_mw(ibv_pd* handle, ibv_mw_type type) {
  const CallSite here(__builtin_return_address(0), "ibv_alloc_mw");
  return guarded_pointer<ibv_mw>([&] {
    if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) {
      fail(refused(EINVAL, "type {}: must be IBV_MW_TYPE_1 or IBV_MW_TYPE_2",
                   static_cast<int>(type)));
    }
    Pd& pd = Pd::of(known(handle));
    check_alive(pd.context);
    if (pd.context.device.limits().max_mw == 0) fail(refused("a memory window", "max_mw is 0"));
    if (Hooks* const hooks = pd.context.hooks) hooks->creating(pd.context);
    auto memory = pd.context.rnic.allocate_window(*pd.core);
    if (!memory) throw std::system_error(memory.error());
    auto mw = std::make_unique<Mw>(Mw{.pd = pd, .core = std::move(*memory)});
    mw->abi = {.context = handle->context,
               .pd = handle,
               .rkey = mw->core.stag().value,
               .handle = add_handle(mw.get(), handle->context),
               .type = type};
    ++pd.users;
    return &mw.release()->abi;
  });
}

// [IBV-187]
int dealloc_mw(ibv_mw* handle) {
  return guarded_call([&] {
    Mw& mw = Mw::of(known(handle));
    if (mw.pd.context.alive()) {
      if (const auto error = mw.core.deregister()) return to_errno(error);
      --mw.pd.users;
      remove_handle(&mw);
      delete &mw;
    }
    return 0;
  });
}

extern "C" {

// [IBV-117]
ibv_pd* ibv_alloc_pd(ibv_context* handle) {
  return guarded_pointer<ibv_pd>([&] {
    Context& context = Context::of(handle);
    check_alive(context);
    if (Hooks* const hooks = context.hooks) hooks->creating(context);
    auto core = context.rnic.alloc_pd();
    if (!core) throw std::system_error(core.error());
    std::unique_ptr<Pd> pd(new Pd{.context = context, .core = std::move(*core)});
    pd->abi = {.context = handle, .handle = add_handle(pd.get(), handle)};
    return &pd.release()->abi;
  });
}

// [RCM-265]
// [IBV-118]
int ibv_dealloc_pd(ibv_pd* handle) {
  return guarded_call([&] {
    Pd& pd = Pd::of(known(handle));
    if (!pd.context.alive()) return 0;
    if (pd.users.load() != 0) return EBUSY;
    remove_handle(&pd);
    delete &pd;
    return 0;
  });
}

#undef ibv_reg_mr
// [RCM-256, RCM-257, RCM-259, RCM-260, RCM-262]
ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  const CallSite here(__builtin_return_address(0), "ibv_reg_mr");
  const auto flags = static_cast<unsigned>(access);
  return register_memory(pd, address, length, default_iova(address, flags), flags);
}

#undef ibv_reg_mr_iova
// [IBV-144, IBV-145]
ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                        int access) {
  const CallSite here(__builtin_return_address(0), "ibv_reg_mr_iova");
  return register_memory(pd, address, length, iova, static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                         unsigned access) {
  // The headers call this function for ibv_reg_mr() and ibv_reg_mr_iova(), too.
  const CallSite here(__builtin_return_address(0), "ibv_reg_mr");
  if ((access & IBV_ACCESS_ZERO_BASED) != 0) iova = 0;
  return register_memory(pd, address, length, iova, access);
}

// [IBV-160, IBV-163, IBV-164, IBV-165, IBV-168]
int ibv_rereg_mr(ibv_mr* handle, int flags, ibv_pd* new_pd, void* address, std::size_t length,
                 int new_access) {
  const CallSite here(__builtin_return_address(0), "ibv_rereg_mr");
  constexpr int kKnown =
      IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;
  const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  const bool nowhere = moves && (length == 0 || address == nullptr);
  const bool unasked = new_access != 0 && (flags & IBV_REREG_MR_CHANGE_ACCESS) == 0;
  if ((flags & ~kKnown) != 0 || nowhere || unasked) {
    errno =
        refused(EINVAL, "flags {:#x}: {}", flags,
                nowhere   ? "with IBV_REREG_MR_CHANGE_TRANSLATION, addr and length must be set"
                : unasked ? "access is set, but IBV_REREG_MR_CHANGE_ACCESS is not"
                          : "only IBV_REREG_MR_CHANGE_TRANSLATION, _PD and _ACCESS are allowed");
    return IBV_REREG_MR_ERR_INPUT;
  }
  const bool changes_pd = (flags & IBV_REREG_MR_CHANGE_PD) != 0;
  const int unknown = guarded_call([&] {
    known(handle);
    if (changes_pd) known(new_pd);
  });
  if (unknown != 0) return IBV_REREG_MR_ERR_CMD;
  Mr& mr = Mr::of(handle);
  Pd& pd = changes_pd ? Pd::of(new_pd) : *mr.pd;
  const int access = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0 ? new_access : mr.access;
  void* const at = moves ? address : handle->addr;
  const std::size_t octets = moves ? length : handle->length;
  const auto bits = static_cast<unsigned>(access);
  const std::uint64_t iova = moves ? default_iova(at, bits) : mr.iova;
  const int code = guarded([&] {
    // Fails if no flag is set, as the kernel does. The libibverbs of rdma-core does not check
    // `flags` itself.
    if (flags == 0) return refused(EINVAL, "flags 0: at least one flag must be set");
    if (const int bad = check_access(bits)) return bad;
    await_posted(pd.context);
    if (moves) return move_region(mr, pd, at, octets, iova, bits);
    change_region(mr, pd, bits);
    return 0;
  });
  if (code != 0) {
    explain_failure(code);
    errno = code;
    return IBV_REREG_MR_ERR_CMD;
  }
  --mr.pd->users;
  ++pd.users;
  mr.pd = &pd;
  mr.access = access;
  mr.iova = iova;
  handle->pd = &pd.abi;
  handle->addr = at;
  handle->length = octets;
  handle->lkey = mr.core.stag().value;
  handle->rkey = handle->lkey;
  Hooks* const hooks = pd.context.hooks;
  if (hooks == nullptr) return 0;
  const int failed = guarded_call([&] { hooks->registered(mr); });
  return failed == 0 ? 0 : IBV_REREG_MR_ERR_CMD;
}

// [RCM-264]
// [IBV-147, IBV-148]
int ibv_dereg_mr(ibv_mr* handle) {
  const CallSite here(__builtin_return_address(0));
  return guarded_call([&] {
    Mr& mr = Mr::of(known(handle));
    return mr.pd->context.alive() ? destroy(mr) : 0;
  });
}

}  // extern "C"

}  // namespace iwarp::rdma_core
