// SPDX-License-Identifier: Apache-2.0
// The life of a driven connection: set-up, control, who drives it, its end. Octets: driven_io.cpp.
#include "driven_connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "driven_active.hpp"
#include "gather_timer.hpp"
#include "iwarp/rdmap/faults.hpp"
#include "lingering_close.hpp"
#include "sockets.hpp"

namespace iwarp::net {
namespace {

// A thread of the application does not drive for others longer than this; then the worker does.
constexpr int kCallerRounds = 8;

std::error_code error(verbs::Errc code) { return make_error_code(code); }

// Of what the holder of the lock alone writes. Mostly it is so already, and a store that others
// have to see in order is not cheap.
void change(std::atomic<bool>& flag, bool value) {
  if (flag.load(std::memory_order_relaxed) != value) flag.store(value);
}

}  // namespace

DrivenConnection::DrivenConnection(Private, Registry& registry, Worker& worker, const Setup& setup)
    : registry_(registry),
      worker_(worker),
      local_(local_address(setup.socket.get())),
      peer_(peer_address(setup.socket.get())),
      watched_(setup.socket.get(), *this),
      gathered_(setup.options.gather_delay),
      qp_(setup.qp) {}

DrivenConnection::~DrivenConnection() = default;

std::shared_ptr<DrivenConnection> DrivenConnection::make(Registry& registry, Worker& worker,
                                                         Setup setup) {
  auto self = std::make_shared<DrivenConnection>(Private{}, registry, worker, setup);
  self->active_ = std::make_unique<Active>(worker, std::move(setup), *self);
  return self;
}

// Set-up ------------------------------------------------------------------------------------------

bool DrivenConnection::start(bytes::View private_data) {
  lock_.lock();
  bool ok = false;
  if (active_ != nullptr) {
    active_->core.set_emss(effective_mss(active_->socket.get()));
    ok = active_->core.connect(private_data, mpa::Clock::now());
  }
  run(false, kTransmit);
  return ok;
}

void DrivenConnection::listen() {
  lock_.lock();
  if (active_ != nullptr) {
    active_->core.set_emss(effective_mss(active_->socket.get()));
    active_->core.listen(mpa::Clock::now());
  }
  run(false, kTransmit);
}

std::error_code DrivenConnection::accept(verbs::QueuePair& qp, bytes::View private_data,
                                         std::uint16_t ird, std::uint16_t ord) {
  lock_.lock();
  std::error_code out;
  if (active_ == nullptr || active_->core.startup().state() != mpa::StartupState::kAwaitDecision) {
    out = error(verbs::Errc::kConnectionReset);
  } else {
    qp_ = &qp;  // before its events come
    if (!active_->core.accept(qp, private_data, ird, ord, mpa::Clock::now())) {
      qp_ = nullptr;
      out = error(verbs::Errc::kPrivateDataTooLong);
    }
  }
  run(false, kTransmit);
  return out;
}

std::error_code DrivenConnection::reject(bytes::View private_data, UniqueFd* keep) {
  lock_.lock();
  std::error_code out;
  if (active_ == nullptr || active_->core.startup().state() != mpa::StartupState::kAwaitDecision) {
    out = error(verbs::Errc::kConnectionReset);
  } else if (!active_->core.reject(private_data, mpa::Clock::now())) {
    out = error(verbs::Errc::kPrivateDataTooLong);
  } else if (keep != nullptr) {
    transmit();
    *keep = leave();
    const bool lost = active_->end_of_stream;
    if (!*keep) out = error(lost ? verbs::Errc::kConnectionReset : verbs::Errc::kBusy);
  }
  run(false, kTransmit);
  return out;
}

UniqueFd DrivenConnection::leave() {
  Active& a = *active_;
  if (a.end_of_stream || !a.core.transmit_plan(1, mpa::Clock::now()).empty()) return {};
  if (a.readiness.is_open()) a.readiness.release();
  watched_.close();
  return std::move(a.socket);
}

bool DrivenConnection::posted(verbs::Doorbell doorbell) {
  const bool waits = doorbell == verbs::Doorbell::kMayWait && gathered_.is_on() &&
                     gathered_.hold_back(GatheredPosts::Clock::now());
  if (!waits) {
    kick(kTransmit);
  } else if (!in_gather_timer_.load(std::memory_order_relaxed) &&
             !in_gather_timer_.exchange(true)) {
    worker_.gather_timer().add(shared());
  }
  return waits;
}

bool DrivenConnection::flush_late_posts(GatheredPosts::Clock::time_point now) {
  if (gathered_.any() && now >= gathered_.due()) kick(kTransmit, true);
  return gathered_.take_used();
}

bool DrivenConnection::leave_gather_timer() {
  in_gather_timer_.store(false);
  return !gathered_.any() || in_gather_timer_.exchange(true);
}

void DrivenConnection::receive_posted() {
  // A stream that is not held needs nothing: receives are looked up when they are needed.
  if (held_.load(std::memory_order_seq_cst)) kick(kResume);
}

// In the worker's own time: who tells may hold any lock.
void DrivenConnection::resume_soon() {
  worker_.post([self = shared()] { self->kick(kResume, true); });
}

void DrivenConnection::revoke(const verbs::Region& region) {
  lock_.lock();
  if (active_ != nullptr) active_->core.revoke(region, mpa::Clock::now());
  run(false, kTransmit);
}

void DrivenConnection::end() {
  lock_.lock();
  if (active_ != nullptr) {
    active_->client.reset();
    const bool whole = active_->core.at_rest();
    active_->core.abort(mpa::Clock::now());
    finish(whole ? Close::kLingering : Close::kReset);
  }
  run(false, kTransmit);
}

void DrivenConnection::end_if_unasked() {
  lock_.lock();
  const auto state =
      active_ != nullptr ? active_->core.startup().state() : mpa::StartupState::kFailed;
  if (state == mpa::StartupState::kIdle || state == mpa::StartupState::kAwaitRequest) {
    active_->client.reset();
    active_->core.abort(mpa::Clock::now());
    finish(Close::kReset);
  }
  run(false, kTransmit);
}

void DrivenConnection::sync() {
  lock_.lock();
  run(false, kTransmit);
}

void DrivenConnection::send_events_to(CmChannel& channel) {
  lock_.lock();
  if (active_ != nullptr && active_->client != nullptr) active_->client->send_to(channel);
  run(false, kTransmit);
}

verbs::Counters DrivenConnection::counters() {
  lock_.lock();
  const auto out = active_ != nullptr ? count() : final_;
  run(false, kTransmit);
  return out;
}

// Driving -----------------------------------------------------------------------------------------

void DrivenConnection::kick(std::uint32_t work, bool by_worker) {
  if (lock_.enter(work)) run(by_worker, 0);
}

// Holds the lock on entry, not on return. `own`: what the caller has made to be done under the
// lock.
void DrivenConnection::run(bool by_worker, std::uint32_t own) {
  for (int round = 0;; ++round) {
    const auto work = lock_.take() | std::exchange(own, 0U);
    const auto left = active_ != nullptr ? drive(work) : 0;
    // Who polls comes back soon, and the socket wakes who sleeps on it.
    if (left != 0 && !by_worker && mode() != DriveMode::kWorker) {
      lock_.leave_with(left);
      return;
    }
    if (left != 0 || (!by_worker && round == kCallerRounds)) {
      // The worker goes on: it lets its other connections have their turn, and a thread of the
      // application is not kept.
      lock_.leave_with(left);
      hand_over();
      return;
    }
    if (lock_.leave()) return;
  }
}

bool DrivenConnection::serve(bool readable, bool room, std::uint32_t slept) {
  const auto before = arrivals_.load(std::memory_order_relaxed);
  // A let_go() of another queue, or one that was overtaken, leaves the worker in charge.
  if (slept != 0 && mode() == DriveMode::kWorker) slept |= kSleptOn;
  kick((readable ? kReceive : 0U) | (room ? kRoom : 0U) | slept);
  return arrivals_.load(std::memory_order_relaxed) != before;
}

void DrivenConnection::join(std::shared_ptr<SocketSet> set) {
  if (!watched_.join(std::move(set))) unwatched_.store(true, std::memory_order_relaxed);
}

void DrivenConnection::hand_over() {
  if (handed_over_.exchange(true)) return;
  worker_.post([self = shared()] {
    self->handed_over_.store(false);
    self->kick(0, true);
  });
}

void DrivenConnection::control(std::uint32_t work, verbs::TimePoint now) {
  auto& core = active_->core;
  if ((work & kTimer) != 0) {
    active_->timer_at.reset();
    const auto due = core.timeout();
    if (due && now >= *due) core.handle_timeout(now);
    if (active_->linger_until && now >= *active_->linger_until) core.abort(now);
  }
  if ((work & kResume) != 0) core.resume(now);
  if ((work & kDisconnect) != 0) core.disconnect(now);
  if ((work & kTerminate) != 0) core.terminate(rdmap::kLocalCatastrophic, now);  // [VRB-9]
  if ((work & kAbort) != 0) core.abort(now);
}

// After the octets moved: tells what happened, does what the connection wishes, arms what has to
// wake it again.
void DrivenConnection::finish_turn() {
  do {
    while (tell_events()) transmit();
    obey();
  } while (active_ != nullptr && (lift_hold() || !arm()));
}

// True: the stream was held, and goes on.
bool DrivenConnection::lift_hold() {
  auto& core = active_->core;
  const auto held = [&] { return !active_->end_of_stream && !core.takes_octets(); };
  if (!held()) {
    change(held_, false);
    return false;
  }
  // Whoever posts a receive now sees held_, or resume() sees the receive.
  held_.store(true);
  core.resume(mpa::Clock::now());
  return !held();
}

bool DrivenConnection::tell_events() {
  bool any = false;
  while (const auto event = active_->core.event()) {
    any = true;
    if (event->type == verbs::ConnectionEvent::Type::kEstablished) {
      active_->core.set_emss(effective_mss(active_->socket.get()));
    }
    if (active_->client != nullptr) active_->client->happened(*this, active_->core, *event);
  }
  return any;
}

void DrivenConnection::obey() {
  Active& a = *active_;
  switch (a.core.wish()) {
    case verbs::Wish::kNone:
      break;
    case verbs::Wish::kShutdownSend:
      a.shutdown_wanted = true;
      break;
    case verbs::Wish::kClose:  // The one stream is over, so TCP is. [DDP-10]
      finish(Close::kPlain);
      return;
    case verbs::Wish::kReset:
      finish(Close::kReset);
      return;
  }
  // A rejected connection goes on as plain TCP [MPA-86] [MPA-91], or is closed in order if nobody
  // wants that.
  if (a.core.startup().state() == mpa::StartupState::kRejected) {
    if (!a.socket) return finish(Close::kPlain);
    if (a.core.transmit_plan(1, mpa::Clock::now()).empty()) return finish(Close::kLingering);
    if (!a.linger_until) a.linger_until = mpa::Clock::now() + a.close_timeout;
  }
  if (!a.shutdown_wanted || a.write_blocked) return;
  if (!a.core.transmit_plan(1, mpa::Clock::now()).empty()) return;
  a.shutdown_wanted = false;
  a.fin_sent = true;
  ::shutdown(a.socket.get(), SHUT_WR);  // [MPA-107] [RDMAP-88]
  if (a.tap != nullptr) a.tap->closed(true, false, mpa::Clock::now());
}

void DrivenConnection::finish(Close how) {
  Active& a = *active_;
  // What is left to say is said first: nobody hears of this connection again.
  while (const auto event = a.core.event()) {
    if (a.client != nullptr) a.client->happened(*this, a.core, *event);
  }
  final_ = count();
  const bool reset = how == Close::kReset;
  if (reset) reset_on_close(a.socket.get());
  if (a.tap != nullptr && a.socket && (reset || !a.fin_sent)) {
    a.tap->closed(true, reset, mpa::Clock::now());
  }
  if (a.readiness.is_open()) a.readiness.release();  // ends the waits; the descriptor is ours
  watched_.close();
  a.timer.cancel();
  if (how == Close::kLingering && !a.end_of_stream) {
    LingeringClose::start(worker_, std::move(a.socket), a.close_timeout);
  }
  active_.reset();
  held_.store(false);
  is_plain_.store(false);
  ended_.store(true, std::memory_order_release);
  registry_.ended(*this);
}

verbs::Counters DrivenConnection::count() const {
  auto out = active_->core.counters();
  out.send_calls = active_->send_calls;
  out.receive_calls = active_->receive_calls;
  out.wakeups = active_->wakeups;
  out.wait_calls = active_->wakeups + active_->wait_calls;
  return out;
}

// Waiting -----------------------------------------------------------------------------------------

// False: the reactor does not take the socket, and it is lost.
bool DrivenConnection::arm() {
  Active& a = *active_;
  arm_timer();
  update_watched();
  if (mode() != DriveMode::kWorker) return true;
  if (!a.readiness.is_open()) {
    boost::system::error_code failed;
    a.readiness.assign(a.socket.get(), failed);
    if (failed) {
      socket_failed();
      return false;
    }
  }
  if (!a.reading && !a.end_of_stream && !held_.load()) wait_for(false);
  if (!a.watching && !a.end_of_stream && held_.load()) watch_held();
  if (!a.writing && a.write_blocked) wait_for(true);
  return true;
}

// What sets that have the socket wait for; what it cannot tell is left to the worker.
void DrivenConnection::update_watched() {
  Active& a = *active_;
  const bool plain = !a.end_of_stream && !held_.load(std::memory_order_relaxed);
  change(is_plain_, plain);
  change(is_blocked_, a.write_blocked);
  if (mode() == DriveMode::kSleeper && !plain) change_mode(DriveCause::kNotReadable);
  const bool more = a.write_blocked || a.turn_over;
  if (watched_.watch(plain, more && mode() != DriveMode::kWorker)) return;
  unwatched_.store(true, std::memory_order_relaxed);
  if (mode() == DriveMode::kSleeper) change_mode(DriveCause::kNotReadable);
}

void DrivenConnection::wait_for(bool write) {
  using Readiness = asio::posix::stream_descriptor;
  (write ? active_->writing : active_->reading) = true;
  active_->readiness.async_wait(write ? Readiness::wait_write : Readiness::wait_read,
                                [self = shared(), write](const boost::system::error_code&) {
                                  // A wait that was cancelled still says that it is over.
                                  self->kick(write ? kWritable : kReadable, true);
                                });
}

void DrivenConnection::watch_held() {
  active_->watching = true;
  active_->readiness.async_wait(
      asio::posix::stream_descriptor::wait_error,
      [self = shared()](const boost::system::error_code&) { self->kick(kBroken, true); });
}

// A timer that will be early is left alone, and set anew when it is over: a deadline is moved, or
// falls away, far more often than it is reached.
void DrivenConnection::arm_timer() {
  Active& a = *active_;
  auto at = a.core.timeout();
  if (a.linger_until) at = at ? std::min(*at, *a.linger_until) : *a.linger_until;
  if (!at || (a.timer_at && *a.timer_at <= *at)) return;
  a.timer_at = at;
  a.timer.expires_at(*at);
  a.timer.async_wait([self = shared()](const boost::system::error_code& cancelled) {
    if (!cancelled) self->kick(kTimer, true);
  });
}

void DrivenConnection::change_mode(std::uint32_t work) {
  if ((work & kLetGo) != 0) {
    change_mode(DriveCause::kLetGo);
  } else if ((work & kSleptOn) != 0) {
    change_mode(DriveCause::kSleptOn);
  } else if ((work & kPolled) != 0) {
    change_mode(DriveCause::kPolled);
  }
}

void DrivenConnection::change_mode(DriveCause cause) {
  const auto next = bytes::step(kDriveEdges, mode(), cause);
  assert(next && "not in the table of who drives");
  if (!next || *next == mode()) return;
  mode_.store(*next, std::memory_order_relaxed);
  if (*next != DriveMode::kWorker && active_->readiness.is_open()) active_->readiness.release();
}

}  // namespace iwarp::net
