// SPDX-License-Identifier: Apache-2.0
// SocketSet and WatchedSocket. Every set that contains a socket waits for the same events; close()
// removes the socket from all sets before its descriptor can be reused.
#include "driver/socket_set.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

namespace iwarp::net {
namespace {

constexpr std::uint32_t wanted(bool room) { return room ? EPOLLIN | EPOLLOUT : EPOLLIN; }

}  // namespace

std::span<const SocketSet::Ready> SocketSet::ready(std::array<Ready, kMost>& out) const {
  std::array<epoll_event, kMost> events;
  const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  const auto count = static_cast<std::size_t>(std::max(n, 0));
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = {.driven = static_cast<Driven*>(events[i].data.ptr),
              .readable = (events[i].events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0,
              .room = (events[i].events & EPOLLOUT) != 0};
  }
  return std::span(out).first(count);
}

bool SocketSet::add(int socket, Driven& driven, bool room) const {
  return epoll_.add(socket, wanted(room), &driven);
}

void SocketSet::change(int socket, Driven& driven, bool room) const {
  epoll_.change(socket, wanted(room), &driven);
}

bool WatchedSocket::join(std::shared_ptr<SocketSet> set) noexcept {
  const std::lock_guard lock(mutex_);
  if (socket_ < 0) return false;
  try {
    sets_.reserve(sets_.size() + 1);
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (readable_ && !set->add(socket_, driven_, room_)) return false;
  sets_.push_back(std::move(set));
  return true;
}

void WatchedSocket::leave(const SocketSet* set) {
  const std::lock_guard lock(mutex_);
  const auto it = std::ranges::find(sets_, set, &std::shared_ptr<SocketSet>::get);
  if (it == sets_.end()) return;
  if (readable_) (*it)->remove(socket_);
  sets_.erase(it);
}

bool WatchedSocket::change(bool readable, bool room) {
  bool taken = true;
  const std::lock_guard lock(mutex_);
  for (const auto& set : sets_) {
    if (readable && readable_) {
      set->change(socket_, driven_, room);
    } else if (readable) {
      taken &= set->add(socket_, driven_, room);
    } else {
      set->remove(socket_);
    }
    if (readable_ && (!readable || room_)) set->note_taken();
  }
  readable_ = readable;
  room_ = room;
  return taken;
}

void WatchedSocket::note_taken() {
  const std::lock_guard lock(mutex_);
  for (const auto& set : sets_) set->note_taken();
}

void WatchedSocket::close() {
  const std::lock_guard lock(mutex_);
  for (const auto& set : sets_) {
    if (readable_) set->remove(socket_);
    set->note_taken();
  }
  sets_.clear();
  socket_ = -1;
}

}  // namespace iwarp::net
