// SPDX-License-Identifier: Apache-2.0
// DebugInfo: reads the symbols and the debug information of a program or library in this process.
// It uses libdw (elfutils), which it loads when it is first needed: programs that do not use
// careful mode never load libdw.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct Dwfl;
struct Dwfl_Module;

namespace iwarp::rdma_core::careful {

/// A function, and the line that it was executing.
struct Source {
  std::string function;  ///< without its parameters; empty if it is not known
  std::string line;      ///< "FILE:LINE"; empty if it is not known
};

/// Without libdw, or if the file cannot be read, finds nothing. Restores errno when it is
/// destroyed.
class DebugInfo {
 public:
  /// Opens the file `path`. `bias` is the difference between addresses in memory and in the file.
  DebugInfo(const std::string& path, std::uintptr_t bias);
  ~DebugInfo();
  DebugInfo(const DebugInfo&) = delete;
  DebugInfo& operator=(const DebugInfo&) = delete;

  /// Returns the name of the function whose code contains the address, even if the file does not
  /// export this function. Returns an empty string if the file was stripped.
  std::string symbol(const void* address) const;
  /// Returns the function whose code contains the address. The functions that were inlined there
  /// precede it, the innermost one first.
  std::vector<Source> sources(const void* address) const;

 private:
  int error_;
  Dwfl* session_ = nullptr;
  Dwfl_Module* module_ = nullptr;
};

}  // namespace iwarp::rdma_core::careful
