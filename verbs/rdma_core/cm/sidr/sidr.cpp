// SPDX-License-Identifier: Apache-2.0
// Sidr: when a request is sent again, which messages are dropped, and which answer a repeated
// request gets.
#include "cm/sidr/sidr.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "process/refusal.hpp"

namespace iwarp::rdma_core {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstWait = 50ms;
constexpr auto kLongestWait = 2s;
// Number of times that a request is sent, within about seven seconds.
constexpr unsigned kRequests = 9;
// The maximum number of batches of messages that are received from one port before the next port is
// served.
constexpr int kTurn = 16;

}  // namespace

void SidrEnd::send(const SidrOctets& octets, const Peer& to) const {
  // The const_cast is safe because sendmmsg() only reads through the pointer.
  std::array<iovec, 1> piece{
      {{.iov_base = const_cast<std::byte*>(octets.data()), .iov_len = octets.size()}}};
  const net::DatagramSocket::Sending one{.path = to.path, .port = to.port, .pieces = piece};
  (void)socket.send({&one, 1});  // Ignores errors, because requests are retransmitted.
}

void SidrEnd::log_dropped() const {
  const auto& [malformed, unasked, unheard, undecided, crowded] = dropped;
  if (malformed + unasked + unheard + undecided + crowded == 0) return;
  log_connection(
      "datagram_id_dropped",
      fmt::format("an rdma_cm_id for datagrams dropped messages (malformed: {}, unexpected "
                  "replies: {}, requests without a listener: {}, repeated requests that the "
                  "program had not answered: {}, requests that exceeded the backlog: {})",
                  malformed, unasked, unheard, undecided, crowded));
}

Sidr::Sidr(const Calls& calls, std::mutex& mutex)
    : calls_(calls), mutex_(mutex), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) fail(errno);
}

void Sidr::add(std::shared_ptr<SidrEnd> end, CmId& owner) {
  end->owner = &owner;
  const int fd = end->socket.fd();
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  if (!ends_.contains(fd) && ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) fail(errno);
  ends_[fd] = std::move(end);
}

void Sidr::remove(SidrEnd& end) {
  end.log_dropped();
  end.owner = nullptr;
  end.asking.reset();
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, end.socket.fd(), nullptr);
  ends_.erase(end.socket.fd());
}

void Sidr::ask(SidrEnd& end, const SidrEnd::Peer& to, const SidrMessage& message) {
  end.asking = {.to = to,
                .octets = encode(message),
                .due = SidrEnd::Clock::now(),
                .wait = kFirstWait,
                .left = kRequests};
}

bool Sidr::answer(SidrEnd& end, const SidrEnd::Peer& to, const SidrMessage& message) {
  const auto known = std::ranges::find_if(
      end.answers, [&](const SidrEnd::Answer& answer) { return answer.to.is(to); });
  if (known == end.answers.end()) return false;
  known->octets = encode(message);
  end.send(*known->octets, known->to);
  return true;
}

void Sidr::check() {
  std::array<epoll_event, 16> events;
  const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  const std::lock_guard lock(mutex_);
  const std::size_t ready = n > 0 ? static_cast<std::size_t>(n) : 0;
  for (const epoll_event& event : std::span(events).first(ready)) {
    const auto it = ends_.find(event.data.fd);
    if (it == ends_.end()) continue;
    // Copies the shared pointer, so that the port stays valid if its id removes it during
    // receive().
    const auto end = it->second;
    receive(*end);
  }
}

void Sidr::receive(SidrEnd& end) {
  std::array<SidrOctets, net::DatagramSocket::kBatch> octets;
  std::array<net::DatagramSocket::Received, net::DatagramSocket::kBatch> arrived;
  for (std::size_t i = 0; i < octets.size(); ++i) arrived[i].room = octets[i];
  for (int round = 0; round != kTurn; ++round) {
    const auto n = end.socket.receive(arrived);
    for (std::size_t i = 0; i < n; ++i) {
      const auto& one = arrived[i];
      auto message = one.is_cut ? std::nullopt : decode_sidr(one.room.first(one.size));
      if (!message || net::is_multicast(one.path.own)) {
        ++end.dropped.malformed;
        continue;
      }
      const SidrEnd::Peer from{
          .path = {.own = one.path.own, .peer = one.path.peer, .interface = one.path.interface},
          .port = one.port,
          .request = message->id};
      if (end.owner != nullptr) received(end, from, std::move(*message));
    }
    if (n < arrived.size()) return;
  }
}

void Sidr::received(SidrEnd& end, const SidrEnd::Peer& from, SidrMessage message) {
  if (message.kind == SidrMessage::Kind::kRequest) {
    request_received(end, from, std::move(message));
  } else if (end.asking && end.asking->to.is(from)) {
    end.asking.reset();
    calls_.answered(*end.owner, message);
  } else {
    ++end.dropped.unasked;
  }
}

// [RCM-357, RCM-358]
void Sidr::request_received(SidrEnd& end, const SidrEnd::Peer& from, SidrMessage message) {
  const auto known = std::ranges::find_if(
      end.answers, [&](const SidrEnd::Answer& answer) { return answer.to.is(from); });
  const Backlog backlog = calls_.backlog(*end.owner);
  if (backlog == Backlog::kNotListening) {
    ++end.dropped.unheard;
  } else if (known != end.answers.end() && known->octets) {
    end.send(*known->octets, known->to);
  } else if (known != end.answers.end()) {
    ++end.dropped.undecided;
  } else if (backlog == Backlog::kFull) {
    ++end.dropped.crowded;
  } else {
    if (end.answers.size() == SidrEnd::kMaxAnswers) end.answers.pop_front();
    end.answers.push_back({.to = from, .octets = std::nullopt});
    calls_.requested(*end.owner, from, std::move(message));
  }
}

// Sends the requests that are due. Returns the time at which the next request is due.
// [RCM-353, RCM-357]
Sidr::TimePoint Sidr::finish_turn() {
  const std::lock_guard lock(mutex_);
  const auto now = SidrEnd::Clock::now();
  auto next = TimePoint::max();
  for (const auto& [fd, end] : ends_) {
    if (!end->asking) continue;
    auto& asking = *end->asking;
    if (now >= asking.due) {
      if (asking.left == 0) {
        calls_.unanswered(*end->owner);
        end->asking.reset();
        continue;
      }
      end->send(asking.octets, asking.to);
      asking.due = now + asking.wait;
      asking.wait = std::min<SidrEnd::Clock::duration>(2 * asking.wait, kLongestWait);
      --asking.left;
    }
    next = std::min(next, asking.due);
  }
  return next;
}

}  // namespace iwarp::rdma_core
