// SPDX-License-Identifier: Apache-2.0
// DrivenConnection: construction, control, changes of the driving thread, and the end of the
// connection. driven_io.cpp sends and receives.
#include "driver/driven_connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

#include "driver/driven_active.hpp"
#include "driver/held_notices.hpp"
#include "driver/lingering_close.hpp"
#include "iwarp/net/socket_ops.hpp"
#include "iwarp/rdmap/faults.hpp"
#include "sockets/sockets.hpp"

namespace iwarp::net {
namespace {

// A thread that ends a connection waits this long for octets. Then it checks again whether the peer
// may still ask which of its messages have arrived.
constexpr std::chrono::milliseconds kAckRequestLook(5);

}  // namespace

DrivenConnection::DrivenConnection(Private, Registry& registry, Worker& worker, const Setup& setup)
    : DriveTurn(worker),
      registry_(registry),
      local_(setup.local),
      peer_(setup.peer),
      watched_(setup.socket.get(), *this),
      gathered_(setup.options.gather_delay),
      qp_(setup.qp),
      is_outgoing_(setup.role == mpa::Role::kInitiator),
      setup_(registry.setups_as(setup.role)) {}

DrivenConnection::~DrivenConnection() = default;

std::shared_ptr<DrivenConnection> DrivenConnection::make(Registry& registry, Worker& worker,
                                                         Setup setup) {
  auto self = std::make_shared<DrivenConnection>(Private{}, registry, worker, setup);
  self->active_ = std::make_unique<Active>(worker, std::move(setup), *self);
  if (self->qp_ != nullptr) self->serve(*self->qp_);
  return self;
}

// Call when the connection gets its queue pair.
void DrivenConnection::serve(verbs::QueuePair& qp) {
  qp_ = &qp;
  device_ = qp.init().device;
  socket_ops().carries(active_->socket.get(), qp.num());
}

bool DrivenConnection::posted(verbs::Doorbell doorbell) {
  const bool may_wait = doorbell == verbs::Doorbell::kLargeMayWait
                            ? !worker_.gather_timer().counts_large(seen_large_)
                            : doorbell != verbs::Doorbell::kNow;
  const auto held =
      may_wait && gathered_.is_on() ? gathered_.hold_back(GatheredPosts::Clock::now()) : 0;
  if (held == 0) {
    kick(kTransmit);
  } else if (doorbell == verbs::Doorbell::kSoon) {
    if (held == 1) worker_.post([self = shared()] { self->kick(kTransmit, true); });
  } else if (!in_gather_timer_.load() && !in_gather_timer_.exchange(true)) {
    worker_.gather_timer().add(shared());
  }
  return held != 0;
}

DrivenConnection::HeldPosts DrivenConnection::flush_late_posts(
    GatheredPosts::Clock::time_point now) {
  const bool was_used = gathered_.take_used();
  if (!gathered_.any() || now < gathered_.due()) {
    return was_used ? HeldPosts::kInTime : HeldPosts::kNone;
  }
  kick(kTransmit, true);
  return HeldPosts::kLate;
}

bool DrivenConnection::leave_gather_timer() {
  in_gather_timer_.store(false);
  return !gathered_.any() || in_gather_timer_.exchange(true);
}

void DrivenConnection::receive_posted() {
  // Only a held stream, which the driver does not read for lack of a receive, has to be resumed.
  // Any other stream looks for a posted receive when a message arrives.
  if (input_.load() == InputState::kHeld) kick(kResume);
}

// Posts the work to the worker, because the caller may hold any lock.
void DrivenConnection::resume_soon() {
  worker_.post([self = shared()] { self->kick(kResume, true); });
}

void DrivenConnection::break_pins(verbs::Stag stag) {
  worker_.post([self = shared(), stag] { self->registry_.break_pins(stag); });
}

void DrivenConnection::withdraw(const verbs::Region& region) {
  use([&](Active& a) { a.core.withdraw(region, mpa::Clock::now()); });
}

void DrivenConnection::revoke(const verbs::Region& region) {
  use([&](Active& a) { a.core.revoke(region, mpa::Clock::now()); });
}

bool DrivenConnection::end() {
  bool was_open = false;
  use([&](Active& a) {
    was_open = true;
    a.client.reset();
    setup_.blame(SetupFailure::kAbandoned);
    while (!close_in_order(a)) await_octets(a.socket.get(), kAckRequestLook);
  });
  return was_open;
}

void DrivenConnection::request(Ending ending) {
  endings_.fetch_or(ending);
  kick(kResume);
}

bool DrivenConnection::depart() {
  bool is_over = true;
  use([&](Active& a) { is_over = close_in_order(a); });
  return is_over;
}

// Answers the messages that have arrived, then ends the connection. Returns false, and does not end
// the connection, if the peer may still ask which of its messages have arrived.
bool DrivenConnection::close_in_order(Active& a) {
  if (a.core.at_rest() && input() != InputState::kEnded) {
    receive();
    transmit();
    if (a.core.at_rest() && a.core.awaits_ack_request(mpa::Clock::now())) return false;
  }
  const bool whole = a.core.at_rest();
  a.core.abort();
  finish(whole ? Close::kLingering : Close::kReset);
  return true;
}

void DrivenConnection::end_if_unasked() {
  use([this](Active& a) {
    const auto state = a.core.startup().state();
    if (state != mpa::StartupState::kIdle && state != mpa::StartupState::kAwaitRequest) return;
    a.client.reset();
    reset(SetupFailure::kAbandoned);
  });
}

void DrivenConnection::end_if_unproven() {
  use([this](Active& a) {
    // The peer's Request or RTR may have arrived but not have been read yet.
    const bool has_begun = a.core.startup().state() != mpa::StartupState::kIdle;
    if (has_begun && a.core.awaits_peer()) receive();
    if (!a.core.awaits_peer()) return;
    reset(SetupFailure::kGaveWay);
  });
}

void DrivenConnection::reset(SetupFailure why) {
  setup_.blame(why);
  active_->core.abort();
  finish(Close::kReset);
}

// Driving -----------------------------------------------------------------------------------------

// In most cases, this poll and the previous poll both find the socket empty. This poll then costs
// one system call and no turn.
void DrivenConnection::poll(bool frequent) {
  auto work = lock_.enter(frequent && mode() == DriveMode::kWorker ? kPoll | kPolled : kPoll);
  if (!work) return;
  if (*work == kPoll && active_ != nullptr && active_->awaited.octets != 0 && !repeat_receive()) {
    if (lock_.leave()) return;
    work = lock_.take();
  }
  run(*work, false);
}

bool DrivenConnection::follows_polls() const { return active_ == nullptr || !active_->is_loose; }

// Repeats the receive call of the last poll. Returns false if the socket is still empty.
inline bool DrivenConnection::repeat_receive() {
  Active& a = *active_;
  ++a.receive_calls;
  const auto n = socket_ops().receive(a.socket.get(), &a.awaited.message, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  a.awaited.answer = n;
  return true;
}

// Passes to the connection the octets that repeat_receive() has received. Called only in a turn,
// because a turn catches std::bad_alloc.
inline DrivenConnection::Look DrivenConnection::take_answer() {
  auto& awaited = active_->awaited;
  if (!awaited.answer) return Look::kMayHaveMore;
  const auto n = *std::exchange(awaited.answer, std::nullopt);
  return take(n, awaited.octets) ? Look::kMayHaveMore : Look::kEmptied;
}

void DrivenConnection::run(std::uint32_t work, bool by_worker) {
  take_turns(work, by_worker, [this](std::uint32_t now) -> std::uint32_t {
    try {
      if (active_ == nullptr) return 0;
      if (!active_->acknowledges || mode() != DriveMode::kWorker) return drive(now, nullptr);
      // The worker answers the peer before it notifies the application, which may then exit at
      // once; the peer would get no answer. A polling or sleeping thread returns to its application
      // only after the turn.
      HeldNotices until_answered;
      return drive(now, &until_answered);
    } catch (const std::bad_alloc&) {
      give_up();
      return 0;
    }
  });
}

// Ends the connection after memory has run out at an unknown point in a turn. Reports the end
// unless it has been reported already.
// NOLINTNEXTLINE(bugprone-exception-escape): exceptions other than bad_alloc end the process
void DrivenConnection::give_up() noexcept {
  if (active_ == nullptr) return;
  insist([this] {
    using Type = verbs::ConnectionEvent::Type;
    socket_failed();
    tell({.type = setup_.is_established() ? Type::kDisconnected : Type::kFailed,
          .failure = mpa::Failure{.fault = mpa::kLocalCatastrophic}});
  });
  insist([this] { finish(Close::kReset); });
}

void DrivenConnection::join(std::shared_ptr<SocketSet> set) {
  if (!watched_.join(std::move(set))) unwatched_.store(true, std::memory_order_relaxed);
}

void DrivenConnection::control(std::uint32_t work) {
  auto& core = active_->core;
  const std::uint8_t endings = endings_.exchange(0);
  // Before this end sends its FIN, answer the octets that have arrived.
  if ((endings & kDisconnect) != 0) {
    receive();
    core.rest();
  }
  const auto now = mpa::Clock::now();
  if ((work & kTimer) != 0) {
    active_->timer_at = Active::kNever;
    const auto due = core.timeout();
    const auto answer = core.answer_due();
    if (answer && now >= *answer)
      core.note_peer_seen(now - socket_ops().silent_for(active_->socket.get()));
    if (due && now >= *due) core.handle_timeout(now);
    if (now >= active_->linger_until) core.abort();
  }
  if ((work & kResume) != 0) core.resume(now);
  // Send the requests that were posted before the Terminate or abort, as far as the socket has
  // room.
  const bool ends = (endings & (kTerminate | kAbort)) != 0;
  if (ends && (gathered_.any() || (work & kTransmit) != 0)) transmit();
  // A stream that is closing in order, and has no requests left, sends no Terminate.
  if ((endings & kDisconnect) != 0) core.disconnect(now);
  if ((endings & kTerminate) != 0) core.terminate(rdmap::kLocalCatastrophic, now);  // [VRB-9]
  if ((endings & kAbort) != 0) core.abort();
}

// Completes a turn after octets have been sent and received: reports events, performs the
// connection's SocketAction, and arms the waits and timers that wake the driver again.
void DrivenConnection::finish_turn() {
  do {
    while (report_events()) transmit();
    do_socket_action();
  } while (active_ != nullptr && (lift_hold() || !arm()));
}

// Enters or leaves kHeld. Returns true if the stream was held and can now continue.
inline bool DrivenConnection::lift_hold() {
  auto& core = active_->core;
  if (input() == InputState::kEnded) return false;
  if (!core.is_held()) {
    if (input() == InputState::kHeld) step(InputEvent::kResume);
    return false;
  }
  // After this store, either a thread that posts a receive sees kHeld, or resume() finds that
  // receive.
  if (input() != InputState::kHeld) step(InputEvent::kHold);
  core.resume(mpa::Clock::now());
  return !core.is_held();
}

inline bool DrivenConnection::report_events() {
  using Type = verbs::ConnectionEvent::Type;
  bool any = false;
  while (const auto event = active_->core.event()) {
    any = true;
    if (event->type == Type::kMemoryGone) {
      registry_.memory_gone(*this, event->address);
      continue;
    }
    if (event->type == Type::kEstablished) {
      active_->core.set_emss(effective_mss(active_->socket.get()));
    }
    tell(*event);
  }
  return any;
}

void DrivenConnection::do_socket_action() {
  Active& a = *active_;
  switch (a.core.socket_action()) {
    case verbs::SocketAction::kNone:
      break;
    case verbs::SocketAction::kShutdownSend:
      bytes::advance(kFinEdges, a.fin, FinEvent::kClose);
      break;
    // The TCP connection carries only this stream. So when the stream has ended, close TCP.
    // [DDP-10]
    case verbs::SocketAction::kClose:
      return finish(Close::kPlain);
    case verbs::SocketAction::kDepart:
      return finish(Close::kLingering);
    case verbs::SocketAction::kReset:
      return finish(Close::kReset);
  }
  // A rejected connection continues as plain TCP [MPA-86] [MPA-91]. If the application has not
  // taken the socket, close the socket after the Reply has been sent.
  if (a.core.startup().state() == mpa::StartupState::kRejected) {
    if (!a.socket) return finish(Close::kPlain);
    // A rejected peer may keep its socket open for a long time. If many peers do so, close the
    // connection without waiting for the peer.
    const bool at_once = !is_outgoing_ && LingeringClose::are_many();
    if (a.core.transmit_plan(1, mpa::Clock::now()).empty()) {
      return finish(at_once ? Close::kPlain : Close::kLingering);
    }
    if (a.linger_until == Active::kNever) a.linger_until = mpa::Clock::now() + a.close_timeout;
  }
  if (a.fin != FinState::kWanted || output() == OutputState::kBlocked) return;
  if (!a.core.transmit_plan(1, mpa::Clock::now()).empty()) return;
  if (a.carrier != nullptr && !close_carrier()) return;
  bytes::advance(kFinEdges, a.fin, FinEvent::kDrain);
  ::shutdown(a.socket.get(), SHUT_WR);  // [MPA-107] [RDMAP-88]
  if (a.tap != nullptr) a.tap->closed(true, false, mpa::Clock::now());
}

void DrivenConnection::finish(Close how) {
  Active& a = *active_;
  // Report the remaining events now: after finish(), no event of this connection can be reported.
  report_events();
  fail_setup(SetupFailure::kAbandoned);
  final_ = count();
  final_incidents_ = a.core.incidents();
  const bool reset = how == Close::kReset;
  if (reset) reset_on_close(a.socket.get());
  if (a.tap != nullptr && a.socket && (reset || a.fin != FinState::kSent)) {
    a.tap->closed(true, reset, mpa::Clock::now());
  }
  a.waits->release();
  watched_.close();
  a.timer.cancel();
  try {
    if (a.carrier != nullptr) {
      leave_carrier(how);
    } else if (how == Close::kLingering && input() != InputState::kEnded) {
      LingeringClose::start(worker_, std::move(a.socket), a.close_timeout, {});
    }
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
    // There is no memory for a LingeringClose. The socket is closed at once, and TCP may discard
    // octets that it has not sent.
  }
  active_.reset();
  step(InputEvent::kEnd);
  ended_.store(true, std::memory_order_release);
  registry_.ended(*this);
}

// Waiting -----------------------------------------------------------------------------------------

// Arms the waits and the timer that wake the driver. Returns false if the reactor refuses the
// socket; the connection is then lost.
bool DrivenConnection::arm() {
  Active& a = *active_;
  arm_timer();
  update_watched();
  if (mode() != DriveMode::kWorker) return true;
  if (!a.waits->watch(a.socket.get())) {
    socket_failed();
    return false;
  }
  const InputState in = input();
  const bool reads =
      in != InputState::kEnded && (in != InputState::kHeld || !a.core.receive_plan().empty());
  if (reads) {
    await(SocketWaits::kRead, kReceive | kSlept);
  } else if (in == InputState::kHeld && a.fin != FinState::kSent) {
    // The driver does not read the socket and would not notice a reset, so the worker waits for an
    // error. After both ends have sent a FIN, the worker does not wait, because each wait would end
    // at once, and the connection ends soon anyway.
    await(SocketWaits::kError, kSlept);
  }
  if (output() == OutputState::kBlocked) await(SocketWaits::kWrite, kRoom | kSlept);
  return true;
}

// Starts a wait for the socket. The handler also runs if the wait is cancelled.
void DrivenConnection::await(SocketWaits::Kind kind, std::uint32_t work) {
  const auto& waits = active_->waits;
  if (waits->is_pending(kind)) return;
  waits->await(kind, [self = shared(), kept = waits, work] { self->kick(work, true); });
}

// Sets the events for which the epoll sets watch the socket. If a thread sleeps on these sets, and
// they cannot report all events that the connection needs, gives the connection to the worker.
inline void DrivenConnection::update_watched() {
  const auto leave_sleeper = [this] {
    if (mode() == DriveMode::kSleeper && change_mode(DriveCause::kNotReadable)) mode_changed();
  };
  if (active_->carrier != nullptr) update_buffered();
  const bool reads = input() == InputState::kReads;
  if (!reads) leave_sleeper();
  if (watched_.watch(reads, is_blocked() && mode() != DriveMode::kWorker)) return;
  unwatched_.store(true, std::memory_order_relaxed);
  leave_sleeper();
}

// Arms the timer for the next deadline. If the timer is already armed for an earlier time, does not
// change it until it expires, because a deadline moves or disappears far more often than it is
// reached.
inline void DrivenConnection::arm_timer() {
  Active& a = *active_;
  const auto at = std::min(a.core.timeout().value_or(Active::kNever), a.linger_until);
  if (a.timer_at <= at) return;
  a.timer_at = at;
  a.timer.expires_at(at);
  a.timer.async_wait([self = shared()](const boost::system::error_code& cancelled) {
    if (!cancelled) self->kick(kTimer, true);
  });
}

void DrivenConnection::mode_changed() {
  if (mode() != DriveMode::kWorker) active_->waits->release();
}

}  // namespace iwarp::net
