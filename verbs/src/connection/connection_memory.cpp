// SPDX-License-Identifier: Apache-2.0
// How a connection stops using memory that is deregistered, invalidated or unmapped. After
// deregistration, neither end is permitted to use the memory; after invalidation, the peer is not
// (RFC 5042 section 6.2.2, verbs draft sections 7.10.3 and 7.10.4). The application may also unmap
// memory that is still registered (rfc-notes/decisions/0026).
#include <algorithm>

#include "connection/connection_impl.hpp"
#include "iwarp/bytes/touch.hpp"

namespace iwarp::verbs {
namespace {

bool overlaps(const bytes::Scatter& pieces, bytes::View memory) {
  const auto inside = [memory](const bytes::Span& piece) {
    return piece.data() < memory.data() + memory.size() &&
           memory.data() < piece.data() + piece.size();
  };
  return std::any_of(pieces.begin(), pieces.end(), inside);
}

}  // namespace

void Connection::revoke(const Region& region, TimePoint now) {
  if (full_ == nullptr || full_->port == nullptr) return;
  Full& f = *full_;
  const bytes::View memory(region.address, region.length);
  const auto copied = f.framer.counters().octets_copied;
  if (!f.framer.detach(memory)) memory_gone(bytes::touching.address);
  const bool is_source = f.framer.counters().octets_copied != copied;
  const bool is_target = f.port->holds(region);
  const bool mid_message = !f.stream.at_message_boundary();
  break_early(memory);
  const bool is_needed = f.port->revoke(region, mid_message);
  if (is_source || is_target || is_needed) ++f.pins_broken;
  if (is_needed) local_error();
  settle(now);
}

void Connection::withdraw(const Region& region, TimePoint now) {
  if (full_ == nullptr || full_->port == nullptr) return;
  Full& f = *full_;
  if (!f.port->holds(region)) return;
  ++f.pins_broken;
  break_early({region.address, static_cast<std::size_t>(region.length)});
  if (f.port->withdraw(region)) local_error();
  settle(now);
}

// Ends the stream, because neither the message in progress nor any later message of either end can
// be completed. Because the peer has made no error, the request or receive of this end that names
// the memory fails. [RDMAP-92] [VRB-54]
void Connection::memory_gone(const std::byte* address) {
  Full& f = *full_;
  events_.push_back(
      {.type = ConnectionEvent::Type::kMemoryGone, .failure = {}, .address = address});
  f.early.reset();
  f.stream.cancel();
  if (f.port != nullptr) f.port->memory_gone(address);
  local_error();
  // The unreadable octets may belong to an answer.
  f.stream.abandon_answers();
  f.framer.drop_unsent(rdmap::kAnswerToken);
}

// Copies all readable queued output to memory of the connection, which then sends the copy.
void Connection::send_faulted(TimePoint now) {
  if (full_ == nullptr) return lost(now);
  if (full_->framer.detach_all()) return;
  memory_gone(bytes::touching.address);
  settle(now);
}

void Connection::receive_faulted(TimePoint now) {
  if (full_ == nullptr || !full_->early) return lost(now);
  memory_gone(full_->early->target.front().data());
  settle(now);
}

// Drops the rest of an FPDU that is being placed into `memory`.
void Connection::break_early(bytes::View memory) {
  Full& f = *full_;
  if (!f.early || !overlaps(f.early->target, memory)) return;
  f.deframer.abandon_placement();
  if (f.early->is_write) {
    inbound_fault(ddp::kTaggedInvalidStag);  // [VRB-37]
  } else {
    // The peer has made no error, but StreamPort::revoke() ends the stream.
    f.stream.cancel();
    f.early.reset();
  }
}

}  // namespace iwarp::verbs
