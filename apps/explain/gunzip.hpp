// SPDX-License-Identifier: Apache-2.0
// Gunzip: decompresses a gzip file (RFC 1952) with zlib while it is read. Holds one buffer,
// whatever size the file claims to have. Reads several members one after the other, and like
// gzip(1) ignores anything that follows them.
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
  /// Returns whether the file begins as a gzip file does. Consumes no octets.
  static bool is_gzip(std::FILE* file);

  /// Uses `packed` until the stream that open() returns is closed.
  explicit Gunzip(std::FILE* packed) : packed_(packed) {}
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  /// Returns the stream of decompressed octets, or nullptr if it cannot be created; see error().
  /// This object must outlive the stream. Closing the stream closes the compressed file. Call once.
  std::FILE* open();

  /// Decompresses the rest of the file, so that error() reports damage anywhere in it. A reader
  /// often meets invalid octets before zlib detects the damage. Call before the stream is closed.
  void check_rest();

  /// Returns how many octets of the compressed file have been decoded.
  std::uint64_t taken() const { return taken_ - stream_.avail_in; }
  /// Returns why decompression has failed; the text is empty if it has not. All octets before the
  /// damage have been returned.
  const std::string& error() const { return error_; }

 private:
  ssize_t read(char* out, std::size_t size);
  /// Reads more compressed octets if the buffer is empty. Returns false at the end of the file.
  bool fill();
  ssize_t fail(const std::string& why);

  std::FILE* packed_;
  z_stream stream_{};
  bool between_members_ = false;
  std::uint64_t taken_ = 0;
  std::string error_;
  /// Small, so that input from a pipe is decoded soon after it arrives.
  std::array<Bytef, 4096> in_;
};

}  // namespace iwarp::apps::explain
