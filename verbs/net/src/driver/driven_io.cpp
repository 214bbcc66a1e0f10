// SPDX-License-Identifier: Apache-2.0
// DrivenConnection: sends as many octets as the socket accepts and receives as many as it has,
// without waiting. The octets move directly from and to the buffers that verbs::Connection names.
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <tuple>

#include "driver/driven_active.hpp"
#include "driver/driven_connection.hpp"
#include "driver/held_notices.hpp"
#include "driver/lingering_close.hpp"
#include "iwarp/net/socket_ops.hpp"
#include "sockets/sockets.hpp"

namespace iwarp::net {
namespace {

constexpr std::size_t kPieces = 256;  // maximum number of iovecs per system call, below IOV_MAX
constexpr std::size_t kTurn = 1024 * 1024;  // maximum number of octets in each direction per turn
// The first call of a turn sends few octets, so that the peer handles them while this end frames
// the next ones. Each further call sends twice as many, because a call costs more than its octets.
constexpr std::size_t kFirstBatch = 256 * 1024;
constexpr std::uint32_t kEmssInterval = 4096;  // number of sends between two queries of the EMSS

using Pieces = std::array<iovec, kPieces>;

// Fills `out` with the pieces of `plan`. Returns the number of octets, and a message that refers to
// the pieces.
template <typename Plan, std::size_t N>
std::pair<std::size_t, msghdr> fill(const Plan& plan, std::array<iovec, N>& out) {
  std::size_t octets = 0;
  std::size_t count = 0;
  for (const auto& piece : plan) {
    if (count == out.size()) break;
    // sendmsg() only reads through the pointer.
    out[count++] = {.iov_base = const_cast<std::byte*>(piece.data()), .iov_len = piece.size()};
    octets += piece.size();
  }
  return {octets, {.msg_iov = out.data(), .msg_iovlen = count}};
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

// Runs one turn and returns the work that it did not finish. Releases the notices in
// `until_answered`, if there are any, when the peer has its answers.
std::uint32_t DrivenConnection::drive(std::uint32_t work, HeldNotices* until_answered) {
  Active& a = *active_;
  const auto arrived = arrivals_.load(std::memory_order_relaxed);
  const Look look = take_answer();
  a.awaited.octets = 0;
  const bool was_idle = output() == OutputState::kIdle;
  std::uint32_t left = 0;
  if (work != kTransmit && look_and_receive(work, look)) left |= kReceive;
  if (until_answered != nullptr && !a.core.owes_answers()) until_answered->release();
  // Most polls find nothing to read. In kPoller such a turn ends here, because nothing else has
  // changed.
  const bool came = arrivals_.load(std::memory_order_relaxed) != arrived;
  if (work == kPoll && !came && was_idle && mode() == DriveMode::kPoller &&
      input() == InputState::kReads && a.carrier == nullptr) {
    await_same();
    return 0;
  }
  const verbs::Output pending =
      (work & kTransmit) != 0 ? verbs::Output::kMessages : a.core.output();
  bool sends = may_transmit(pending);
  if (pending == verbs::Output::kAckRequest && work == kPoll && came) sends = !hold_ack_request();
  if (sends) transmit();
  if (until_answered != nullptr) until_answered->release();
  const bool may_move_only = (work & ~(kTransmit | kReceive | kPoll)) == 0 && was_idle;
  const bool is_idle = !sends || output() == OutputState::kIdle;
  if (may_move_only && is_idle && has_only_moved_octets()) return left;
  finish_turn();
  if (active_ == nullptr) return 0;
  if (input() == InputState::kBuffered) left |= kReceive;
  if (output() == OutputState::kMore) left |= kTransmit;
  return left;
}

// Performs the first half of a turn, everything before sending. Returns whether there may be more
// octets to read.
bool DrivenConnection::look_and_receive(std::uint32_t work, Look look) {
  Active& a = *active_;
  if ((work & kSlept) != 0) ++a.wakeups;
  // A polling thread asks for room before it sends. The kernel reports room only if a large part of
  // the socket buffer is free, whereas a send would also use a few free octets.
  const auto asks_for_room = [&] {
    ++a.wait_calls;
    return writable(a.socket.get());
  };
  if (output() == OutputState::kBlocked &&
      ((work & kRoom) != 0 || ((work & kPoll) != 0 && asks_for_room()))) {
    step(OutputEvent::kRoom);
  }
  if (change_mode(work)) mode_changed();
  if ((work & (kTimer | kResume)) != 0) control(work);
  // While the stream is held for lack of a receive, the socket is not read. So check whether the
  // socket has an error.
  if (input() == InputState::kHeld && (work & (kSlept | kPoll)) != 0 && is_broken(a.socket.get())) {
    socket_failed();
  }
  const bool asked = (work & (kReceive | kPoll)) != 0;
  if (!asked || look != Look::kMayHaveMore) return false;
  const bool has_more = receive();
  // A thread that keeps polling this connection receives into the same memory again.
  if ((work & kPoll) == 0 || mode() != DriveMode::kPoller) a.core.rest();
  return has_more;
}

// Returns false if transmit() would do nothing.
inline bool DrivenConnection::may_transmit(verbs::Output pending) const {
  return pending != verbs::Output::kNone || active_->carrier != nullptr || gathered_.any();
}

// Call if the only output is a request that asks the peer to acknowledge messages. Holds this
// request back if the application may answer the messages of this poll with a request of its own,
// so that both are sent together; otherwise the next poll sends it. Returns whether it is held
// back.
bool DrivenConnection::hold_ack_request() {
  Active& a = *active_;
  if (mode() != DriveMode::kPoller) return false;
  if (a.carrier != nullptr || !gathered_.is_on()) return false;
  if (!gathered_.any() && gathered_.hold_back(GatheredPosts::Clock::now()) == 0) return false;
  a.core.let_posts_wait();
  return true;
}

// Returns whether finish_turn() would have nothing to do. Call if the output was and is kIdle.
inline bool DrivenConnection::has_only_moved_octets() const {
  const Active& a = *active_;
  return mode() != DriveMode::kWorker && input() == InputState::kReads && a.carrier == nullptr &&
         a.core.is_steady();
}

// Stores the receive call that found the socket empty, for the next poll to repeat.
void DrivenConnection::await_same() {
  Active::Awaited& awaited = active_->awaited;
  const auto plan = active_->core.receive_plan();
  if (plan.empty() || plan.size() > awaited.pieces.size()) return;
  std::tie(awaited.octets, awaited.message) = fill(plan, awaited.pieces);
}

// Reads the socket until it is empty or the turn is over. Returns whether there may be more to
// read.
bool DrivenConnection::receive() {
  Active& a = *active_;
  Pieces pieces;
  const auto begin = a.octets_received;
  if (input() == InputState::kEnded) return false;
  for (;;) {
    const auto plan = a.core.receive_plan();
    if (plan.empty()) return false;
    if (a.octets_received - begin >= kTurn) return true;
    auto [octets, message] = fill(plan, pieces);
    ++a.receive_calls;
    // Record the input now, because the carrier may read octets from the socket without delivering
    // any.
    if (a.carrier != nullptr && is_exposed() && has_something(a.socket.get())) note_input();
    if (!take(receive_plan(a.carrier.get(), a.socket.get(), message), octets)) return false;
  }
}

// Handles the result `n` of a receive call for `asked` octets. Returns whether there may be more to
// read.
bool DrivenConnection::take(ssize_t n, std::size_t asked) {
  if (n < 0 && errno == EINTR) return true;
  if (n < 0 && would_block(errno)) return false;
  note_arrival();
  Active& a = *active_;
  if (n < 0) {
    if (errno == EFAULT) {
      a.core.receive_faulted(mpa::Clock::now());
      return true;  // Further octets are read and dropped.
    }
    socket_failed();
    return false;
  }
  if (n == 0) {
    if (a.core.delays_fin()) return false;
    step(InputEvent::kEnd);
    a.core.peer_closed(mpa::Clock::now());  // [DDP-9] [MPA-107]
    return false;
  }
  const auto size = static_cast<std::size_t>(n);
  a.octets_received += size;
  a.core.received(size, verbs::Now(mpa::Clock::now));
  // If `size` is less than `asked`, the socket is empty until new octets make it readable.
  return size == asked;
}

// Sends pending output. kMore then means that the socket may accept still more.
void DrivenConnection::transmit() {
  Active& a = *active_;
  Pieces pieces;
  Carrier* const carrier = a.carrier.get();
  // From here on, no post is held back. If the socket is full, the posts are sent when the socket
  // has room.
  gathered_.leave();
  if (output() != OutputState::kIdle) {
    if (output() == OutputState::kBlocked) return;
    step(OutputEvent::kNextTurn);
  }
  if (carrier != nullptr && !flush_carrier()) return;
  std::size_t done = 0;
  std::size_t batch = kFirstBatch;
  // The first pass does not check for output, because there nearly always is some.
  do {
    const verbs::Now now(mpa::Clock::now);
    const auto plan = a.core.transmit_plan(kPieces, now, batch);
    if (plan.empty()) return;
    if (done >= kTurn) return step(OutputEvent::kTurnOver);
    const auto [octets, message] = fill(plan, pieces);
    ++a.send_calls;
    const auto n = send_plan(carrier, a.socket.get(), message);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EFAULT) {
      a.core.send_faulted(now);
      continue;
    }
    if (n < 0) {
      if (would_block(errno)) return step(OutputEvent::kFull);
      // Read the octets that the peer sent before it closed the connection, for example a
      // Terminate.
      while (receive()) {
      }
      return socket_failed();
    }
    if (n == 0) {  // The carrier has to receive from the peer first.
      if (carrier->holds_output()) step(OutputEvent::kFull);
      return;
    }
    const auto size = static_cast<std::size_t>(n);
    gathered_.left(now);
    a.core.transmitted(size, now);
    done += size;
    batch *= 2;
    if (++a.sends_since_emss == kEmssInterval) {
      a.sends_since_emss = 0;
      a.core.set_emss(effective_mss(a.socket.get()));  // [MPA-49]
    }
    const bool is_buffered = carrier != nullptr && carrier->holds_output();
    if (size < octets || is_buffered) return step(OutputEvent::kFull);
  } while (a.core.may_have_output());
}

// Ends the stream after an error of the socket. verbs::Connection reports as lost the messages that
// TCP accepted but may not have delivered. [DDP-3]
void DrivenConnection::socket_failed() {
  step(InputEvent::kEnd);
  if (output() != OutputState::kIdle) step(OutputEvent::kLost);
  active_->core.lost(mpa::Clock::now());
}

// The carrier -------------------------------------------------------------------------------------

// The socket does not report the octets that the carrier has buffered, so the functions below send
// and read them. They also close the carrier before TCP.

const Carrier* DrivenConnection::carrier() const { return active_->carrier.get(); }

// After the carrier has been set up, a loss of TCP does not count as a failure of the carrier. The
// loss is reported in the same way as on a connection without a carrier.
const CarrierFailure* DrivenConnection::carrier_failure() const {
  const Carrier* const carrier = active_->carrier.get();
  const CarrierFailure* const out = carrier != nullptr ? carrier->failure() : nullptr;
  const bool was_set_up = out != nullptr && !carrier->peer_identity().empty();
  return was_set_up && out->cut_short ? nullptr : out;
}

// Enters or leaves kBuffered. Call after lift_hold().
void DrivenConnection::update_buffered() {
  const bool holds = active_->carrier->holds_input();
  if (input() == InputState::kReads && holds) step(InputEvent::kBuffer);
  if (input() == InputState::kBuffered && !holds) step(InputEvent::kDrain);
}

// Sends the carrier's pending output. Returns false if some of it has not been sent.
bool DrivenConnection::flush_carrier() {
  Active& a = *active_;
  if (output() == OutputState::kIdle && a.carrier->holds_output()) {
    const auto n = a.carrier->send({});
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
      while (receive()) {
      }
      socket_failed();
      return false;
    }
  }
  // Ask only once, because a carrier may begin to hold its output at any time.
  const bool holds = a.carrier->holds_output();
  if (holds && output() == OutputState::kIdle) step(OutputEvent::kFull);
  return !holds;
}

// Half-closes the carrier. Returns false if the carrier's close message has not been sent yet.
bool DrivenConnection::close_carrier() {
  active_->carrier->close();
  return flush_carrier() || input() == InputState::kEnded;
}

// Closes the carrier before the socket. The carrier's close message follows all accepted octets, so
// that the peer can distinguish an orderly end from a loss of TCP.
void DrivenConnection::leave_carrier(Close how) {
  Active& a = *active_;
  if (how == Close::kReset) return;
  a.carrier->close();
  (void)a.carrier->send({});
  if (how == Close::kPlain) {
    // Unread octets would make TCP reset the connection and discard the last output of the carrier.
    LingeringClose::finish(std::move(a.socket));
    return;
  }
  auto rest = a.carrier->take_output();
  if (input() == InputState::kEnded && rest.empty()) return;
  LingeringClose::start(worker_, std::move(a.socket), a.close_timeout, std::move(rest));
}

}  // namespace iwarp::net
