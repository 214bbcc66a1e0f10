// SPDX-License-Identifier: Apache-2.0
// The objects that programs hold pointers to, each with a number, as the kernel numbers them. Calls
// that make, change or end objects ask here first; posting and polling do not, as nobody's do.
#pragma once

#include <cstdint>

namespace iwarp::rdma_core {

/// A number for a new object of the C interface; not 0.
std::uint32_t add_handle(const void* object);
void remove_handle(const void* object);
/// 0: there is no such object. The pointer is not followed.
std::uint32_t number_of(const void* object);
[[noreturn]] void fail_unknown_handle();

/// The object, if it is one: a struct that was ended, copied, or has another number is ENOENT,
/// thrown as std::system_error.
template <typename Abi>
Abi* known(Abi* object) {
  const auto number = number_of(object);
  if (number == 0 || object->handle != number) fail_unknown_handle();
  return object;
}

}  // namespace iwarp::rdma_core
