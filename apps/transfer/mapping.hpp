// SPDX-License-Identifier: Apache-2.0
// A piece of a file mapped into memory, read only.
#pragma once

#include <cstdint>
#include <utility>

#include "iwarp/bytes/view.hpp"
#include "transfer/file_store.hpp"

namespace iwarp::apps {

class Mapping {
 public:
  Mapping() = default;
  /// `offset` is a multiple of the page size. Error: it cannot be mapped.
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

/// When a mapped file is cut short by somebody else, touching the pages that are gone raises
/// SIGBUS. From now on that prints `line`, a static text, and ends the program with status 1.
void explain_sigbus(const char* line);

}  // namespace iwarp::apps
