// SPDX-License-Identifier: Apache-2.0
// The objects that programs hold pointers to, each with a number, as the kernel numbers them. Calls
// that make, change or end objects ask here first; posting and polling do not, as nobody's do.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace iwarp::rdma_core {

/// Returns a number for a new object of the C interface that was made through `context`; not 0.
std::uint32_t add_handle(const void* object, const ibv_context* context);
void remove_handle(const void* object);

/// What a struct has to say of an object that exists.
struct Handle {
  std::uint32_t number = 0;  ///< 0: there is no such object
  const ibv_context* context = nullptr;
};
/// Looks an object up by its address, which is not followed.
Handle handle_of(const void* object);
[[noreturn]] void fail_unknown_handle();

/// Returns `object` if it is one: a struct that was ended or copied, or names another number or
/// another context than its own, is ENOENT, thrown as std::system_error.
template <typename Abi>
Abi* known(Abi* object) {
  const Handle handle = handle_of(object);
  if (handle.number == 0 || object->handle != handle.number || object->context != handle.context) {
    fail_unknown_handle();
  }
  return object;
}

}  // namespace iwarp::rdma_core
