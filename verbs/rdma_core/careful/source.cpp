// SPDX-License-Identifier: Apache-2.0
#include "careful/source.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "careful/symbol.hpp"
#include "careful/tool.hpp"

namespace iwarp::rdma_core::careful {
namespace {

/// One function at a place. If a function was inlined into another function, the inlined one comes
/// first in a list.
struct Source {
  std::string function;  ///< empty if the function is not known
  std::string line;      ///< "FILE:LINE"; empty if it is not known
};

/// Returns an address in the call instruction before the return address.
const char* call_before(const void* return_address) {
  return static_cast<const char*>(return_address) - 1;
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Formats the place as "MODULE+OFFSET (FUNCTION)". OFFSET is the address that addr2line expects.
std::string without_source(const void* return_address, const std::string& function = {}) {
  const char* const call = call_before(return_address);
  const auto module = find_module(call);
  if (!module) return "an unknown place";
  Dl_info found{};
  const bool is_exported = ::dladdr(call, &found) != 0 && found.dli_sname != nullptr;
  const std::string name = is_exported ? found.dli_sname : function;
  return fmt::format("{}+{:#x}{}", last_part(module->path),
                     reinterpret_cast<std::uintptr_t>(call) - module->bias,
                     name.empty() ? "" : fmt::format(" ({})", name));
}

/// Returns the name of a C++ function without its parameters.
std::string short_name(std::string name) {
  if (!name.ends_with(')')) return name;
  std::size_t depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    depth += name[i] == ')' ? 1 : 0;
    if (name[i] == '(' && --depth == 0) return i > 0 ? name.substr(0, i) : name;
  }
  return name;
}

std::string known(const std::string& text) { return text.starts_with("??") ? std::string() : text; }

/// Returns "FILE:LINE", without the text that the tools may append. Returns an empty string if the
/// line is not known.
std::string known_line(std::string text) {
  text = text.substr(0, text.find(" ("));
  return text.ends_with(":?") || text.ends_with(":0") ? std::string() : known(text);
}

/// Parses the output of the tools. For each address, the output has one line with the address, and
/// then two lines for each function.
std::vector<std::vector<Source>> parse(const std::string& text) {
  std::vector<std::vector<Source>> out;
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    if (end != at) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with("0x")) {
      out.emplace_back();
    } else if (!out.empty() && i + 1 < lines.size()) {
      out.back().push_back({short_name(known(lines[i])), known_line(lines[i + 1])});
      ++i;
    }
  }
  return out;
}

/// Returns the functions at the addresses of the place, up to the first address that is not in the
/// same module as the first one.
std::vector<std::vector<Source>> sources_of(const CallStack& place) {
  const auto module = find_module(call_before(place.frames[0]));
  if (!module || module->path.empty()) return {};
  std::vector<std::string> addresses;
  for (const void* const frame : place.frames) {
    if (frame == nullptr) break;
    const auto its = find_module(call_before(frame));
    if (!its || its->path != module->path) break;
    const auto call = reinterpret_cast<std::uintptr_t>(call_before(frame));
    addresses.push_back(fmt::format("{:#x}", call - module->bias));
  }
  // Tries addr2line first, because it is faster than llvm-symbolizer, and the program waits for the
  // result. addr2line may report lines of a header as lines of the file that includes the header;
  // comes_from_header() takes that into account.
  std::array<Words, 2> commands{Words{"addr2line"}, Words{"llvm-symbolizer", "--output-style=GNU"}};
  for (Words& words : commands) {
    words.insert(words.end(), {"-a", "-f", "-i", "-C", "-e", module->path});
    words.insert(words.end(), addresses.begin(), addresses.end());
  }
  return parse(output_of(commands));
}

/// Returns whether the function is from a header of rdma-core. Checks not only the file but also
/// the name of the function, because tools may report lines of a header as lines of the file that
/// includes the header.
bool comes_from_header(const Source& source) {
  constexpr std::array<std::string_view, 2> kHeaders{"/infiniband/verbs.h:", "/rdma/rdma_verbs.h:"};
  return is_of_header(source.function) ||
         std::ranges::any_of(kHeaders, [&](auto name) { return source.line.contains(name); });
}

std::string text_of(const Source& source, const void* return_address) {
  if (source.line.empty()) return without_source(return_address, source.function);
  return source.function.empty() ? source.line
                                 : fmt::format("{} ({})", source.line, source.function);
}

}  // namespace

std::string module_of(const void* address) {
  const auto module = find_module(address);
  return module ? last_part(module->path) : "";
}

Description describe(Site site) {
  if (site == nullptr) return {.place = "an unknown place", .caller = {}};
  Description out;
  const auto sources = sources_of(*site);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (const Source& source : sources[i]) {
      if (out.place.empty()) {
        if (!comes_from_header(source)) out.place = text_of(source, site->frames[i]);
      } else {
        if (!source.line.empty()) out.caller = text_of(source, site->frames[i]);
        return out;
      }
    }
  }
  if (out.place.empty()) out.place = without_source(site->frames[0]);
  return out;
}

}  // namespace iwarp::rdma_core::careful
