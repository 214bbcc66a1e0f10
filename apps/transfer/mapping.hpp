// SPDX-License-Identifier: Apache-2.0
// Mapping: maps a part of a file into memory, read-only.
#pragma once

#include <cstdint>
#include <utility>

#include "iwarp/bytes/view.hpp"
#include "transfer/file_store.hpp"

namespace iwarp::apps {

class Mapping {
 public:
  Mapping() = default;
  /// Maps `length` bytes at `offset`, which must be a multiple of the page size. Throws Error if
  /// the mapping fails.
  Mapping(const SourceFile& file, std::uint64_t offset, std::size_t length);
  Mapping(Mapping&& o) noexcept : octets_(std::exchange(o.octets_, {})) {}
  Mapping& operator=(Mapping&& o) noexcept {
    std::swap(octets_, o.octets_);
    return *this;
  }
  ~Mapping();
  bytes::View octets() const { return octets_; }

 private:
  bytes::Span octets_;
};

/// Installs a SIGBUS handler that prints `line`, a static text, and ends the program with status 1.
/// The kernel sends SIGBUS when this program accesses pages that another program has truncated from
/// a mapped file.
void explain_sigbus(const char* line);

}  // namespace iwarp::apps
