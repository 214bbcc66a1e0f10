// SPDX-License-Identifier: Apache-2.0
// The table of the objects to which the program has pointers. As in the kernel, each object has a
// number. Calls that create, change or destroy objects look up their arguments in this table to
// check that they are valid. As in every provider of rdma-core, calls that post or poll do not
// check their arguments.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace iwarp::rdma_core {

/// Adds a new object that the program has created through `context`. Returns the number of the
/// object, which is not 0.
std::uint32_t add_handle(const void* object, const ibv_context* context);
void remove_handle(const void* object);

/// The number and the context that the C struct of a valid object must contain.
struct Handle {
  std::uint32_t number = 0;  ///< 0 if the table does not contain the object
  const ibv_context* context = nullptr;
};
/// Looks up an object by its address, without dereferencing the pointer.
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
