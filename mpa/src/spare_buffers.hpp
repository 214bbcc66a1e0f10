// SPDX-License-Identifier: Apache-2.0
// Spare buffers: a framer has its ring, and a deframer its staging area, only while octets are in
// it. When the buffer is empty, or its owner is destroyed, the thread keeps it for the next framer
// or deframer that needs one. So a thread that serves many connections in turn uses the same few
// buffers, which stay in the cache of its processor. The threads of the process share what one of
// them cannot keep, because often one thread fills buffers (it posts) and another empties them (it
// waits for the socket).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace iwarp::mpa {

using Buffer = std::unique_ptr<std::byte[]>;

struct SpareBuffer {
  std::byte* octets;
  std::size_t size;
};

/// Buffers of one kind that one thread keeps for its next users. The type has no destructor, so
/// that access to the thread-local variable need not check whether it has been constructed. It is
/// small, because a library that a program opens while it runs has little space for such variables.
struct SpareBuffers {
  std::array<SpareBuffer, 2> spares;
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

/// Returns the buffer of `size` octets that the threads of the process shared last, or a new one.
/// Throws std::bad_alloc.
Buffer take_shared(std::size_t size);

/// Keeps the buffer in `spares` if this thread keeps its first buffer, and otherwise for all
/// threads of the process. They share at most 64 buffers, until the process ends; further buffers
/// are freed.
void give_further(SpareBuffers& spares, Buffer buffer, std::size_t size);

/// Returns a buffer of `size` octets: the spare buffer that this thread kept last, if that buffer
/// has this size, and otherwise a shared or a new buffer. Throws std::bad_alloc.
inline Buffer take(SpareBuffers& spares, std::size_t size) {
  if (spares.count != 0 && spares.spares[spares.count - 1U].size == size) [[likely]]
    return Buffer(spares.spares[--spares.count].octets);
  return take_shared(size);
}

/// Keeps the buffer for take(): the first two of a kind on this thread, further ones for all.
inline void give(SpareBuffers& spares, Buffer buffer, std::size_t size) {
  if (spares.count == spares.limit) [[unlikely]]
    return give_further(spares, std::move(buffer), size);
  spares.spares[spares.count++] = {.octets = buffer.release(), .size = size};
}

}  // namespace iwarp::mpa
