// SPDX-License-Identifier: Apache-2.0
// Describes places by means of libdw (elfutils), which reads the symbols and the debug information
// of the programs and libraries in this process. libdw is loaded when it is first needed: programs
// that do not use careful mode never load it.
#include <cxxabi.h>
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "careful/site.hpp"

namespace iwarp::rdma_core::careful {
namespace {

/// The address of a function, which converts to a pointer to that function.
struct Symbol {
  void* address;
  template <typename Function>
  operator Function*() const {  // NOLINT(google-explicit-constructor): see Libdw
    return reinterpret_cast<Function*>(address);
  }
};

/// The functions of libdw. All of them are null if libdw is not installed.
struct Libdw {
  void* const library = ::dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
  decltype(&::dwfl_begin) begin = find("dwfl_begin");
  decltype(&::dwfl_end) end = find("dwfl_end");
  decltype(&::dwfl_report_elf) report_elf = find("dwfl_report_elf");
  decltype(&::dwfl_report_end) report_end = find("dwfl_report_end");
  decltype(&::dwfl_build_id_find_debuginfo) find_by_build_id = find("dwfl_build_id_find_debuginfo");
  decltype(&::dwfl_module_addrinfo) symbol_at = find("dwfl_module_addrinfo");
  decltype(&::dwfl_module_nextcu) next_unit = find("dwfl_module_nextcu");
  decltype(&::dwarf_haspc) has_pc = find("dwarf_haspc");
  decltype(&::dwarf_getsrc_die) line_at = find("dwarf_getsrc_die");
  decltype(&::dwarf_linesrc) file_of_line = find("dwarf_linesrc");
  decltype(&::dwarf_lineno) number_of_line = find("dwarf_lineno");
  decltype(&::dwarf_getscopes) scopes_at = find("dwarf_getscopes");
  decltype(&::dwarf_getscopes_die) scopes_of = find("dwarf_getscopes_die");
  decltype(&::dwarf_tag) tag = find("dwarf_tag");
  decltype(&::dwarf_attr_integrate) attribute = find("dwarf_attr_integrate");
  decltype(&::dwarf_formstring) string_of = find("dwarf_formstring");
  decltype(&::dwarf_formudata) number_of = find("dwarf_formudata");
  decltype(&::dwarf_getsrcfiles) files_of = find("dwarf_getsrcfiles");
  decltype(&::dwarf_filesrc) file_name = find("dwarf_filesrc");

  Symbol find(const char* name) const {
    return {library != nullptr ? ::dlsym(library, name) : nullptr};
  }
};

const Libdw& libdw() {
  static const Libdw kLibdw;
  return kLibdw;
}

/// Removes the parameters from the name of a C++ function.
std::string without_parameters(std::string name) {
  if (!name.ends_with(')')) return name;
  std::size_t depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    depth += name[i] == ')' ? 1 : 0;
    if (name[i] == '(' && --depth == 0) return i > 0 ? name.substr(0, i) : name;
  }
  return name;
}

std::string readable(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr), &std::free);
  return text ? without_parameters(text.get()) : name;
}

std::string place(const char* file, std::uint64_t line) {
  return file != nullptr && line != 0 ? fmt::format("{}:{}", file, line) : "";
}

std::string name_of(Dwarf_Die& function) {
  for (const unsigned which : {DW_AT_linkage_name, DW_AT_name}) {
    Dwarf_Attribute attribute;
    const char* const name = libdw().string_of(libdw().attribute(&function, which, &attribute));
    if (name != nullptr) return readable(name);
  }
  return {};
}

std::uint64_t number(Dwarf_Die& function, unsigned which) {
  Dwarf_Attribute attribute;
  Dwarf_Word out = 0;
  (void)libdw().number_of(libdw().attribute(&function, which, &attribute), &out);
  return out;
}

/// Returns the line of `unit` into which the compiler inlined `function`.
std::string call_of(Dwarf_Die& unit, Dwarf_Die& function) {
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (libdw().files_of(&unit, &files, &count) != 0) return {};
  const char* const file =
      libdw().file_name(files, number(function, DW_AT_call_file), nullptr, nullptr);
  return place(file, number(function, DW_AT_call_line));
}

std::string line_at(Dwarf_Die& unit, Dwarf_Addr pc) {
  int line = 0;
  Dwarf_Line* const found = libdw().line_at(&unit, pc);
  if (found == nullptr || libdw().number_of_line(found, &line) != 0) return {};
  return place(libdw().file_of_line(found, nullptr, nullptr), static_cast<unsigned>(line));
}

/// Returns the scopes that contain `pc`, the innermost one first.
std::vector<Dwarf_Die> scopes_at(Dwarf_Die& unit, Dwarf_Addr pc) {
  Dwarf_Die* found = nullptr;
  if (libdw().scopes_at(&unit, pc, &found) <= 0) return {};
  // For an inlined function, the scopes after the innermost one are those of its definition. The
  // second search returns the scopes of the place into which it was inlined.
  Dwarf_Die innermost = *found;
  std::free(found);
  const int count = libdw().scopes_of(&innermost, &found);
  if (count <= 0) return {};
  const std::unique_ptr<Dwarf_Die, decltype(&std::free)> kept(found, &std::free);
  return {found, found + count};
}

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

// libdw looks for debug information in the file itself and, by build ID, below /usr/lib/debug.
// dwfl_standard_find_debuginfo() is not used, because it might download debug information.
DebugInfo::DebugInfo(const std::string& path, std::uintptr_t bias) : error_(errno) {
  static const Dwfl_Callbacks kCallbacks{.find_elf = nullptr,
                                         .find_debuginfo = libdw().find_by_build_id,
                                         .section_address = nullptr,
                                         .debuginfo_path = nullptr};
  if (libdw().library == nullptr) return;
  session_ = libdw().begin(&kCallbacks);
  module_ = libdw().report_elf(session_, path.c_str(), path.c_str(), -1, bias, true);
  (void)libdw().report_end(session_, nullptr, nullptr);
}

DebugInfo::~DebugInfo() {
  if (session_ != nullptr) libdw().end(session_);
  errno = error_;
}

std::string DebugInfo::symbol(const void* address) const {
  if (module_ == nullptr) return {};
  GElf_Off offset = 0;
  GElf_Sym found{};
  const char* const name = libdw().symbol_at(module_, reinterpret_cast<std::uintptr_t>(address),
                                             &offset, &found, nullptr, nullptr, nullptr);
  if (name == nullptr || offset >= found.st_size) return {};
  // The compiler names parts and copies of a function by suffixes such as ".part.0" and ".cold".
  const std::string whole = name;
  return readable(whole.substr(0, whole.find('.')));
}

// Does not use dwfl_module_addrdie(), because versions of libdw before 0.192 need .debug_aranges
// for it, which Clang does not write.
std::vector<Source> DebugInfo::sources(const void* address) const {
  if (module_ == nullptr) return {};
  Dwarf_Addr pc = 0;
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = nullptr;
  do {
    unit = libdw().next_unit(module_, unit, &bias);
    pc = reinterpret_cast<std::uintptr_t>(address) - bias;
  } while (unit != nullptr && libdw().has_pc(unit, pc) <= 0);
  if (unit == nullptr) return {{symbol(address), {}}};
  std::vector<Source> out;
  std::string line = line_at(*unit, pc);
  for (Dwarf_Die& scope : scopes_at(*unit, pc)) {
    if (libdw().tag(&scope) != DW_TAG_inlined_subroutine) continue;
    out.push_back({name_of(scope), std::exchange(line, call_of(*unit, scope))});
  }
  out.push_back({symbol(address), line});
  return out;
}

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
