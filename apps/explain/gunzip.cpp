// SPDX-License-Identifier: Apache-2.0
// Creates a FILE from which a program reads the octets that inflate() has decompressed.
#include "explain/gunzip.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>

#include "common/base/error.hpp"

namespace iwarp::apps::explain {
namespace {

constexpr int kMagic = 0x1F;  ///< first octet of each member of a gzip file
/// Argument of inflateInit2(): the largest window, and a gzip header.
constexpr int kGzipWindow = MAX_WBITS + 16;

}  // namespace

bool Gunzip::is_gzip(std::FILE* file) {
  const int first = std::getc(file);
  std::ungetc(first, file);
  return first == kMagic;
}

std::FILE* Gunzip::open() {
  std::FILE* out = nullptr;
  if (inflateInit2(&stream_, kGzipWindow) == Z_OK) {
    out = fopencookie(
        this, "rb",
        {.read = [](void* self, char* octets,
                    std::size_t size) { return static_cast<Gunzip*>(self)->read(octets, size); },
         .write = nullptr,
         .seek = nullptr,
         .close = [](void* self) { return std::fclose(static_cast<Gunzip*>(self)->packed_); }});
  }
  if (out == nullptr) {
    error_ = "out of memory";
    std::fclose(packed_);
  }
  return out;
}

Gunzip::~Gunzip() { inflateEnd(&stream_); }

bool Gunzip::fill() {
  if (stream_.avail_in != 0) return true;
  const auto got = std::fread(in_.data(), 1, in_.size(), packed_);
  stream_.next_in = in_.data();
  stream_.avail_in = static_cast<uInt>(got);
  taken_ += got;
  return got != 0;
}

ssize_t Gunzip::read(char* out, std::size_t size) {
  const auto room =
      static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
  stream_.next_out = reinterpret_cast<Bytef*>(out);
  stream_.avail_out = room;
  while (stream_.avail_out == room) {
    if (!fill()) {
      if (std::ferror(packed_) != 0) return fail(errno_text());
      return between_members_ ? 0 : fail("the gzip file is truncated");
    }
    if (between_members_) {
      if (*stream_.next_in != kMagic) return 0;
      inflateReset(&stream_);
      between_members_ = false;
    }
    const int result = inflate(&stream_, Z_NO_FLUSH);
    between_members_ = result == Z_STREAM_END;
    // If some octets before the damage have been decoded, return them first. The next call of
    // inflate() fails again and reports the error.
    const bool failed = result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR;
    if (failed && stream_.avail_out == room) {
      const char* const why = stream_.msg != nullptr ? stream_.msg : zError(result);
      return fail(std::string("the gzip file is damaged: ") + why);
    }
  }
  return room - stream_.avail_out;
}

void Gunzip::check_rest() {
  std::array<char, 16 * 1024> octets;
  while (read(octets.data(), octets.size()) > 0) {
  }
}

ssize_t Gunzip::fail(const std::string& why) {
  error_ = why;
  errno = EIO;
  return -1;
}

}  // namespace iwarp::apps::explain
