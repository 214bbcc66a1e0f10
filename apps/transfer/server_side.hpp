// SPDX-License-Identifier: Apache-2.0
// The server's two halves of the file protocol, each for one request of one client.
#pragma once

#include "transfer/file_store.hpp"
#include "transfer/message_stream.hpp"

namespace iwarp::apps {

/// A get: RDMA Writes `file` into the client's windows, then says Done. Returns the digest.
Digest send_file(MessageStream& messages, const SourceFile& file);

/// A put: RDMA Reads `size` octets from the client's windows into `file`, until the client's Finish
/// agrees with what came. Returns the digest. The caller commits, then says Done.
Digest receive_file(MessageStream& messages, std::uint64_t size, NewFile& file);

}  // namespace iwarp::apps
