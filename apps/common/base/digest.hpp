// SPDX-License-Identifier: Apache-2.0
// SHA-256 of data that arrives in pieces, computed by OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "iwarp/bytes/view.hpp"

struct evp_md_ctx_st;

namespace iwarp::apps {

using Digest = std::array<std::byte, 32>;

class Sha256 {
 public:
  Sha256();
  void update(bytes::View octets);
  /// Returns the digest of all bytes added so far. The object cannot be used afterwards.
  Digest finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

std::string to_hex(const Digest& digest);

}  // namespace iwarp::apps
