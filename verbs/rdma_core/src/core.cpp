// SPDX-License-Identifier: Apache-2.0
#include "core.hpp"

#include <poll.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <csignal>
#include <thread>

#include "iwarp/net/fork.hpp"
#include "objects.hpp"

namespace iwarp::rdma_core {
namespace {

std::atomic<Core*> current{nullptr};
std::mutex making;

// A process of this size is common for middleware; the tables grow with use.
constexpr net::RnicOptions kOptions{.max_regions = 1U << 20, .max_cqe = 1U << 22};

void abandon_in_child() {
  if (current.exchange(nullptr) != nullptr) net::close_inherited();
}

void watch_forks() {
  // While a Core is being made nobody forks, so a child never finds `making` locked.
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
  auto* core = new Core;
  current.store(core, std::memory_order_release);
  return *core;
}

bool Core::alive() const { return current.load(std::memory_order_acquire) == this; }

Core::Core()
    : rnic_([] {
        auto rnic = net::Rnic::open(kOptions);
        if (!rnic) throw std::system_error(rnic.error());
        return std::move(*rnic);
      }()) {
  // Signals are the program's: it may wait for one to interrupt its own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([this] { dispatch(); }).detach();
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Core::dispatch() {
  auto& async = rnic_->async_events();
  std::array<pollfd, 2> waiting{pollfd{.fd = cm_channel_.fd(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = async.fd(), .events = POLLIN, .revents = 0}};
  bool soon = false;
  for (;;) {
    ::poll(waiting.data(), waiting.size(), soon ? 1 : -1);
    const std::lock_guard lock(dispatching_);
    while (auto event = cm_channel_.poll()) dispatch_cm_event(*this, std::move(*event));
    while (const auto event = async.poll()) dispatch_async_event(*this, *event);
    soon = dispatch_endings(*this);
  }
}

void Core::add(Qp& qp) {
  const std::lock_guard lock(qps_mutex_);
  qps_[qp.abi.qp_base.qp_num] = &qp;
}

void Core::remove(const Qp& qp) {
  const std::lock_guard lock(qps_mutex_);
  qps_.erase(qp.abi.qp_base.qp_num);
}

void Core::add(const void* core_object, void* object) {
  const std::lock_guard lock(objects_mutex_);
  objects_[core_object] = object;
}

void Core::remove(const void* core_object) {
  const std::lock_guard lock(objects_mutex_);
  objects_.erase(core_object);
}

}  // namespace iwarp::rdma_core
