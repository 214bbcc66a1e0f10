// SPDX-License-Identifier: Apache-2.0
#include "careful/source.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "careful/debug_info.hpp"

namespace iwarp::rdma_core::careful {
namespace {

/// The program or library that contains an address.
struct Module {
  std::string path;
  std::uintptr_t bias = 0;  ///< difference between addresses in memory and in the file
  std::string exported;     ///< the function at the address, if the module exports it
};

std::optional<Module> find_module(const void* address) {
  Dl_info found{};
  void* extra = nullptr;
  if (::dladdr1(address, &found, &extra, RTLD_DL_LINKMAP) == 0) return std::nullopt;
  const auto& map = *static_cast<const link_map*>(extra);
  Module out{.path = map.l_name, .bias = map.l_addr, .exported = {}};
  if (found.dli_sname != nullptr) out.exported = found.dli_sname;
  // In the link map of the program itself, the name is empty.
  std::error_code ignored;
  if (out.path.empty()) out.path = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return out;
}

/// Returns an address in the call instruction before the return address.
const char* call_before(const void* return_address) {
  return static_cast<const char*>(return_address) - 1;
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Returns whether `function` is one of the inline functions in rdma-core's headers through which
/// programs call the C interface.
bool is_of_header(std::string_view function) {
  constexpr std::array<std::string_view, 8> kFunctions{
      "ibv_",
      "__ibv_",
      "___ibv_",
      "rdma_post_",
      "rdma_get_send_comp",
      "rdma_get_recv_comp",
      "rdma_reg_",
      "rdma_dereg_mr",
  };
  return std::ranges::any_of(kFunctions, [&](auto name) { return function.starts_with(name); });
}

/// Returns "FILE:LINE (FUNCTION)", or "MODULE+OFFSET (FUNCTION)" if the line is not known. OFFSET
/// is the address that addr2line expects.
std::string text_of(const Source& source, const Module& module, const char* call) {
  const std::string& function = source.function.empty() ? module.exported : source.function;
  const std::string place = source.line.empty()
                                ? fmt::format("{}+{:#x}", last_part(module.path),
                                              reinterpret_cast<std::uintptr_t>(call) - module.bias)
                                : source.line;
  return function.empty() ? place : fmt::format("{} ({})", place, function);
}

}  // namespace

std::string module_of(const void* address) {
  const auto module = find_module(address);
  return module ? last_part(module->path) : "";
}

bool is_in_header(const void* return_address) {
  const char* const call = call_before(return_address);
  const auto module = find_module(call);
  return module && is_of_header(DebugInfo(module->path, module->bias).symbol(call));
}

Description describe(Site site) {
  const auto first = site != nullptr ? find_module(call_before(site->frames[0])) : std::nullopt;
  if (!first) return {.place = "an unknown location", .caller = {}};
  const DebugInfo info(first->path, first->bias);
  Description out;
  for (const void* const frame : site->frames) {
    if (frame == nullptr) break;
    const char* const call = call_before(frame);
    const auto module = find_module(call);
    if (!module || module->path != first->path) break;
    for (const Source& source : info.sources(call)) {
      if (!out.place.empty()) {
        if (!source.line.empty()) out.caller = text_of(source, *module, call);
        return out;
      }
      if (!is_of_header(source.function)) out.place = text_of(source, *module, call);
    }
  }
  if (out.place.empty()) out.place = text_of({}, *first, call_before(site->frames[0]));
  return out;
}

}  // namespace iwarp::rdma_core::careful
