// SPDX-License-Identifier: Apache-2.0
// DrivenConnection: sends as many octets as the socket accepts and receives as many as it has,
// without waiting. The octets move directly from and to the buffers that verbs::Connection names.
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>

#include "driver/driven_active.hpp"
#include "driver/driven_connection.hpp"
#include "driver/held_notices.hpp"
#include "iwarp/net/socket_ops.hpp"
#include "sockets/sockets.hpp"

namespace iwarp::net {
namespace {

constexpr std::size_t kPieces = 256;  // maximum number of iovecs per system call, below IOV_MAX
constexpr std::size_t kTurn = 1024 * 1024;  // maximum number of octets in each direction per turn
constexpr std::uint32_t kEmssInterval = 4096;  // number of sends between two queries of the EMSS

using Pieces = std::array<iovec, kPieces>;

// Fills `out` with the pieces of `plan`. Returns the number of octets and the number of entries
// filled.
template <typename Plan, std::size_t N>
std::pair<std::size_t, std::size_t> fill(const Plan& plan, std::array<iovec, N>& out) {
  std::size_t octets = 0;
  std::size_t count = 0;
  for (const auto& piece : plan) {
    if (count == out.size()) break;
    // sendmsg() only reads through the pointer.
    out[count++] = {.iov_base = const_cast<std::byte*>(piece.data()), .iov_len = piece.size()};
    octets += piece.size();
  }
  return {octets, count};
}

// send_plan() and receive_plan() call the carrier, or the kernel if there is no carrier.
ssize_t send_plan(Carrier* carrier, int socket, const msghdr& plan) {
  if (carrier != nullptr) [[unlikely]]
    return carrier->send({plan.msg_iov, plan.msg_iovlen});
  return socket_ops().send(socket, &plan, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t receive_plan(Carrier* carrier, int socket, msghdr& plan) {
  if (carrier != nullptr) [[unlikely]]
    return carrier->receive({plan.msg_iov, plan.msg_iovlen});
  return socket_ops().receive(socket, &plan, MSG_DONTWAIT);
}

bool would_block(int code) { return code == EAGAIN || code == EWOULDBLOCK; }

// Returns whether the socket has octets, the end of the stream or an error.
bool has_something(int socket) {
  char one = 0;
  return ::recv(socket, &one, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || !would_block(errno);
}

}  // namespace

// Runs one turn and returns the work that it did not finish. `arrived` is the value of arrivals_
// before the turn. `look` is kEmptied if a receive call that was made after arrivals_ was read has
// emptied the socket.
std::uint32_t DrivenConnection::drive(std::uint32_t work, std::uint32_t arrived, Look look) {
  Active& a = *active_;
  a.awaited.is_valid = false;
  const bool had_more = a.write_blocked || a.turn_over;
  std::uint32_t left = 0;
  if (work != kTransmit && look_and_receive(work, look)) left |= kReceive;
  if (a.holds_notices && !a.core.owes_answers()) HeldNotices::release();
  // Most polls find nothing to read. In kPoller such a turn ends here, because nothing else has
  // changed.
  const bool came = arrivals_.load(std::memory_order_relaxed) != arrived || a.end_of_stream;
  if (work == kPoll && !came && !had_more && mode() == DriveMode::kPoller && !held_.load() &&
      a.carrier == nullptr) {
    await_same();
    return 0;
  }
  const verbs::Output output = (work & kTransmit) != 0 ? verbs::Output::kMessages : a.core.output();
  const bool later = output == verbs::Output::kQuestions && work == kPoll && came && asks_later();
  a.turn_over = !later && may_transmit(output) && transmit();
  if (a.holds_notices) HeldNotices::release();
  if (a.turn_over) left |= kTransmit;
  const bool may_move_only = (work & ~(kTransmit | kReceive | kPoll)) == 0;
  if (may_move_only && has_only_moved_octets()) return left;
  finish_turn();
  if (active_ == nullptr) return 0;
  if (a.carrier != nullptr && has_unread_input()) left |= kReceive;
  return left;
}

// Performs the first half of a turn, everything before sending. Returns whether there may be more
// octets to read.
bool DrivenConnection::look_and_receive(std::uint32_t work, Look look) {
  Active& a = *active_;
  if ((work & kSlept) != 0) ++a.wakeups;
  if ((work & kRoom) != 0) a.write_blocked = false;
  // A polling thread asks for room before it sends. The kernel reports room only if a large part of
  // the socket buffer is free, whereas a send would also use a few free octets.
  if ((work & kPoll) != 0 && a.write_blocked) {
    ++a.wait_calls;
    a.write_blocked = !writable(a.socket.get());
  }
  if (change_mode(work)) mode_changed();
  constexpr std::uint32_t kControl = kTimer | kResume | kDisconnect | kTerminate | kAbort;
  // Before this end sends its FIN, answer the octets that have arrived.
  if ((work & kDisconnect) != 0) receive();
  if ((work & kControl) != 0) control(work, mpa::Clock::now());
  // While the stream is held for lack of a receive, the socket is not read. So check whether the
  // socket has an error.
  if (held_.load() && (work & (kSlept | kPoll)) != 0 && is_broken(a.socket.get())) socket_failed();
  const bool asked = (work & (kReceive | kPoll)) != 0;
  return asked && look == Look::kMayHaveMore && receive();
}

// Returns false if transmit() would do nothing.
inline bool DrivenConnection::may_transmit(verbs::Output output) const {
  return output != verbs::Output::kNone || active_->carrier != nullptr || gathered_.any();
}

// Call if the only output would be a query that asks the peer which messages have arrived. Returns
// true if the query is held back. If the application answers the messages of this poll with a
// request, the query is sent together with that request; otherwise the next poll sends the query.
bool DrivenConnection::asks_later() {
  Active& a = *active_;
  if (mode() != DriveMode::kPoller) return false;
  if (a.carrier != nullptr || !gathered_.is_on()) return false;
  if (!gathered_.any() && !gathered_.hold_back(GatheredPosts::Clock::now())) return false;
  a.core.let_posts_wait();
  return true;
}

// Returns whether finish_turn() would have nothing to do.
inline bool DrivenConnection::has_only_moved_octets() const {
  const Active& a = *active_;
  return a.awaits_octets_only && !a.turn_over && !a.write_blocked && !a.end_of_stream &&
         a.core.is_steady();
}

// Stores the receive call that found the socket empty, for the next poll to repeat.
void DrivenConnection::await_same() {
  Active::Awaited& awaited = active_->awaited;
  const auto plan = active_->core.receive_plan();
  if (plan.empty() || plan.size() > awaited.pieces.size()) return;
  const auto [octets, count] = fill(plan, awaited.pieces);
  awaited.octets = octets;
  awaited.message.msg_iov = awaited.pieces.data();
  awaited.message.msg_iovlen = count;
  awaited.is_valid = true;
}

// Reads the socket until it is empty or the turn is over. Returns whether there may be more to
// read.
bool DrivenConnection::receive() {
  Active& a = *active_;
  Pieces pieces;
  const auto begin = a.octets_received;
  while (!a.end_of_stream) {
    const auto plan = a.core.receive_plan();
    if (plan.empty()) return false;
    if (a.octets_received - begin >= kTurn) return true;
    const auto [octets, count] = fill(plan, pieces);
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    ++a.receive_calls;
    // Record the input now, because the carrier may read octets from the socket without delivering
    // any.
    if (a.carrier != nullptr && is_exposed() && has_something(a.socket.get())) octets_came();
    if (!take(receive_plan(a.carrier.get(), a.socket.get(), message), octets)) return false;
  }
  return false;
}

// Handles the result `n` of a receive call for `asked` octets. Returns whether there may be more to
// read.
bool DrivenConnection::take(ssize_t n, std::size_t asked) {
  Active& a = *active_;
  if (n < 0 && errno == EINTR) return true;
  if (n < 0 && would_block(errno)) return false;
  note_arrival();
  if (n < 0) {
    if (errno == EFAULT) {
      a.core.receive_faulted(mpa::Clock::now());
      return true;  // Further octets are read and dropped.
    }
    socket_failed();
    return false;
  }
  if (n == 0) {
    a.end_of_stream = true;
    a.core.peer_closed(mpa::Clock::now());  // [DDP-9] [MPA-107]
    return false;
  }
  const auto size = static_cast<std::size_t>(n);
  a.octets_received += size;
  a.core.received(size, verbs::Now(mpa::Clock::now));
  // If `size` is less than `asked`, the socket is empty until new octets make it readable.
  return size == asked;
}

// Sends pending output. Returns whether there is more to send that the socket may accept.
bool DrivenConnection::transmit() {
  Active& a = *active_;
  Pieces pieces;
  Carrier* const carrier = a.carrier.get();
  // From here on, no post is held back. If the socket is full, the posts are sent when the socket
  // has room.
  gathered_.leave();
  if (carrier != nullptr && !flush_carrier()) return false;
  // The first pass does not check for output, because there nearly always is some.
  bool may_have_more = true;
  for (std::size_t done = 0; !a.write_blocked && may_have_more;
       may_have_more = a.core.may_have_output()) {
    const verbs::Now now(mpa::Clock::now);
    const auto plan = a.core.transmit_plan(kPieces, now);
    if (plan.empty()) return false;
    if (done >= kTurn) return true;
    const auto [octets, count] = fill(plan, pieces);
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    ++a.send_calls;
    const auto n = send_plan(carrier, a.socket.get(), message);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EFAULT) {
      a.core.send_faulted(now);
      continue;
    }
    if (n < 0) {
      if (would_block(errno)) {
        a.write_blocked = true;
      } else {
        // Read the octets that the peer sent before it closed the connection, for example a
        // Terminate.
        while (receive()) {
        }
        socket_failed();
      }
      return false;
    }
    if (n == 0) {  // The carrier has to receive from the peer first.
      a.write_blocked = carrier->holds_output();
      return false;
    }
    const auto size = static_cast<std::size_t>(n);
    gathered_.left(now);
    a.core.transmitted(size, now);
    done += size;
    if (size < octets) a.write_blocked = true;  // The socket buffer is full.
    if (carrier != nullptr && carrier->holds_output()) a.write_blocked = true;
    if (++a.sends_since_emss == kEmssInterval) {
      a.sends_since_emss = 0;
      a.core.set_emss(effective_mss(a.socket.get()));  // [MPA-49]
    }
  }
  return false;
}

// Ends the stream after an error of the socket. verbs::Connection reports as lost the messages that
// TCP accepted but may not have delivered. [DDP-3]
void DrivenConnection::socket_failed() {
  Active& a = *active_;
  a.end_of_stream = true;
  a.write_blocked = false;
  a.core.lost(mpa::Clock::now());
}

}  // namespace iwarp::net
