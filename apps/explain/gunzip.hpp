// SPDX-License-Identifier: Apache-2.0
// Gunzip: a gzip file (RFC 1952) as a stream of the octets inside, by zlib. Decodes while it is
// read and holds one buffer, whatever the file claims to contain. Reads several members one after
// the other; like gzip(1), ignores what follows them.
#pragma once

#include <sys/types.h>
#include <zlib.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

namespace iwarp::apps::explain {

class Gunzip {
 public:
  /// Returns whether the file begins as gzip files do. Consumes nothing.
  static bool is_gzip(std::FILE* file);

  /// Borrows `packed` until the stream that open() returns is closed.
  explicit Gunzip(std::FILE* packed) : packed_(packed) {}
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  /// Returns the stream, which this object must outlive, or nullptr, see error(). Closing it closes
  /// the packed file. Call once.
  std::FILE* open();

  /// Decodes the rest, so that error() tells whether the file is whole: damage often yields
  /// nonsense octets before zlib notices it. Call before the stream is closed.
  void check_rest();

  /// Returns the number of octets of the packed file that were decoded.
  std::uint64_t taken() const { return taken_ - stream_.avail_in; }
  /// Returns why nothing more can be decoded; empty: no error. Everything before was decoded.
  const std::string& error() const { return error_; }

 private:
  ssize_t read(char* out, std::size_t size);
  /// Returns whether there are octets to decode.
  bool fill();
  ssize_t fail(const std::string& why);

  std::FILE* packed_;
  z_stream stream_{};
  bool between_members_ = false;
  std::uint64_t taken_ = 0;
  std::string error_;
  std::array<Bytef, 4096> in_;  ///< small, so that input from a pipe is shown soon
};

}  // namespace iwarp::apps::explain
