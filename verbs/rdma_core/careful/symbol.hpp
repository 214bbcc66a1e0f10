// SPDX-License-Identifier: Apache-2.0
// Names of functions in the file of a program or library, also of those that it does not export.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace iwarp::rdma_core::careful {

struct Module {
  std::string path;
  std::uintptr_t bias = 0;  ///< what its addresses are more than those in the file
};

/// The program or library that has this address; empty: none.
std::optional<Module> find_module(const void* address);

/// The symbol of the function that has this address in the file; empty: none, or it was stripped.
std::string symbol_of(const std::string& path, std::uint64_t address);

/// A function of rdma-core's headers: one that programs call, and that calls the C interface.
bool is_of_header(std::string_view function);

}  // namespace iwarp::rdma_core::careful
