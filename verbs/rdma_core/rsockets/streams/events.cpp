// SPDX-License-Identifier: Apache-2.0
// Functions of class RSocket that handle events of rdma_cm, and functions for keepalives and the
// events of poll(2).
#include <poll.h>

#include <cerrno>
#include <cstdlib>

#include "process/errno_table.hpp"
#include "rsockets/streams/rsocket.hpp"

namespace iwarp::rdma_core::rsockets {
namespace {

constexpr std::uint8_t kForEver = 7;

/// Returns the parameters with which the client connects. On an RNIC these parameters permit one
/// RDMA Read, because an RNIC uses a Read to set up the connection.
rdma_conn_param request_of(const rdma_cm_id& id) {
  rdma_conn_param out{};
  out.flow_control = 1;
  out.retry_count = kForEver;
  out.rnr_retry_count = kForEver;
  if (id.verbs->device->transport_type == IBV_TRANSPORT_IWARP) out.initiator_depth = 1;
  return out;
}

template <typename Octets>
void set_data(rdma_conn_param& param, const Octets& octets) {
  param.private_data = octets.data();
  param.private_data_len = static_cast<std::uint8_t>(octets.size());
}

int error_of(rdma_cm_event_type type, int status) {
  if (type == RDMA_CM_EVENT_REJECTED) return ECONNREFUSED;
  return status != 0 ? std::abs(status) : ECONNABORTED;
}

}  // namespace

void RSocket::happened(rdma_cm_event_type type, int status, std::span<const std::byte> data) {
  const Lock lock(mutex_);
  if (closed_) return;
  note_address();
  const int code = guarded([&] { return advance(type, status, data); });
  if (code != 0 && phase_ == Phase::kOpening) end(Phase::kRefused, code);
}

// Takes the next step of the connection setup after an event. Returns 0, or an errno if the
// connection cannot be established.
int RSocket::advance(rdma_cm_event_type type, int status, std::span<const std::byte> data) {
  switch (type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      return rdma_resolve_route(id_, 0) == 0 ? 0 : errno;
    case RDMA_CM_EVENT_ROUTE_RESOLVED: {
      open_endpoint();
      auto param = request_of(*id_);
      const auto greeting = encode(endpoint_->greeting());
      set_data(param, greeting);
      return rdma_connect(id_, &param) == 0 ? 0 : errno;
    }
    case RDMA_CM_EVENT_ESTABLISHED:
      if (!peer_) {
        if (const int code = greet(data)) {
          endpoint_->break_off();
          return code;
        }
      }
      endpoint_->start(*peer_);
      phase_ = Phase::kConnected;
      readable_ = writable_ = true;
      wake();
      progress();  // progress() also grants the second half of the ring to the peer
      return 0;
    case RDMA_CM_EVENT_DISCONNECTED:
      progress();
      fail(ECONNRESET);
      return ECONNRESET;
    default:
      return error_of(type, status);
  }
}

int RSocket::answer(const rdma_conn_param& request, std::span<const std::byte> data) {
  const Lock lock(mutex_);
  open_endpoint();
  if (const int code = greet(data)) return code;
  rdma_conn_param param = request;
  const auto greeting = encode(endpoint_->greeting());
  set_data(param, greeting);
  param.qp_num = 0;
  param.rnr_retry_count = kForEver;
  return rdma_accept(id_, &param) == 0 ? 0 : errno;
}

RSocket::Deadline RSocket::keep_alive(Time now) {
  const Lock lock(mutex_);
  if (closed_ || options_.keep_alive == 0 || !is_connected()) return std::nullopt;
  const std::chrono::seconds period(options_.keep_alive_seconds);
  if (next_keepalive_.time_since_epoch().count() == 0) next_keepalive_ = now + period;
  if (next_keepalive_ > now) return next_keepalive_;
  next_keepalive_ = now + period;
  if (const int code = endpoint_->keep_alive()) fail(code);
  return next_keepalive_;
}

// Does not poll for completions, because the callers have already called progress().
short RSocket::state(short wanted) {
  int out = 0;
  const auto offer = [&](bool there, int which) {
    if (there) out |= wanted & which;
  };
  switch (phase_) {
    case Phase::kListening:
      offer(!accepted_.empty(), POLLIN | POLLRDNORM);
      break;
    case Phase::kRefused:
      offer(true, POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM);
      out |= POLLERR;
      break;
    case Phase::kConnected:
    case Phase::kEnded:
    case Phase::kFailed:
      offer(endpoint_->readable() != 0 || !may_read(), POLLIN | POLLRDNORM);
      offer(!may_write() || endpoint_->can_send(), POLLOUT | POLLWRNORM);
      // Reports POLLHUP only when all data has been read, because programs stop reading when they
      // see POLLHUP.
      if (phase_ == Phase::kEnded && endpoint_->readable() == 0) out |= POLLHUP;
      if (phase_ == Phase::kFailed) out |= POLLERR | POLLHUP;
      break;
    default:
      break;
  }
  return static_cast<short>(out);
}

}  // namespace iwarp::rdma_core::rsockets
