// SPDX-License-Identifier: Apache-2.0
// Gunzip: decompresses a gzip file (RFC 1952) with zlib while the file is read. It holds one buffer
// of fixed size, whatever size the file claims to have. It reads all members of the file one after
// the other and, like gzip(1), ignores anything that follows them.
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
  /// Returns whether the file begins with the magic number of gzip. Consumes no octets.
  static bool is_gzip(std::FILE* file);

  /// The caller must not read `packed` any more after open(), which takes ownership of it.
  explicit Gunzip(std::FILE* packed) : packed_(packed) {}
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  /// Returns a stream from which the decompressed octets can be read. Returns nullptr if the stream
  /// cannot be created; error() then says why. The Gunzip must outlive the stream. Closing the
  /// stream also closes the compressed file. Call open() only once.
  std::FILE* open();

  /// Decompresses the rest of the file, so that error() reports damage anywhere in the file.
  /// Without this call, a reader that stops at invalid octets may miss damage that zlib would
  /// detect later. Call it before closing the stream.
  void check_rest();

  /// Returns the number of octets of the compressed file that have been decompressed.
  std::uint64_t taken() const { return taken_ - stream_.avail_in; }
  /// Returns why decompression has failed, or an empty text. All octets before the damage have been
  /// returned by then.
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
  /// Input buffer. It is small, so that input from a pipe is decompressed soon after it arrives.
  std::array<Bytef, 4096> in_;
};

}  // namespace iwarp::apps::explain
