// SPDX-License-Identifier: Apache-2.0
// The server's two halves of the file protocol; each serves one request of one client.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "transfer/file_store.hpp"
#include "transfer/message_stream.hpp"

namespace iwarp::apps {

/// Registered buffers of one window each, between file and wire. Must outlive the connection: a
/// request whose buffer is gone would break the stream and lose the last message.
class BufferRing {
 public:
  /// Registers as many buffers as a transfer of `size` bytes can use.
  void open(Session& session, std::uint64_t size, verbs::Access access);
  bool has_free() const { return !free_.empty(); }
  bool all_free() const { return free_.size() == buffers_.size(); }
  std::uint64_t take();
  void release(std::uint64_t index) { free_.push_back(index); }
  Buffer& operator[](std::uint64_t index) { return *buffers_[index]; }

 private:
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::deque<std::uint64_t> free_;
};

/// Serves a get: RDMA Writes `file` into the client's windows, then sends Done. Returns the digest.
Digest send_file(MessageStream& messages, BufferRing& ring, const SourceFile& file);

/// Serves a put: RDMA Reads `size` bytes from the client's windows into `file` and compares the
/// digest with that of the client's Finish. Returns the digest. The caller commits, then sends
/// Done.
Digest receive_file(MessageStream& messages, BufferRing& ring, std::uint64_t size, NewFile& file);

}  // namespace iwarp::apps
