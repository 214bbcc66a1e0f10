// SPDX-License-Identifier: Apache-2.0
// Certificate authorities and certificates, which are made when a test needs them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "openssl.hpp"

namespace iwarp::tls {

/// A temporary directory. The destructor removes it with its contents.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return path_ / name; }
  /// Writes a file into the directory. Returns its path.
  std::string file(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

using KeyPtr = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;

/// The paths of a certificate and of its key.
struct Issued {
  std::string certificate;
  std::string key;
};

class Authority {
 public:
  explicit Authority(std::string name);
  /// Issues a certificate for a host name or address. It is valid for `days` days, beginning
  /// yesterday. If `days` is 0, it has already expired.
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
