// SPDX-License-Identifier: Apache-2.0
// Names of functions in the file of a program or library, including those that it does not export.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace iwarp::rdma_core::careful {

struct Module {
  std::string path;
  std::uintptr_t bias = 0;  ///< difference between addresses in memory and in the file
};

/// Returns the program or library that contains this address, if any.
std::optional<Module> find_module(const void* address);

/// Returns the symbol of the function at this address in the file; empty if there is none or the
/// file was stripped.
std::string symbol_of(const std::string& path, std::uint64_t address);

/// Returns whether it is a function of rdma-core's headers that programs call and that calls the C
/// interface.
bool is_of_header(std::string_view function);

}  // namespace iwarp::rdma_core::careful
