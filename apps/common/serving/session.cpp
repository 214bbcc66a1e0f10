// SPDX-License-Identifier: Apache-2.0
// Session: sets up and closes the connection. To wait for a completion, it arms the channel, polls
// the completion queue, and then sleeps on the channel's descriptor.
#include "common/serving/session.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "command_line/stop.hpp"

namespace iwarp::apps {

using verbs::QpState;

namespace {

/// Waits until `fd` is readable, but at most `timeout` ms, or without limit if `timeout` is
/// negative. Throws Interrupted on a stop signal.
void wait_readable(int fd, int timeout) {
  std::array<pollfd, 2> on{pollfd{.fd = fd, .events = POLLIN, .revents = 0},
                           pollfd{.fd = stop_fd(), .events = POLLIN, .revents = 0}};
  poll(on.data(), on.size(), timeout);
  if ((on[1].revents & POLLIN) != 0) throw Interrupted();
}

}  // namespace

Session::Session(net::Rnic& rnic, const SessionLimits& limits)
    : rnic_(rnic),
      pd_(check(rnic.alloc_pd(), "cannot allocate a protection domain")),
      channel_(check(rnic.create_channel(), "cannot create a completion channel")),
      cm_(check(rnic.create_cm_channel(), "cannot create an event channel")) {
  // The completion queue belongs to this queue pair only, and its size is the number of requests
  // that can be outstanding. [SEC-24] [SEC-36] [SEC-37]
  const auto depth = std::size_t{limits.send_depth} + limits.recv_depth;
  cq_ = check(rnic.create_cq(depth, channel_.get()), "cannot create a completion queue");
  verbs::QpInit init;
  init.send_cq = cq_.get();
  init.recv_cq = cq_.get();
  init.limits.max_send_wr = limits.send_depth;
  init.limits.max_recv_wr = limits.recv_depth;
  init.limits.max_inline = limits.max_inline;
  qp_ = check(rnic.create_qp(*pd_, init), "cannot create a queue pair");
}

Session::~Session() = default;

void Session::connect(const net::Address& to, const net::ConnectOptions& options) {
  connect_qp(rnic_, *qp_, to, options, *cm_);
}

void Session::accept(net::ConnectRequest& request, ClientSlot* slot) {
  slot_ = slot;
  if (slot_ != nullptr) use_.emplace(*slot_, *qp_);
  check(request.accept(*qp_), "cannot accept " + net::to_string(request.peer()));
}

void Session::disconnect(Timeout timeout) {
  // disconnect() fails if the stream has already ended. In this case there is nothing to wait for.
  if (!qp_->disconnect()) await_close(timeout);
}

void Session::await_close(Timeout timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  const auto open = [this] {
    const auto state = qp_->state();
    return state == QpState::kRts || state == QpState::kClosing || state == QpState::kTerminate;
  };
  // Poll the queue pair's state: the accepting end gets no connection event at the end of the
  // stream.
  while (open() && std::chrono::steady_clock::now() < end) {
    if (cq_->poll(batch_) == 0) poll(nullptr, 0, 2);
  }
}

// Each stream has its own protection domain, because the peers do not trust each other. [SEC-20]
// [SEC-27]
net::Memory Session::register_memory(std::span<std::byte> octets, verbs::Access access) {
  return check(rnic_.register_memory(*pd_, octets, access, {.only_for = qp_.get()}),
               "cannot register memory");
}

net::Memory Session::register_memory(std::span<const std::byte> octets, verbs::Access access) {
  return check(rnic_.register_memory(*pd_, octets, access, {.only_for = qp_.get()}),
               "cannot register memory");
}

void Session::post_send(const verbs::SendWr& wr) {
  check(qp_->post_send(wr), "cannot post to the send queue");
}

void Session::post_recv(std::uint64_t wr_id, std::span<std::byte> buffer, verbs::Stag lkey) {
  const verbs::Sge sge{buffer.data(), static_cast<std::uint32_t>(buffer.size()), lkey};
  check(qp_->post_recv({.wr_id = wr_id, .sgl = {&sge, 1}}), "cannot post a receive");
}

void Session::send_inline(bytes::View octets) {
  // The cast is safe: inline payload is only read, and only during the call. Sge has no const form.
  const verbs::Sge sge{const_cast<std::byte*>(octets.data()),
                       static_cast<std::uint32_t>(octets.size()), verbs::Stag{}};
  // Signal the request: the request frees its slot in the send queue only once its own completion,
  // or that of a later request, has been polled.
  post_send({.wr_id = kInlineSendId,
             .flags = verbs::SendFlags::kInline | verbs::SendFlags::kSignaled,
             .sgl = {&sge, 1}});
}

verbs::WorkCompletion Session::wait(Timeout timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    if (const auto wc = next()) {
      if (wc->status == verbs::WcStatus::kSuccess) {
        if (wc->wr_id == kInlineSendId) continue;
        if (slot_ != nullptr) slot_->progressed();
        return *wc;
      }
      const bool flushed = wc->status == verbs::WcStatus::kWrFlush;
      if (flushed) throw PeerGone(end_reason(*qp_));
      throw PeerGone(fmt::format("{}; {}", verbs::to_string(wc->status), end_reason(*qp_)));
    }
    cq_->arm(verbs::Notify::kNext);
    fresh_ = std::span(batch_).first(cq_->poll(batch_));
    if (!fresh_.empty()) continue;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) throw Error("the peer did not answer in time");
    sleep(left);
  }
}

std::optional<verbs::WorkCompletion> Session::next() {
  if (fresh_.empty()) fresh_ = std::span(batch_).first(cq_->poll(batch_));
  if (fresh_.empty()) return std::nullopt;
  const auto wc = fresh_.front();
  fresh_ = fresh_.subspan(1);
  return wc;
}

void Session::sleep(Timeout timeout) {
  wait_readable(channel_->fd(), static_cast<int>(std::min<std::int64_t>(timeout.count(), 60'000)));
  while (channel_->poll()) {
  }
}

void connect_qp(net::Rnic& rnic, verbs::QueuePair& qp, const net::Address& to,
                const net::ConnectOptions& options, net::CmChannel& events) {
  const auto failed = [&](const std::string& why) {
    return Error("cannot connect to " + net::to_string(to) + ": " + why);
  };
  if (const auto error = rnic.connect(qp, to, options, events)) throw failed(to_text(error));
  for (;;) {
    if (const auto event = events.poll()) {
      if (event->type == net::CmEvent::Type::kEstablished) return;
      // Of "connect to ADDRESS: reason", the reason is enough.
      const auto why = to_text(*event);
      const auto known = "connect to " + net::to_string(event->peer) + ": ";
      throw failed(why.starts_with(known) ? lower_first(why.substr(known.size())) : why);
    }
    wait_readable(events.fd(), -1);
  }
}

std::string end_reason(const verbs::QueuePair& qp) {
  const auto attributes = qp.query();
  if (attributes.terminate_received) {
    return "the peer terminated the stream: " +
           bytes::to_string(attributes.terminate_received->fault);
  }
  if (attributes.terminate_sent) {
    return "this end terminated the stream: " + bytes::to_string(attributes.terminate_sent->fault);
  }
  return "the connection was closed or lost";
}

std::unique_ptr<net::Rnic> open_rnic(const net::RnicOptions& options) {
  return check(net::Rnic::open(options), "cannot open the software RNIC");
}

}  // namespace iwarp::apps
