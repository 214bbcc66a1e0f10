// SPDX-License-Identifier: Apache-2.0
// Authorities and certificates, made on demand.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "openssl.hpp"

namespace iwarp::tls {

/// A temporary directory, removed with its contents.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return path_ / name; }
  /// Writes a file; returns its path.
  std::string file(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

using KeyPtr = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;

/// Paths of a certificate and its key.
struct Issued {
  std::string certificate;
  std::string key;
};

class Authority {
 public:
  explicit Authority(std::string name);
  /// Issues a certificate for a host name or address. It is valid from yesterday on for `days`
  /// days; with 0 it has expired.
  Issued issue(const std::string& name, int days = 2) const;
  std::string file() const { return file_; }

 private:
  const std::string name_;
  const std::shared_ptr<const Folder> folder_;
  KeyPtr key_;
  CertificatePtr own_;
  std::string file_;
};

}  // namespace iwarp::tls
