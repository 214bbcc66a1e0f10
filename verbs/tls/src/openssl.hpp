// SPDX-License-Identifier: Apache-2.0
// Owning pointers for OpenSSL's objects.
#pragma once

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>

namespace iwarp::tls {

template <auto kFree>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using SslContextPtr = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, Freed<SSL_free>>;
using SessionPtr = std::unique_ptr<SSL_SESSION, Freed<SSL_SESSION_free>>;
using BioPtr = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using CertificatePtr = std::unique_ptr<X509, Freed<X509_free>>;

}  // namespace iwarp::tls
