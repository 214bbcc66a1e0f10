// SPDX-License-Identifier: Apache-2.0
// DrivenDatagrams: posting and groups, the turn of the driver that sends and receives, and the
// waits for sockets that are not ready.
#include "datagrams/driven_datagrams.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>

#include "iwarp/net/socket_ops.hpp"
#include "iwarp/verbs/errors.hpp"
#include "iwarp/verbs/receive_queue.hpp"

namespace iwarp::net {
namespace {

using verbs::OutgoingDatagram;

constexpr std::size_t kBatch = DatagramSocket::kBatch;
// Maximum number of batches that one turn of the driver receives from one socket.
constexpr int kTurn = 16;
constexpr int kReceiveRoom = 4 << 20;
constexpr std::size_t kMaxGroups = 32;
constexpr unsigned kLooks = 16;

/// The buffers that a thread uses to drive any datagram queue pair.
struct Scratch {
  Scratch() {
    for (std::size_t i = 0; i != kBatch; ++i) came[i].room = octets[i];
  }

  std::array<OutgoingDatagram, kBatch> outgoing;
  std::array<DatagramSocket::Sending, kBatch> sendings;
  std::array<iovec, kBatch> pieces;
  std::array<DatagramSocket::Received, kBatch> came;
  std::array<std::array<std::byte, verbs::kMaxDatagram>, kBatch> octets;
};

Scratch& scratch() {
  static thread_local std::unique_ptr<Scratch> made;
  // The caller holds the lock of a queue pair, so no exception may leave this function.
  if (made == nullptr) made = insist([] { return std::make_unique<Scratch>(); });
  return *made;
}

/// Converts a datagram to the form that DatagramSocket sends, and makes `piece` refer to its
/// octets.
DatagramSocket::Sending sending(const OutgoingDatagram& from, iovec& piece) {
  // sendmmsg() only reads through the pointer.
  piece = {.iov_base = const_cast<std::byte*>(from.octets().data()),
           .iov_len = from.octets().size()};
  return {.path = from.path, .port = from.port, .pieces = {&piece, 1}};
}

/// Returns both ends of a datagram, which the socket of `door` sends or has received.
template <typename Datagram>
verbs::DatagramEnds ends_of(const DatagramDoor& door, const Datagram& datagram) {
  return {.own = datagram.path.own,
          .own_port = door.socket.port(),
          .peer = datagram.path.peer,
          .peer_port = datagram.port};
}

}  // namespace

DrivenDatagrams::DrivenDatagrams(Worker& worker, const verbs::DatagramQpInit& init,
                                 verbs::StagTable& stags, DatagramSocket socket,
                                 std::shared_ptr<verbs::DatagramTap> tap)
    : DriveTurn(worker), core_(init, stags), tap_(std::move(tap)) {
  add_door(std::move(socket));
}

DrivenDatagrams::~DrivenDatagrams() = default;

// The application ---------------------------------------------------------------------------------

std::error_code DrivenDatagrams::post_send(std::span<const verbs::DatagramWr> wrs,
                                           std::size_t& posted) {
  const auto error = core_.post_send(wrs, posted);
  if (posted != 0) kick(kTransmit);
  return error;
}

std::error_code DrivenDatagrams::post_all(std::span<const verbs::DatagramWr> wrs) {
  const auto error = core_.post_all(wrs);
  if (!error) kick(kTransmit);
  return error;
}

std::error_code DrivenDatagrams::post_recv(const verbs::RecvWr& wr) {
  if (core_.init().srq == nullptr && core_.receives() == 0) return post_first_recv(wr);
  const auto error = core_.post_recv(wr);
  if (!error && input_.load() == InputState::kHeld) kick(kResume);
  return error;
}

// Posts a receive to the empty queue. Holds the lock, so that drop_unreceived() drops no datagram
// that arrives after the receive was posted.
std::error_code DrivenDatagrams::post_first_recv(const verbs::RecvWr& wr) {
  return locked(
      [&] {
        drop_unreceived();
        return core_.post_recv(wr);
      },
      kResume);
}

void DrivenDatagrams::receive_imminent() {
  locked([this] { drop_unreceived(); }, kResume);
}

std::error_code DrivenDatagrams::set_state(verbs::DatagramState state) {
  sync();
  return locked(
      [&] {
        if (!core_.takes_datagrams()) drain();
        return core_.set_state(state);
      },
      kArm);
}

std::error_code DrivenDatagrams::attach(const IpAddress& group,
                                        std::span<const unsigned> interfaces) {
  if (!is_multicast(group)) return make_error_code(verbs::Errc::kInvalidArgument);
  std::error_code first;
  std::size_t joined = 0;
  const auto join_at = [&](unsigned interface) {
    std::error_code error;
    try {
      error = join(group, interface);
    } catch (const std::bad_alloc&) {  // No exception may leave a function called by locked().
      error = std::make_error_code(std::errc::not_enough_memory);
    }
    if (error && !first) first = error;
    ++(error ? core_.counters().unjoined : joined);
  };
  locked([&] { std::ranges::for_each(interfaces, join_at); }, kArm | kReceive);
  return joined != 0 ? std::error_code{} : first;
}

// Joins a group on an interface. A link-local group has one door (one socket) for each interface;
// any other group has one door for all its interfaces.
std::error_code DrivenDatagrams::join(const IpAddress& group, unsigned interface) {
  const auto known = std::ranges::find_if(doors_, [&](const auto& door) {
    return door->group == group && (!is_local_to_link(group) || door->interface == interface);
  });
  if (known != doors_.end()) return (*known)->socket.join(group, interface);
  if (doors_.size() - peers_ > kMaxGroups) return make_error_code(verbs::Errc::kLimitReached);
  auto socket =
      DatagramSocket::open_at(group, interface, verbs::datagram_port(verbs::kMulticastQp));
  if (!socket) return socket.error();
  Door& door = add_door(std::move(*socket));
  door.group = group;
  door.interface = interface;
  try {
    core_.join(group);
  } catch (const std::bad_alloc&) {
    doors_.pop_back();
    throw;
  }
  return {};
}

DrivenDatagrams::Door& DrivenDatagrams::add_door(DatagramSocket socket) {
  socket.request_room(kReceiveRoom);
  Door& door = *doors_.emplace_back(std::make_unique<Door>(worker_, std::move(socket), *this));
  socket_ops().carries(door.socket.fd(), core_.init().num);
  for (const auto& set : sets_) watch(door, set);
  return door;
}

// Adds the socket to a set. If the kernel refuses the socket, sets unwatched_, so that the feed
// polls the queue pair without the set.
void DrivenDatagrams::watch(Door& door, const std::shared_ptr<SocketSet>& set) noexcept {
  if (!door.watched.join(set)) unwatched_.store(true, std::memory_order_relaxed);
}

std::error_code DrivenDatagrams::detach(const IpAddress& group) {
  if (!is_multicast(group)) return make_error_code(verbs::Errc::kInvalidArgument);
  const auto is_its = [&](const auto& door) {
    if (door->group != group) return false;
    count_lost(*door);
    return true;
  };
  const std::size_t gone = locked(
      [&] {
        core_.leave(group);
        return std::erase_if(doors_, is_its);
      },
      kArm);
  return gone != 0 ? std::error_code{} : make_error_code(verbs::Errc::kInvalidArgument);
}

bool DrivenDatagrams::is_attached() {
  const auto is_of_group = [](const auto& door) { return is_multicast(door->group); };
  return locked([&] { return std::ranges::any_of(doors_, is_of_group); }, 0);
}

verbs::DatagramCounters DrivenDatagrams::counters() {
  const auto count = [this] {
    for (const auto& door : doors_) count_lost(*door);
    return core_.counters();
  };
  return locked(count, 0);
}

void DrivenDatagrams::end() {
  sync();
  locked([this] {
    for (const auto& door : doors_) count_lost(*door);
    doors_.clear();
    sets_.clear();
    ended_.store(true, std::memory_order_release);
  });
}

// Driving -----------------------------------------------------------------------------------------

void DrivenDatagrams::poll(bool frequent) { kick(frequent ? kPoll | kPolled : kPoll); }

void DrivenDatagrams::note_taken() {
  for (const auto& set : sets_) set->note_taken();
}

void DrivenDatagrams::join(std::shared_ptr<SocketSet> set) {
  locked([&] {
    try {
      sets_.push_back(set);
      for (const auto& door : doors_) watch(*door, set);
    } catch (const std::bad_alloc&) {
      unwatched_.store(true, std::memory_order_relaxed);
    }
  });
}

void DrivenDatagrams::leave(const SocketSet* set) {
  locked([&] {
    for (const auto& door : doors_) door->watched.leave(set);
    std::erase_if(sets_, [set](const auto& own) { return own.get() == set; });
  });
}

void DrivenDatagrams::resume_soon() {
  worker_.post([self = shared_from_this(), this] { kick(kResume); });
}

void DrivenDatagrams::run(std::uint32_t work, bool by_worker) {
  take_turns(work, by_worker, [this](std::uint32_t now) -> std::uint32_t {
    try {
      if (!doors_.empty()) drive(now);
    } catch (const std::bad_alloc&) {
      // The datagram that was being received may be lost, as UD permits, but the queue pair must
      // continue to wait for the next datagram.
      insist([this] { arm(); });
    }
    return 0;
  });
}

void DrivenDatagrams::drive(std::uint32_t work) {
  if (change_mode(work)) work |= kArm;
  if ((work & kRoom) != 0) {
    blocked_ = nullptr;
    work |= kTransmit | kArm;
  }
  if ((work & kTransmit) != 0) {
    transmit();
    if (connect_often()) work |= kArm;
  }
  if ((work & (kReceive | kPoll)) != 0 && !receive()) work |= kArm;
  const bool resumes = (work & kResume) != 0 && input() == InputState::kHeld;
  if (resumes) step(InputEvent::kResume);
  if ((work & (kArm | kResume)) != 0 || blocked_ != nullptr) arm();
}

void DrivenDatagrams::transmit() {
  auto& s = scratch();
  while (blocked_ == nullptr) {
    const auto batch = core_.prepare(s.outgoing);
    if (batch.empty()) return;
    std::ranges::transform(batch, s.pieces, s.sendings.begin(), sending);
    for (std::size_t done = 0; done != batch.size();) {
      const auto n = send(std::span(s.sendings).subspan(done, batch.size() - done));
      try {
        if (tap_ != nullptr) report_sent(std::span(s.sendings).subspan(done, n));
      } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
        // Memory ran out in the tap. The datagrams have been sent, but the tap does not record
        // them.
      }
      for (std::size_t i = 0; i != n; ++i) core_.sent(batch[done + i], true);
      done += n;
      if (n != 0 || errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) {
        blocked_ = sender_;
        core_.give_back(batch.size() - done);
        return;
      }
      core_.sent(batch[done++], false);
    }
  }
}

void DrivenDatagrams::report_sent(std::span<const DatagramSocket::Sending> sent) {
  const auto now = mpa::Clock::now();
  std::vector<std::byte> octets;
  for (const auto& one : sent) {
    octets.clear();
    for (const iovec& part : one.pieces) {
      const auto* const from = static_cast<const std::byte*>(part.iov_base);
      octets.insert(octets.end(), from, from + part.iov_len);
    }
    tap_->datagram(true, ends_of(*doors_.front(), one), octets, now);
  }
}

void DrivenDatagrams::report_received(const Door& door, const DatagramSocket::Received& one) {
  tap_->datagram(false, ends_of(door, one), one.room.first(one.size), mpa::Clock::now());
}

// Drops the datagrams that arrived while no receive was posted, as a hardware adapter does. Keeps
// the datagrams while the application has completions to poll. In that case the receive queue may
// be empty only because the application is slow, and the queue of a hardware adapter would not have
// been empty.
void DrivenDatagrams::drop_unreceived() {
  if (core_.receives() != 0) return;
  const auto empty_for = mpa::Clock::now() - empty_since_;
  if (!core_.all_polled() && empty_for < core_.init().lateness) return;
  drain();
  core_.drop_waiting();
}

// Reads all datagrams that have arrived. Drops a datagram if no receive is posted for it, or if the
// queue pair is in a state in which it receives none.
void DrivenDatagrams::drain() {
  try {
    for (const auto& door : doors_) {
      std::size_t count = 0;
      for (std::size_t n = 1; n != 0 && count < kDrained; count += n) n = take(*door, kBatch);
    }
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
    // An exception must not leave a function called by locked(). The datagrams that were not read
    // are delivered later.
  }
}

void DrivenDatagrams::count_lost(Door& door) {
  const std::uint32_t now = door.socket.lost();
  core_.counters().lost += now - door.lost;  // `now` and door.lost are modulo 2^32
  door.lost = now;
}

// Receives datagrams. Returns true if a polling thread found no datagram and a receive is posted.
// In that case the waits of the sockets need no update.
bool DrivenDatagrams::receive() {
  if (!core_.takes_datagrams() || !core_.deliver_waiting()) return false;
  // A polling thread polls again at once. It reads the connected sockets in each poll, and the
  // other sockets in only one of kLooks polls, because each read is a system call that delays the
  // next datagram.
  const bool all = mode() != DriveMode::kPoller || older_ != 0 || ++looks_ % kLooks == 0;
  bool any = false;
  for (const auto& door : doors_) {
    if (peers_ == 0 || (door->peer ? older_ == 0 : all)) any |= receive(*door);
  }
  return !any && mode() == DriveMode::kPoller && is_plain() && core_.receives() != 0;
}

// Receives from one socket. Returns whether a datagram arrived. Requests no more datagrams than
// have probably arrived, because a larger request makes the kernel check the socket a second time.
bool DrivenDatagrams::receive(Door& door) {
  bool any = false;
  const int turns = mode() == DriveMode::kPoller ? 1 : kTurn;  // A polling thread soon calls again.
  for (int round = 0; round != turns; ++round) {
    const auto room = std::min({core_.receives(), kBatch, door.expected});
    if (room == 0) break;  // Datagrams stay in the socket until a receive is posted.
    const auto n = take(door, room);
    door.expected = n == room ? 2 * room : std::max<std::size_t>(n, 1);
    any |= n != 0;
    if (n < room) break;
  }
  if (any) note_arrival();
  return any;
}

// Receives at most `room` datagrams and passes them to the core. Returns their number.
std::size_t DrivenDatagrams::take(Door& door, std::size_t room) {
  auto& came = scratch().came;
  const auto n = door.socket.receive(std::span(came).first(room));
  if (older_ != 0 && &door == doors_.front().get()) {
    older_ = n == room ? older_ - std::min(n, older_) : 0;
  }
  if (n != 0) ++core_.counters().receive_calls;
  const bool is_group = door.group != IpAddress{};
  for (std::size_t i = 0; i != n; ++i) {
    const auto& one = came[i];
    if (tap_ != nullptr && !one.is_cut) report_received(door, one);
    const bool is_fitting = !one.is_cut && is_group == is_multicast(one.path.own);
    // If the datagram was truncated, or a unicast datagram came to a group's socket or vice versa,
    // pass no octets. The core then counts the datagram as malformed.
    core_.arrived(is_fitting ? one.room.first(one.size) : bytes::Span{}, one.path);
  }
  return n;
}

// Waiting -----------------------------------------------------------------------------------------

void DrivenDatagrams::arm() {
  const auto lacks_receives = [this] { return !core_.deliver_waiting() || core_.receives() == 0; };
  if (input() == InputState::kReads && lacks_receives()) {
    // After this store, either a thread that posts a receive sees kHeld, or receives() counts that
    // receive.
    step(InputEvent::kHold);
    empty_since_ = mpa::Clock::now();
    auto* const shared = core_.init().srq;
    if (shared != nullptr) {
      insist([&] { verbs::SharedReceiveQueuePort::await_imminent(*shared, weak_from_this()); });
      insist([&] { verbs::SharedReceiveQueuePort::await(*shared, weak_from_this()); });
    }
  }
  if (input() == InputState::kHeld && !lacks_receives()) step(InputEvent::kResume);
  const bool reads = core_.takes_datagrams() && input() == InputState::kReads;
  for (const auto& door : doors_) {
    if (!door->watched.watch(reads, false)) unwatched_.store(true, std::memory_order_relaxed);
    if (mode() != DriveMode::kWorker && blocked_ == nullptr) {
      // Release the socket: while it is in the reactor, every datagram wakes the worker, even if no
      // wait is pending.
      door->waits->release();
    } else if (mode() == DriveMode::kWorker && reads) {
      await(*door, SocketWaits::kRead, kReceive);
    }
  }
  if (blocked_ != nullptr) await(*blocked_, SocketWaits::kWrite, kRoom);
}

// Starts a wait for the socket. The handler also runs if the wait is cancelled.
void DrivenDatagrams::await(Door& door, SocketWaits::Kind kind, std::uint32_t work) {
  if (door.waits->is_pending(kind) || !door.waits->watch(door.socket.fd())) return;
  insist([&] {
    door.waits->await(
        kind, [self = shared_from_this(), this, waits = door.waits, work] { kick(work, true); });
  });
}

}  // namespace iwarp::net
