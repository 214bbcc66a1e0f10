// SPDX-License-Identifier: Apache-2.0
// The server's side of get and put. Each function serves one request of one client.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "transfer/file_store.hpp"
#include "transfer/message_stream.hpp"

namespace iwarp::apps {

/// A ring of registered buffers through which the file is transferred. Each buffer is as large as a
/// window. The ring must outlive the connection: deregistering the buffer of an outstanding request
/// would end the stream and lose the last message.
class BufferRing {
 public:
  /// Registers as many buffers as a transfer of `size` bytes can use at the same time.
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

/// Serves a get: RDMA Writes `file` into the client's windows, and then sends Done. Returns the
/// digest.
Digest send_file(MessageStream& messages, BufferRing& ring, const SourceFile& file);

/// Serves a put: RDMA Reads `size` bytes from the client's windows into `file`, and compares the
/// digest with the one in the client's Finish. Returns the digest. The caller must then call
/// commit() for the file and send Done.
Digest receive_file(MessageStream& messages, BufferRing& ring, std::uint64_t size, NewFile& file);

}  // namespace iwarp::apps
