// SPDX-License-Identifier: Apache-2.0
// Makes X.509 certificates with OpenSSL.
#include "certificates.hpp"

#include <doctest/doctest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include <cstdio>
#include <fstream>

namespace iwarp::tls {
namespace {

constexpr long kDay = 24 * 60 * 60;

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FilePtr = std::unique_ptr<std::FILE, Closer>;

KeyPtr make_key() { return KeyPtr(EVP_EC_gen("P-256")); }

void add_extension(X509* certificate, X509* issuer, int which, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, which, value.c_str());
  REQUIRE(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

CertificatePtr make_certificate(const std::string& name, EVP_PKEY* key, long seconds) {
  static long serial = 1;
  CertificatePtr out(X509_new());
  X509_set_version(out.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(out.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(out.get()), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(out.get()), seconds);
  X509_set_pubkey(out.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(out.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return out;
}

void write(const std::string& path, X509* certificate) {
  const FilePtr file(std::fopen(path.c_str(), "w"));
  REQUIRE(PEM_write_X509(file.get(), certificate) == 1);
}

void write(const std::string& path, EVP_PKEY* key) {
  const FilePtr file(std::fopen(path.c_str(), "w"));
  REQUIRE(PEM_write_PrivateKey(file.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
}

}  // namespace

Folder::Folder() {
  std::string name = std::filesystem::temp_directory_path() / "iwarp-tls-XXXXXX";
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Folder::file(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name) << text;
  return file(name);
}

Authority::Authority(std::string name)
    : name_(std::move(name)), folder_(std::make_shared<Folder>()), key_(make_key()) {
  own_ = make_certificate(name_, key_.get(), kDay);
  X509_set_issuer_name(own_.get(), X509_get_subject_name(own_.get()));
  add_extension(own_.get(), own_.get(), NID_basic_constraints, "critical,CA:TRUE");
  REQUIRE(X509_sign(own_.get(), key_.get(), EVP_sha256()) > 0);
  file_ = folder_->file("authority.pem");
  write(file_, own_.get());
}

Issued Authority::issue(const std::string& name, int days) const {
  const auto key = make_key();
  const auto certificate = make_certificate(name, key.get(), days * kDay - kDay / 2);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(own_.get()));
  const bool is_address = name.find_first_not_of("0123456789.") == std::string::npos;
  add_extension(certificate.get(), own_.get(), NID_subject_alt_name,
                (is_address ? "IP:" : "DNS:") + name);
  REQUIRE(X509_sign(certificate.get(), key_.get(), EVP_sha256()) > 0);
  const auto stem = name + "-" + std::to_string(days);
  Issued out{.certificate = folder_->file(stem + ".pem"), .key = folder_->file(stem + ".key")};
  write(out.certificate, certificate.get());
  write(out.key, key.get());
  return out;
}

}  // namespace iwarp::tls
