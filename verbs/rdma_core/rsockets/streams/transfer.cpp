// SPDX-License-Identifier: Apache-2.0
// Functions of class RSocket that read and write the stream, and functions for memory that is
// mapped with riomap().
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "cm/address.hpp"
#include "rsockets/common/pieces.hpp"
#include "rsockets/streams/rsocket.hpp"

namespace iwarp::rdma_core::rsockets {
// Waits until the connection is established. Returns 0 if the connection was established, even if
// it has ended in the meantime. Otherwise returns an errno.
// [RCM-394]
int RSocket::await_open(Lock& lock, int flags) {
  if (closed_) return EBADF;
  if (phase_ == Phase::kOpening) {
    const int code = await(lock, is_nonblocking(flags), deadline(options_.send_limit),
                           [&] { return phase_ != Phase::kOpening; });
    if (code != 0) return code;
  }
  const bool was_connected = is_connected() || phase_ == Phase::kEnded || phase_ == Phase::kFailed;
  return was_connected ? 0 : ENOTCONN;
}

RSocket::Result RSocket::receive(Pieces into, int flags, Arrival* arrival) {
  Lock lock(mutex_);
  if (const int code = await_open(lock, flags)) return std::unexpected(code);
  const auto got = receive_locked(lock, into, flags);
  if (arrival != nullptr && got && *got > 0) {
    arrival->sender = copy_of(*rdma_get_peer_addr(id_));
  }
  return got;
}

// [RCM-366, RCM-368]
RSocket::Result RSocket::receive_locked(Lock& lock, Pieces into, int flags) {
  const std::size_t wanted = total(into);
  const bool peeks = (flags & MSG_PEEK) != 0;
  const auto until = deadline(options_.receive_limit);
  Cursor to(into);
  std::size_t done = 0;
  while (done < wanted) {
    const std::size_t skip = peeks ? done : 0;
    if (endpoint_->readable() > skip) {
      const std::size_t count = endpoint_->copy_to(to.piece(), skip);
      to.advance(count);
      done += count;
      const int code = peeks ? 0 : endpoint_->consume(count);
      if (code != 0) fail(code);
      continue;
    }
    if (done != 0 && ((flags & MSG_WAITALL) == 0 || peeks)) break;
    const int code = await(lock, is_nonblocking(flags), until,
                           [&] { return endpoint_->readable() > skip || !may_read(); });
    if (code != 0) return done != 0 ? Result(done) : std::unexpected(code);
    if (endpoint_->readable() > skip) continue;
    if (done == 0 && phase_ == Phase::kFailed && readable_) return std::unexpected(failure_);
    break;
  }
  return done;
}

RSocket::Result RSocket::send(Pieces from, int flags, const sockaddr* /*to*/,
                              socklen_t /*length*/) {
  Lock lock(mutex_);
  if (const int code = await_open(lock, flags)) return std::unexpected(code);
  return send_locked(lock, from, flags);
}

// Returns the errno for a write that is not possible. The errno is EPIPE if the application itself
// has shut down writing.
int RSocket::why_not_write() const {
  if (!writable_) return EPIPE;
  return phase_ == Phase::kFailed ? failure_ : ECONNRESET;
}

RSocket::Result RSocket::send_locked(Lock& lock, Pieces from, int flags) {
  const std::size_t wanted = total(from);
  const auto until = deadline(options_.send_limit);
  Cursor cursor(from);
  std::size_t done = 0;
  if (const int code = report_mappings(lock, flags)) return std::unexpected(code);
  const auto outcome = [&](int code) { return done != 0 ? Result(done) : std::unexpected(code); };
  while (done < wanted) {
    if (!endpoint_->can_send() || !may_write()) {
      const int code = await(lock, is_nonblocking(flags), until,
                             [&] { return endpoint_->can_send() || !may_write(); });
      if (code != 0) return outcome(code);
      if (!may_write()) return outcome(why_not_write());
    }
    const auto sent =
        endpoint_->send(wanted - done, [&](std::span<std::byte> ring) { cursor.copy_to(ring); });
    if (!sent) {
      fail(sent.error());
      return outcome(sent.error());
    }
    done += *sent;
  }
  return done;
}

// [RCM-381, RCM-382, RCM-383, RCM-384]
std::expected<std::uint64_t, int> RSocket::map(void* memory, std::size_t length, int protection,
                                               std::int64_t offset) {
  const Lock lock(mutex_);
  if (closed_) return std::unexpected(EBADF);
  if (endpoint_ == nullptr || !endpoint_->started() || (protection & ~PROT_WRITE) != 0 ||
      length > UINT32_MAX) {
    return std::unexpected(EINVAL);
  }
  const bool for_peer = (protection & PROT_WRITE) != 0;
  std::optional<std::uint32_t> index;
  if (for_peer) {
    std::uint32_t free = 0;
    const auto taken = [&](const OwnMapping& mapping) { return mapping.index == free; };
    while (std::ranges::any_of(own_mappings_, taken)) ++free;
    if (free >= endpoint_->peer_mappings()) return std::unexpected(ENOMEM);
    index = free;
  }
  const int access = IBV_ACCESS_LOCAL_WRITE | (for_peer ? IBV_ACCESS_REMOTE_WRITE : 0);
  ibv_mr* const mr = ibv_reg_mr(id_->pd, memory, length, access);
  if (mr == nullptr) return std::unexpected(errno);
  const auto known_by =
      offset == -1 ? reinterpret_cast<std::uint64_t>(memory) : static_cast<std::uint64_t>(offset);
  own_mappings_.push_back({mr, known_by, index, !for_peer});
  return known_by;
}

// [RCM-387]
int RSocket::unmap(const void* memory, std::size_t length) {
  const Lock lock(mutex_);
  if (closed_) return EBADF;
  const auto it = std::ranges::find_if(own_mappings_, [&](const OwnMapping& mapping) {
    return mapping.mr->addr == memory && mapping.mr->length == length;
  });
  if (it == own_mappings_.end()) return EINVAL;
  ibv_mr* const mr = it->mr;
  own_mappings_.erase(it);
  return ibv_dereg_mr(mr);
}

// Announces new mappings to the peer before the next data is sent, so that the peer's application
// can use them when it has received this data.
// [RCM-385]
int RSocket::report_mappings(Lock& lock, int flags) {
  const auto unadvertised = [&] {
    return std::ranges::find(own_mappings_, false, &OwnMapping::is_advertised);
  };
  while (unadvertised() != own_mappings_.end()) {
    const int code = await(lock, is_nonblocking(flags), deadline(options_.send_limit),
                           [&] { return endpoint_->can_map() || !may_write(); });
    if (code != 0) return code;
    if (!may_write()) return why_not_write();
    const auto it = unadvertised();
    if (it == own_mappings_.end()) return 0;
    it->is_advertised = true;
    const Mapping mapping{it->offset,
                          {reinterpret_cast<std::uint64_t>(it->mr->addr), it->mr->rkey,
                           static_cast<std::uint32_t>(it->mr->length)}};
    if (const int failed = endpoint_->map(*it->index, mapping)) {
      fail(failed);
      return failed;
    }
  }
  return 0;
}

// [RCM-386]
RSocket::Result RSocket::write_mapped(std::span<const std::byte> from, std::uint64_t offset,
                                      int flags) {
  Lock lock(mutex_);
  if (const int code = await_open(lock, flags)) return std::unexpected(code);
  if (const int code = report_mappings(lock, flags)) return std::unexpected(code);
  const auto until = deadline(options_.send_limit);
  std::size_t done = 0;
  const auto outcome = [&](int code) { return done != 0 ? Result(done) : std::unexpected(code); };
  progress();
  while (done < from.size()) {
    if (!may_write()) return outcome(why_not_write());
    const auto sent = endpoint_->send_direct(from.subspan(done), offset + done);
    if (!sent) {
      if (sent.error() == EINVAL) return done;
      fail(sent.error());
      return outcome(sent.error());
    }
    done += *sent;
    if (*sent != 0) continue;
    const int code = await(lock, is_nonblocking(flags), until,
                           [&] { return endpoint_->can_send_direct() || !may_write(); });
    if (code != 0) return outcome(code);
  }
  return done;
}

}  // namespace iwarp::rdma_core::rsockets
