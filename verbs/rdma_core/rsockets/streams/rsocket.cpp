// SPDX-License-Identifier: Apache-2.0
// Functions of class RSocket that connect, listen, wait and close, and that handle events of
// rdma_cm, keepalives and the events of poll(2).
#include "rsockets/streams/rsocket.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "process/errno_table.hpp"

namespace iwarp::rdma_core::rsockets {
namespace {

// The minimum and the maximum of a backlog. The minimum is high because clients arrive in bursts,
// and rdma_cm has no other queue in which their requests could wait.
constexpr int kMinBacklog = 128;
constexpr int kMaxBacklog = 4096;
// How long a shutdown waits for a peer that does not acknowledge data.
constexpr auto kDrainTimeout = std::chrono::seconds(10);

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

RSocket::RSocket(rdma_cm_id* id, int family) : id_(id) {
  options_.family = family;
  id_->route.addr.src_addr.sa_family = static_cast<sa_family_t>(family);
  note_address();
}

RSocket::RSocket(rdma_cm_id* id, const std::shared_ptr<RSocket>& listener)
    : id_(id), phase_(Phase::kOpening), listener_(listener) {
  const Lock lock(listener->mutex_);
  options_ = listener->options_;
  options_.error = 0;
  note_address();
}

RSocket::~RSocket() { close(); }

// [RCM-396]
void RSocket::fail(int code) {
  if (!is_connected()) return;
  endpoint_->break_off();
  end(Phase::kFailed, code);
}

void RSocket::end(Phase how, int code) {
  phase_ = how;
  if (code != 0) failure_ = options_.error = code;
  wake();
}

void RSocket::progress() {
  if (endpoint_ == nullptr || !endpoint_->started()) return;
  const auto got = endpoint_->listen();
  if (is_connected()) {
    if (got.shutdown) {
      readable_ = false;
      if (!writable_) end(Phase::kEnded);
    }
    if (got.disconnect) {
      end(Phase::kEnded);
    } else if (got.error != 0) {
      fail(got.error);
    }
  }
  if (got.anything) wake();
}

SocketCq* RSocket::queue() {
  return endpoint_ != nullptr && endpoint_->started() ? &endpoint_->cq() : nullptr;
}

int RSocket::greet(std::span<const std::byte> data) {
  const auto peer = decode_greeting(data);
  if (!peer) return peer.error();
  peer_ = *peer;
  return 0;
}

int RSocket::bind(const sockaddr* address, socklen_t /*length*/) {
  const Lock lock(mutex_);
  if (closed_) return EBADF;
  if (rdma_bind_addr(id_, const_cast<sockaddr*>(address)) != 0) return errno;
  note_address();
  phase_ = Phase::kBound;
  return 0;
}

// [RCM-394]
int RSocket::listen(int backlog) {
  const Lock lock(mutex_);
  if (closed_) return EBADF;
  const auto room = static_cast<std::size_t>(std::clamp(backlog, kMinBacklog, kMaxBacklog));
  if (phase_ != Phase::kListening) {
    if (phase_ != Phase::kIdle && phase_ != Phase::kBound) return EINVAL;
    if (rdma_listen(id_, static_cast<int>(room)) != 0) return errno;
    note_address();
    phase_ = Phase::kListening;
  }
  backlog_ = room;
  return 0;
}

std::expected<std::shared_ptr<Socket>, int> RSocket::accept() {
  Lock lock(mutex_);
  if (closed_) return std::unexpected(EBADF);
  if (phase_ != Phase::kListening) return std::unexpected(EINVAL);
  const int code = await(lock, is_nonblocking(0), deadline(options_.receive_limit),
                         [&] { return !accepted_.empty(); });
  if (code != 0) return std::unexpected(code);
  auto out = std::move(accepted_.front());
  accepted_.pop_front();
  return out;
}

bool RSocket::has_room() {
  const Lock lock(mutex_);
  return !closed_ && phase_ == Phase::kListening && accepted_.size() < backlog_;
}

bool RSocket::add(std::shared_ptr<RSocket> connected) {
  const Lock lock(mutex_);
  if (closed_ || phase_ != Phase::kListening) return false;
  accepted_.push_back(std::move(connected));
  wake();
  return true;
}

bool RSocket::is_established() {
  const Lock lock(mutex_);
  return phase_ != Phase::kOpening && phase_ != Phase::kRefused;
}

// [RCM-370, RCM-371]
int RSocket::connect(const sockaddr* address, socklen_t length) {
  if (address == nullptr || length < sizeof(sa_family_t)) return EINVAL;
  sockaddr_storage to{};
  std::memcpy(&to, address, std::min<std::size_t>(length, sizeof to));
  Lock lock(mutex_);
  if (closed_) return EBADF;
  if (is_connected()) return 0;
  if (phase_ == Phase::kIdle || phase_ == Phase::kBound) {
    phase_ = Phase::kOpening;
    const int failed = rdma_resolve_addr(id_, nullptr, reinterpret_cast<sockaddr*>(&to), 0);
    if (failed != 0) end(Phase::kRefused, errno);
    note_address();
  } else if (phase_ != Phase::kOpening) {
    return phase_ == Phase::kListening ? EINVAL : ENOTCONN;
  }
  const int code = await(lock, is_nonblocking(0), deadline(options_.send_limit),
                         [&] { return phase_ != Phase::kOpening; });
  if (code != 0) return code == EAGAIN ? EINPROGRESS : code;
  if (phase_ == Phase::kRefused) return std::exchange(options_.error, 0) != 0 ? failure_ : ENOTCONN;
  return 0;
}

int RSocket::drain(Lock& lock) {
  std::chrono::microseconds time_limit = kDrainTimeout;
  if (options_.linger_is_set && options_.linger_for.l_onoff != 0) {
    time_limit = std::chrono::seconds(options_.linger_for.l_linger);
  }
  return await(lock, false, std::chrono::steady_clock::now() + time_limit,
               [&] { return endpoint_->all_sent() || !is_connected(); });
}

// Announces a shutdown, or the end of the connection, to the peer. Then waits until all posted data
// has been sent. This wait does not depend on the peer's application.
int RSocket::send_control(Lock& lock, Control what) {
  const auto limit = std::chrono::steady_clock::now() + kDrainTimeout;
  const auto can_speak = [&] { return endpoint_->can_control() || !is_connected(); };
  if (const int code = await(lock, false, limit, can_speak)) return code;
  if (!is_connected()) return 0;
  if (const int code = endpoint_->control(what)) return code;
  const int code = drain(lock);
  if (what == Control::kDisconnect && is_connected()) end(Phase::kEnded);
  return code == EAGAIN ? ETIMEDOUT : code;
}

// [RCM-373]
int RSocket::shutdown(int how) {
  if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR) return EINVAL;
  Lock lock(mutex_);
  if (closed_) return EBADF;
  if (phase_ == Phase::kListening || phase_ == Phase::kIdle || phase_ == Phase::kBound) return 0;
  progress();
  if (!is_connected()) return 0;
  const bool could_write = writable_;
  if (how != SHUT_WR) readable_ = false;
  if (how != SHUT_RD) writable_ = false;
  wake();
  // If the program only stops reading, it may still write, so nothing is announced to the peer yet.
  if (writable_) return 0;
  if (!readable_) return send_control(lock, Control::kDisconnect);
  return could_write ? send_control(lock, Control::kShutdown) : 0;
}

void RSocket::stop_lingering() {
  const Lock lock(mutex_);
  options_.linger_is_set = true;
  options_.linger_for = {.l_onoff = 1, .l_linger = 0};
}

// [RCM-375]
bool RSocket::closes_at_once() {
  const Lock lock(mutex_);
  return options_.linger_is_set && options_.linger_for.l_onoff != 0 &&
         options_.linger_for.l_linger == 0;
}

// [RCM-374, RCM-395]
int RSocket::close() {
  if (!closes_at_once()) (void)guarded([&] { return shutdown(SHUT_RDWR); });
  std::deque<std::shared_ptr<RSocket>> orphans;
  const Lock lock(mutex_);
  if (std::exchange(closed_, true)) return EBADF;
  wake();
  orphans.swap(accepted_);
  for (const auto& orphan : orphans) orphan->stop_lingering();
  for (const OwnMapping& mapping : own_mappings_) ibv_dereg_mr(mapping.mr);
  own_mappings_.clear();
  if (endpoint_ != nullptr && endpoint_->started()) (void)rdma_disconnect(id_);
  endpoint_.reset();
  rdma_destroy_id(id_);
  number_.reset();
  return 0;
}

// Events of rdma_cm, keepalives and poll(2) -------------------------------------------------------

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
      endpoint_ = std::make_unique<Endpoint>(id_, options_.sizes);
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
  endpoint_ = std::make_unique<Endpoint>(id_, options_.sizes);
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
