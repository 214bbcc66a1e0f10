// SPDX-License-Identifier: Apache-2.0
#include "careful/symbol.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <vector>

namespace iwarp::rdma_core::careful {
namespace {

// Maximum size in bytes of a table in an ELF file. Larger tables are not read.
constexpr std::uint64_t kMaxTable = std::uint64_t{1} << 28;
constexpr std::size_t kMaxName = 128;

std::string executable() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).string();
}

template <typename T>
std::vector<T> read_table(std::ifstream& in, std::uint64_t at, std::uint64_t size) {
  if (size > kMaxTable) return {};
  std::vector<T> out(size / sizeof(T));
  in.clear();
  in.seekg(static_cast<std::streamoff>(at));
  const auto wanted = static_cast<std::streamsize>(out.size() * sizeof(T));
  if (!in.read(reinterpret_cast<char*>(out.data()), wanted)) return {};
  return out;
}

}  // namespace

std::optional<Module> find_module(const void* address) {
  Dl_info found{};
  void* extra = nullptr;
  if (::dladdr1(address, &found, &extra, RTLD_DL_LINKMAP) == 0) return std::nullopt;
  const auto& map = *static_cast<const link_map*>(extra);
  // In the link map of the program itself, the name is empty.
  const bool is_named = map.l_name != nullptr && *map.l_name != '\0';
  return Module{is_named ? map.l_name : executable(), map.l_addr};
}

std::string symbol_of(const std::string& path, std::uint64_t address) {
  std::ifstream in(path, std::ios::binary);
  const auto header = read_table<ElfW(Ehdr)>(in, 0, sizeof(ElfW(Ehdr)));
  if (header.empty() || header[0].e_shentsize != sizeof(ElfW(Shdr))) return {};
  const auto sections = read_table<ElfW(Shdr)>(
      in, header[0].e_shoff, std::uint64_t{header[0].e_shnum} * sizeof(ElfW(Shdr)));
  const auto table = std::ranges::find(sections, ElfW(Word){SHT_SYMTAB}, &ElfW(Shdr)::sh_type);
  if (table == sections.end() || table->sh_link >= sections.size()) return {};
  const auto symbols = read_table<ElfW(Sym)>(in, table->sh_offset, table->sh_size);
  const auto it = std::ranges::find_if(symbols, [address](const ElfW(Sym) & symbol) {
    return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && address - symbol.st_value < symbol.st_size;
  });
  if (it == symbols.end()) return {};
  std::array<char, kMaxName> name{};
  in.clear();
  in.seekg(static_cast<std::streamoff>(sections[table->sh_link].sh_offset + it->st_name));
  in.read(name.data(), name.size() - 1);
  return name.data();
}

bool is_of_header(std::string_view function) {
  constexpr std::array<std::string_view, 7> kFunctions{
      "ibv_",      "__ibv_", "___ibv_", "rdma_post_", "rdma_get_send_comp", "rdma_get_recv_comp",
      "rdma_reg_",
  };
  // The mangled name of a static C++ function begins with "_ZL" and the length of the name.
  if (function.starts_with("_ZL")) {
    function.remove_prefix(3);
    function.remove_prefix(std::min(function.find_first_not_of("0123456789"), function.size()));
  }
  return std::ranges::any_of(kFunctions, [&](auto name) { return function.starts_with(name); });
}

}  // namespace iwarp::rdma_core::careful
