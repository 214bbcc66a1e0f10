// SPDX-License-Identifier: Apache-2.0
// Functions of class Service: its thread, and the table that finds an rsocket by its descriptor
// number.
#include "rsockets/service/service.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "iwarp/net/quiet_thread.hpp"
#include "process/errno_table.hpp"
#include "process/refusal.hpp"
#include "rsockets/datagrams/rsocket.hpp"

namespace iwarp::rdma_core::rsockets {
namespace {

using Clock = std::chrono::steady_clock;

Service* instance = nullptr;

}  // namespace

/// A copy of an rdma_cm event. The original event is acknowledged before the copy is handled,
/// because the handler may call rdma_destroy_id(), which waits for the acknowledgement.
struct Service::Event {
  rdma_cm_event_type type;
  int status;
  rdma_cm_id* id;
  /// Context of the id, or of the listening id if the event is a connect request.
  const void* context;
  rdma_conn_param param;
  std::vector<std::byte> data;
};

Service::Service() = default;

Service* Service::make_service() {
  instance = new Service;
  const int failed =
      pthread_atfork([] { instance->mutex_.lock(); }, [] { instance->mutex_.unlock(); },
                     [] {
                       instance->abandon_in_child();
                       instance->mutex_.unlock();
                     });
  if (failed != 0) throw std::bad_alloc();
  return instance;
}

Service& Service::get() {
  static Service* const kService = make_service();
  return *kService;
}

// Leaks the rsockets and pollers of the parent instead of destroying them, because their locks may
// be held by a thread of the parent. That thread does not exist in the child, and so would never
// unlock them. [RCM-390]
void Service::abandon_in_child() {
  for (auto& [number, socket] : by_number_) (void)new std::shared_ptr<Socket>(std::move(socket));
  for (auto& socket : answered_) (void)new std::shared_ptr<RSocket>(std::move(socket));
  for (auto& [number, poller] : pollers_) (void)new std::shared_ptr<Poller>(std::move(poller));
  pollers_.clear();
  answered_.clear();
  by_token_.clear();
  channel_ = nullptr;
  waiter_ = nullptr;
}

// Starts the thread of the Service, unless it is already running. Call with the mutex locked.
void Service::start() {
  if (channel_ != nullptr) return;
  auto waiter = std::make_unique<net::EventFd>();
  rdma_event_channel* const channel = rdma_create_event_channel();
  if (channel == nullptr) fail(errno);
  ::fcntl(channel->fd, F_SETFL, O_NONBLOCK);
  try {
    net::quiet_thread([this, channel, at = waiter.get()] { run(channel, *at); }).detach();
  } catch (...) {
    rdma_destroy_event_channel(channel);
    throw;
  }
  channel_ = channel;
  waiter_ = waiter.release();
}

void Service::run(rdma_event_channel* channel, net::EventFd& waiter) {
  int timeout = -1;
  while (true) {
    std::array<pollfd, 2> waiting{pollfd{.fd = channel->fd, .events = POLLIN, .revents = 0},
                                  pollfd{.fd = waiter.fd(), .events = POLLIN, .revents = 0}};
    ::poll(waiting.data(), waiting.size(), timeout);
    while (waiter.take()) {
    }
    const int code = guarded([&] {
      take(channel);
      timeout = keep_alive();
    });
    if (code == 0) continue;
    (void)guarded([code] {
      log_refusal("a connection event of an rsocket was lost: " +
                  std::generic_category().message(code));
    });
  }
}

void Service::take(rdma_event_channel* channel) {
  rdma_cm_event* event = nullptr;
  while (rdma_get_cm_event(channel, &event) == 0) {
    const bool request = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
    const auto& param = event->param.conn;
    const auto* const data = static_cast<const std::byte*>(param.private_data);
    Event copy{event->event, event->status,
               event->id,    request ? event->listen_id->context : event->id->context,
               param,        {}};
    if (data != nullptr) copy.data.assign(data, data + param.private_data_len);
    rdma_ack_cm_event(event);
    handle(copy);
  }
}

void Service::handle(const Event& event) {
  if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST) {
    requested(event);
    return;
  }
  const auto socket = find_token(event.context);
  if (socket == nullptr) return;
  socket->happened(event.type, event.status, event.data);
  {
    const std::lock_guard lock(mutex_);
    const auto it = std::ranges::find(answered_, socket);
    if (it == answered_.end()) return;
    answered_.erase(it);
  }
  const auto listener = socket->listener();
  const bool wanted = listener != nullptr && socket->is_established() && listener->add(socket);
  if (!wanted) socket->stop_lingering();
}

// Handles a connect request. If the listener no longer exists or its queue is full, rejects the
// request by destroying the id of the request.
void Service::requested(const Event& event) {
  const auto listener = find_token(event.context);
  if (listener == nullptr || !listener->has_room()) {
    rdma_destroy_id(event.id);
    return;
  }
  const auto socket = std::make_shared<RSocket>(event.id, listener);
  event.id->context = add_token(socket);
  {
    const std::lock_guard lock(mutex_);
    answered_.push_back(socket);
  }
  const int code = guarded([&] { return socket->answer(event.param, event.data); });
  if (code == 0) return;
  const std::lock_guard lock(mutex_);
  std::erase(answered_, socket);
}

std::shared_ptr<RSocket> Service::find_token(const void* context) {
  const std::lock_guard lock(mutex_);
  const auto it = by_token_.find(reinterpret_cast<std::uintptr_t>(context));
  return it != by_token_.end() ? it->second.lock() : nullptr;
}

void* Service::add_token(std::weak_ptr<RSocket> of) {
  const std::lock_guard lock(mutex_);
  constexpr std::uintptr_t kNowAndThen = 64;
  if (next_token_ % kNowAndThen == 0) {
    std::erase_if(by_token_, [](const auto& entry) { return entry.second.expired(); });
  }
  by_token_.emplace(next_token_, std::move(of));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number as a context, never dereferenced
  return reinterpret_cast<void*>(next_token_++);
}

std::shared_ptr<Socket> Service::make_stream(int family) {
  {
    const std::lock_guard lock(mutex_);
    start();
  }
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel_, &id, nullptr, RDMA_PS_TCP) != 0) fail(errno);
  auto socket = std::make_shared<RSocket>(id, family);
  id->context = add_token(socket);
  return socket;
}

int Service::make(int family, bool is_stream, int type_flags) {
  auto number = ReservedFd::reserve();
  const auto socket = is_stream ? make_stream(family) : std::make_shared<DatagramRSocket>(family);
  if ((type_flags & SOCK_NONBLOCK) != 0) (void)socket->control(F_SETFL, O_NONBLOCK);
  if ((type_flags & SOCK_CLOEXEC) != 0) (void)socket->control(F_SETFD, FD_CLOEXEC);
  return adopt(socket, std::move(number));
}

// Reserves the descriptor number of the connection here, and not when the request arrives. So the
// number is higher than the one that librspreload reserves before it calls raccept(). If the number
// of the rsocket were lower, select() in librspreload before rdma-core 63 would report the wrong
// descriptor.
std::expected<int, int> Service::accept(Socket& listener, sockaddr* address, socklen_t* length) {
  auto number = ReservedFd::reserve();
  auto accepted = listener.accept();
  if (!accepted) return std::unexpected(accepted.error());
  if (address != nullptr && length != nullptr) (void)(*accepted)->peer_address(address, length);
  return adopt(std::move(*accepted), std::move(number));
}

std::shared_ptr<Socket> Service::find(int number) {
  const std::lock_guard lock(mutex_);
  const auto it = by_number_.find(number);
  return it != by_number_.end() ? it->second : nullptr;
}

bool Service::has_any() {
  const std::lock_guard lock(mutex_);
  return !by_number_.empty();
}

int Service::make_poller() {
  auto number = ReservedFd::reserve();
  const int out = number.get();
  auto poller = std::make_shared<Poller>(std::move(number));
  const std::lock_guard lock(mutex_);
  pollers_[out] = std::move(poller);
  return out;
}

std::shared_ptr<Poller> Service::find_poller(int number) {
  const std::lock_guard lock(mutex_);
  const auto it = pollers_.find(number);
  return it != pollers_.end() ? it->second : nullptr;
}

int Service::adopt(std::shared_ptr<Socket> socket, ReservedFd number) {
  const int out = number.get();
  socket->take(std::move(number));
  const std::lock_guard lock(mutex_);
  by_number_[out] = std::move(socket);
  return out;
}

int Service::close(int number) {
  std::shared_ptr<Socket> socket;
  {
    const std::lock_guard lock(mutex_);
    if (const auto poller = pollers_.extract(number)) {
      poller.mapped()->close();
      return 0;
    }
    const auto it = by_number_.find(number);
    if (it == by_number_.end()) return EBADF;
    socket = std::move(it->second);
    by_number_.erase(it);
    // A later rsocket may get the same number.
    for (const auto& [_, poller] : pollers_) (void)poller->change(EPOLL_CTL_DEL, number, nullptr);
  }
  if (socket == nullptr) return ::close(number) == 0 ? 0 : errno;
  return socket->close();
}

void Service::recheck() {
  const std::lock_guard lock(mutex_);
  if (waiter_ != nullptr) waiter_->signal();
}

// Sends the keepalives that are due. Returns the number of milliseconds until the next keepalive is
// due, or -1 if no rsocket needs keepalives.
int Service::keep_alive() {
  std::vector<std::shared_ptr<Socket>> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, socket] : by_number_) {
      if (socket != nullptr) all.push_back(socket);
    }
  }
  const auto now = Clock::now();
  std::optional<Clock::time_point> next;
  for (const auto& socket : all) {
    const auto when = socket->keep_alive(now);
    if (when) next = next ? std::min(*next, *when) : *when;
  }
  return net::milliseconds_until(next);
}

}  // namespace iwarp::rdma_core::rsockets
