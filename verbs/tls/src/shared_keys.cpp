// SPDX-License-Identifier: Apache-2.0
// Reads and checks a file of pre-shared keys: one IDENTITY:KEY per line, the key in hexadecimal.
// Empty lines and lines that begin with # are ignored; the first line with an error is reported.
#include "shared_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "iwarp/bytes/hex.hpp"

namespace iwarp::tls {
namespace {

constexpr std::size_t kMinKey = 16;
constexpr std::size_t kMaxKey = 64;
constexpr std::size_t kMaxIdentity = 128;
constexpr std::size_t kMaxFile = 1024 * 1024;

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

std::expected<SharedKeys::Entry, std::string> parse_line(std::string_view line) {
  // Split at the last colon: the identity may contain colons, but the key cannot.
  const auto colon = line.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon > kMaxIdentity) {
    return std::unexpected(
        fmt::format("must be IDENTITY:HEX, where IDENTITY has 1 to {} octets and HEX is the key",
                    kMaxIdentity));
  }
  auto key = bytes::from_hex(line.substr(colon + 1));
  if (!key || key->size() < kMinKey || key->size() > kMaxKey) {
    return std::unexpected(fmt::format(
        "the key must be {} to {} octets, written as two hex digits each", kMinKey, kMaxKey));
  }
  return SharedKeys::Entry{.identity = std::string(line.substr(0, colon)), .key = std::move(*key)};
}

}  // namespace

std::expected<SharedKeys, std::string> SharedKeys::read(const std::string& file) {
  const std::unique_ptr<std::FILE, Closer> in(std::fopen(file.c_str(), "re"));
  if (in == nullptr) {
    return std::unexpected(
        fmt::format("cannot read {}: {}", file, std::generic_category().message(errno)));
  }
  std::string text(kMaxFile, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), in.get()));
  auto out = parse(text);
  if (!out) return std::unexpected(fmt::format("{}: {}", file, out.error()));
  return out;
}

std::expected<SharedKeys, std::string> SharedKeys::parse(std::string_view text) {
  SharedKeys out;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    auto entry = parse_line(line);
    if (!entry) return std::unexpected(fmt::format("line {}: {}", number, entry.error()));
    if (out.find(entry->identity) != nullptr) {
      return std::unexpected(fmt::format("line {}: duplicate identity", number));
    }
    out.entries_.push_back(std::move(*entry));
  }
  if (out.is_empty()) return std::unexpected("the file contains no key");
  return out;
}

const SharedKeys::Entry* SharedKeys::find(std::string_view identity) const {
  const auto it = std::ranges::find(entries_, identity, &Entry::identity);
  return it != entries_.end() ? &*it : nullptr;
}

}  // namespace iwarp::tls
