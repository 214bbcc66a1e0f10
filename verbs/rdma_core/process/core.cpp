// SPDX-License-Identifier: Apache-2.0
// Core: how it is made, what a fork changes, and the loop of the dispatcher thread.
#include "process/core.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "iwarp/net/fork.hpp"
#include "iwarp/net/insist.hpp"
#include "iwarp/net/quiet_thread.hpp"
#include "process/errno_table.hpp"
#include "process/refusal.hpp"

namespace iwarp::rdma_core {
namespace {

std::atomic<Core*> current{nullptr};
/// Whether the process has tried to make a Core. At exit, note_no_device() in cm/id.cpp reads this
/// flag, to distinguish a process that never opened a device from a process that failed to open
/// one.
std::atomic<bool> tried{false};
std::atomic<bool> parent_had_one{false};
std::mutex making;

void abandon_in_child() {
  const Core* const parents = current.exchange(nullptr);
  if (parents == nullptr) return;
  parent_had_one.store(true, std::memory_order_relaxed);
  if (parents->hooks() != nullptr) parents->hooks()->abandon();
  net::close_inherited();
}

void log_ends_at_exit() {
  [[maybe_unused]] static const int kAtExit = std::atexit([] {
    if (Core* const core = current.load()) core->unlogged_ends().await_all();
  });
}

void watch_forks() {
  // Locks `making` during a fork(), so that no other thread is making a Core, and the child of the
  // fork never finds `making` locked.
  static const int kRegistered = pthread_atfork([] { making.lock(); }, [] { making.unlock(); },
                                                [] {
                                                  making.unlock();
                                                  abandon_in_child();
                                                });
  if (kRegistered != 0) throw std::bad_alloc();
}

}  // namespace

Core& Core::get() {
  if (Core* core = current.load(std::memory_order_acquire)) return *core;
  const std::lock_guard lock(making);
  if (Core* core = current.load(std::memory_order_acquire)) return *core;
  watch_forks();
  tried.store(true, std::memory_order_relaxed);
  Core* const core = make();
  log_ends_at_exit();
  current.store(core, std::memory_order_release);
  return *core;
}

// If the Core cannot be made, logs the reason, because a program itself reports only that it cannot
// open its device.
Core* Core::make(TlsCarriers carriers, const Parts& parts) {
  try {
    return new Core(std::move(carriers), parts);
  } catch (const std::system_error& error) {
    const int code = to_errno(error.code());
    const bool filtered = code == EPERM || code == ENOSYS;
    log_refusal("the device cannot be opened: " + std::generic_category().message(code) +
                (filtered ? " (the sandbox must allow eventfd(2) and epoll(7))" : ""));
    throw;
  }
}

Core* Core::existing() { return current.load(std::memory_order_acquire); }

bool Core::was_tried() { return tried.load(std::memory_order_relaxed); }

bool Core::parent_had_core() { return parent_had_one.load(std::memory_order_relaxed); }

bool Core::alive() const { return current.load(std::memory_order_acquire) == this; }

Core::~Core() = default;

Core::Core(TlsCarriers carriers, const Parts& parts)
    : carriers_(std::move(carriers)), rnic_([&] {
        auto rnic = net::Rnic::open(parts.rnic);
        if (!rnic) throw std::system_error(rnic.error());
        return std::move(*rnic);
      }()) {
  start_metrics(parts.metrics);
  services_ = parts.services(*this);
  hooks_ = parts.hooks(*this);
  std::vector<pollfd> watched{{.fd = cm_channel_.fd(), .events = POLLIN, .revents = 0},
                              {.fd = rnic_->async_events().fd(), .events = POLLIN, .revents = 0}};
  for (const auto& service : services()) {
    watched.push_back({.fd = service->fd(), .events = POLLIN, .revents = 0});
  }
  // `watched` is filled before the thread starts, because the thread could not report a lack of
  // memory.
  net::quiet_thread([this, all = std::move(watched)]() mutable { dispatch(all); }).detach();
}

// Starts to serve statistics at the address `where`. If that fails, only logs the reason, because
// the program works without statistics.
void Core::start_metrics(const std::string& where) {
  if (where.empty()) return;
  const auto address = net::parse_metrics_address(where);
  if (!address) return log_refusal("IWARP_METRICS=" + where + ": " + address.error());
  auto server = net::MetricsServer::open(*address);
  if (!server) return log_refusal("IWARP_METRICS=" + where + ": " + server.error().message());
  metrics_ = std::move(*server);
  // The Core is never destroyed, so this exit handler removes the file of a Unix socket. The child
  // of a fork does not remove the socket of its parent, because in the child `current` is not the
  // parent's Core.
  [[maybe_unused]] static const int kAtExit = std::atexit([] {
    const Core* const core = current.load();
    if (core != nullptr && core->metrics_ != nullptr) core->metrics_->unlink();
  });
  watch_.emplace(metrics_->watch(*rnic_));
  log_connection("metrics", "metrics at " + to_string(metrics_->address()));
}

// The loop of the dispatcher thread. `watched` contains the descriptors of the two event channels,
// followed by one descriptor for each service.
void Core::dispatch(std::span<pollfd> watched) {
  const auto of_services = watched.last(services().size());
  auto until = Service::TimePoint::max();
  for (;;) {
    ::poll(watched.data(), watched.size(), net::milliseconds_until(until));
    if (hooks_ != nullptr) (void)hooks_->delays_events();
    const std::lock_guard lock(dispatching_);
    while (auto event = cm_channel_.poll()) dispatch(std::move(*event));
    dispatch_async_events();
    until = Service::TimePoint::max();
    for (std::size_t i = 0; i < services().size(); ++i) {
      Service& service = *services()[i];
      // If check() fails, the descriptor of the service stays readable, so the next poll() reports
      // it again.
      if (of_services[i].revents != 0) (void)guarded([&] { service.check(); });
      until = std::min(until, net::insist([&] { return service.finish_turn(); }));
    }
  }
}

void Core::dispatch_async_events() {
  const std::lock_guard lock(dispatching_);
  while (const auto event = rnic_->async_events().poll()) {
    net::insist([&] { dispatch(*event); });
  }
}

void Core::dispatch(net::CmEvent event) {
  const verbs::QpNum num = event.qp_num;
  const bool is_end = event.type == net::CmEvent::Type::kDisconnected;
  for (const auto& service : services()) {
    if (service->takes(event)) break;
  }
  if (is_end) unlogged_ends_.logged(num);
}

void Core::dispatch(const verbs::AsyncEvent& event) {
  for (const auto& service : services()) {
    if (service->takes(event)) return;
  }
}

}  // namespace iwarp::rdma_core
