// SPDX-License-Identifier: Apache-2.0
// The table of valid objects, to which programs hold pointers. Each has a number, as in the kernel.
// Calls that create, change or destroy objects check with this table whether their arguments are
// valid. As in every provider, calls that post or poll do not check their arguments.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace iwarp::rdma_core {

/// Adds a new object of the C interface that was made through `context`. Returns its number, which
/// is not 0.
std::uint32_t add_handle(const void* object, const ibv_context* context);
void remove_handle(const void* object);

/// The number and context that the C struct of a valid object contains.
struct Handle {
  std::uint32_t number = 0;  ///< 0: there is no such object
  const ibv_context* context = nullptr;
};
/// Looks an object up by its address. Does not dereference the pointer.
Handle handle_of(const void* object);
[[noreturn]] void fail_unknown_handle();

/// Returns `object` if it is valid. Throws std::system_error with ENOENT if the object was
/// destroyed, if the struct is a copy, or if its `handle` or `context` was changed.
template <typename Abi>
Abi* known(Abi* object) {
  const Handle handle = handle_of(object);
  if (handle.number == 0 || object->handle != handle.number || object->context != handle.context) {
    fail_unknown_handle();
  }
  return object;
}

}  // namespace iwarp::rdma_core
