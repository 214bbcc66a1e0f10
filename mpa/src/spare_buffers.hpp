// SPDX-License-Identifier: Apache-2.0
// Spare buffers: a framer has its ring, and a deframer its staging area, only while octets are in
// it. When the buffer is empty, the thread keeps it for the next framer or deframer that needs one.
// So a thread that serves many connections in turn uses the same few buffers, which stay in the
// cache of its processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace iwarp::mpa {

using Buffer = std::unique_ptr<std::byte[]>;

/// Buffers of one kind that one thread keeps for its next users. The type has no destructor, so
/// that access to the thread-local variable need not check whether it has been constructed. It is
/// small, because a library that a program opens while it runs has little space for such variables.
struct SpareBuffers {
  struct Spare {
    std::byte* octets;
    std::size_t size;
  };
  /// Null, or space for 64.
  Spare* spares;
  std::uint8_t count;
  /// Largest permitted `count`. The limit is 0 before the thread keeps its first buffer, and again
  /// when the thread ends.
  std::uint8_t limit;
  bool is_over;
};
// The thread-local storage model lets code of a shared library access the variables without a
// function call.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local SpareBuffers spare_rings;
[[gnu::tls_model("initial-exec")]] extern constinit thread_local SpareBuffers spare_stages;

/// If this thread has no limit for `spares` yet and is not ending, sets the limit and returns true.
/// Otherwise, or without memory, returns false: the thread must not keep another buffer.
bool begin_to_hold(SpareBuffers& spares);

/// Returns a buffer of `size` octets: the spare buffer that this thread kept last, if that buffer
/// has this size, and otherwise a new buffer. Throws std::bad_alloc.
inline Buffer take(SpareBuffers& spares, std::size_t size) {
  if (spares.count != 0 && spares.spares[spares.count - 1U].size == size) [[likely]]
    return Buffer(spares.spares[--spares.count].octets);
  return std::make_unique_for_overwrite<std::byte[]>(size);
}

/// Keeps the buffer for take() on this thread. A thread keeps at most 64 buffers of a kind,
/// until it ends; give() frees any other buffer.
inline void give(SpareBuffers& spares, Buffer buffer, std::size_t size) {
  if (spares.count == spares.limit && !begin_to_hold(spares)) [[unlikely]]
    return;
  spares.spares[spares.count++] = {.octets = buffer.release(), .size = size};
}

}  // namespace iwarp::mpa
