// SPDX-License-Identifier: Apache-2.0
// SharedKeys: the pre-shared keys of a file (RFC 8446 section 4.2.11).
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace iwarp::tls {

class SharedKeys {
 public:
  struct Entry {
    std::string identity;
    std::vector<std::byte> key;
  };
  static std::expected<SharedKeys, std::string> read(const std::string& file);
  /// Does the same as read(), for the text of a file.
  static std::expected<SharedKeys, std::string> parse(std::string_view text);

  bool is_empty() const { return entries_.empty(); }
  const Entry& first() const { return entries_.front(); }
  /// Returns the entry with this identity, or null if there is none.
  const Entry* find(std::string_view identity) const;

 private:
  std::vector<Entry> entries_;
};

}  // namespace iwarp::tls
