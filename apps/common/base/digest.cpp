// SPDX-License-Identifier: Apache-2.0
// Computes SHA-256 with OpenSSL's EVP interface, which uses the processor's SHA instructions.
#include "common/base/digest.hpp"

#include <openssl/evp.h>

#include "common/base/error.hpp"
#include "iwarp/bytes/hex.hpp"

namespace iwarp::apps {

namespace {

void require(int openssl_result) {
  if (openssl_result != 1) throw Error("cannot compute SHA-256: OpenSSL does not provide it");
}

}  // namespace

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  require(context_ ? EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) : 0);
}

void Sha256::update(bytes::View octets) {
  require(EVP_DigestUpdate(context_.get(), octets.data(), octets.size()));
}

Digest Sha256::finish() {
  Digest digest{};
  require(
      EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr));
  return digest;
}

std::string to_hex(const Digest& digest) { return bytes::to_hex(digest, 0); }

}  // namespace iwarp::apps
