// SPDX-License-Identifier: Apache-2.0
// Finds the names of functions in the file of a program or library, including functions that the
// file does not export.
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

/// Returns the program or library that contains this address, or nullopt if there is none.
std::optional<Module> find_module(const void* address);

/// Returns the symbol of the function at this address in the file. Returns an empty string if no
/// function is at this address, or if the file was stripped.
std::string symbol_of(const std::string& path, std::uint64_t address);

/// Returns whether `function` is one of the inline functions in rdma-core's headers through which
/// programs call the C interface.
bool is_of_header(std::string_view function);

}  // namespace iwarp::rdma_core::careful
