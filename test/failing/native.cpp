// SPDX-License-Identifier: Apache-2.0
// Connects two ends of one device. Listens and connects by name, performs a Write, a Send, a Read,
// and a Send in the other direction, and closes in order.
#include <poll.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "calls.hpp"
#include "iwarp/net/rnic.hpp"
#include "scenario.hpp"

namespace failing {
namespace {

using namespace iwarp;       // NOLINT(google-build-using-namespace)
using namespace iwarp::net;  // NOLINT(google-build-using-namespace)
using namespace std::chrono_literals;
using Type = CmEvent::Type;
using namespace verbs;

constexpr std::size_t kHalf = 100'000;  // long enough for many segments
constexpr std::size_t kShort = 100;
constexpr std::array<std::byte, 40> kPrivate{std::byte{1}};

template <typename T>
T need(Expected<T> value, const char* what) {
  if (!value) throw std::system_error(value.error(), what);
  return std::move(*value);
}

void need(const std::error_code& error, const char* what) {
  if (error) throw std::system_error(error, what);
}

struct End {
  End(Rnic& rnic, CompletionChannel* channel, unsigned seed)
      : pd(need(rnic.alloc_pd(), "alloc_pd")),
        cq(need(rnic.create_cq(64, channel), "create_cq")),
        buffer(2 * kHalf),
        memory(need(
            rnic.register_memory(*pd, std::span(buffer),
                                 Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead),
            "register_memory")),
        qp(need(rnic.create_qp(*pd, {.send_cq = cq.get(), .recv_cq = cq.get(), .signal_all = true}),
                "create_qp")) {
    for (std::size_t i = 0; i < kHalf; ++i) {
      buffer[i] = static_cast<std::byte>(i * 7 + (i >> 8) * 13 + seed);
    }
  }

  verbs::Sge sge(std::size_t at, std::size_t length) {
    return {.address = buffer.data() + at,
            .length = static_cast<std::uint32_t>(length),
            .lkey = memory.stag()};
  }
  void post_recv(std::size_t at, std::size_t length) {
    const auto one = sge(at, length);
    need(qp->post_recv({.sgl = std::span(&one, 1)}), "post_recv");
    ++posted;
  }
  void post(WrOpcode opcode, std::size_t at, std::size_t length, verbs::RemoteAddress to = {}) {
    const auto one = sge(at, length);
    need(qp->post_send({.opcode = opcode, .sgl = std::span(&one, 1), .remote = to}), "post_send");
    ++posted;
  }
  verbs::RemoteAddress remote(std::size_t at) {
    return {.rkey = memory.stag(), .to = memory.to(buffer.data() + at)};
  }

  std::unique_ptr<ProtectionDomain> pd;
  CqHandle cq;
  std::vector<std::byte> buffer;
  Memory memory;
  QpHandle qp;
  unsigned completed() const { return succeeded + broken; }

  unsigned posted = 0;
  unsigned succeeded = 0;
  unsigned broken = 0;
  bool established = false;
  bool over = false;
};

class Session {
 public:
  explicit Session(bool sleeps)
      : rnic_(need(Rnic::open(), "open")),
        cm_(need(rnic_->create_cm_channel(), "create_cm_channel")),
        outcomes_(need(rnic_->create_cm_channel(), "create_cm_channel")),
        channel_(sleeps ? need(rnic_->create_channel(), "create_channel") : nullptr),
        a_(*rnic_, channel_.get(), 1),
        b_(*rnic_, channel_.get(), 2) {}

  std::string run() {
    const auto listener = need(rnic_->listen({"127.0.0.1", 0}, {}, *cm_), "listen");
    b_.post_recv(kHalf, kHalf);
    a_.post_recv(0, kShort);
    ConnectOptions options;
    // The timeout is short only if a failed call may leave one end waiting for an answer that never
    // comes.
    options.connection.startup.timeout = may_break() ? 300ms : std::chrono::milliseconds(1h);
    // If the initiator fell back to revision 1, the other end would be established twice.
    options.fall_back_to_revision_1 = false;
    options.private_data.assign(kPrivate.begin(), kPrivate.end());
    connect({.host = "localhost", .port = listener->local().port}, options);
    if (!until([this] { return a_.established && b_.established; })) return ended();
    a_.post(WrOpcode::kWrite, 0, kHalf, b_.remote(0));
    a_.post(WrOpcode::kSend, 0, kHalf);
    a_.post(WrOpcode::kRead, kHalf, kHalf, b_.remote(0));
    if (!until([this] { return a_.succeeded == 3 && b_.succeeded == 1; })) return ended();
    check(b_, 0, a_, 0, kHalf);
    check(b_, kHalf, a_, 0, kHalf);
    check(a_, kHalf, a_, 0, kHalf);
    b_.post(WrOpcode::kSend, kHalf + 1, kShort);
    if (!until([this] { return a_.succeeded == 4 && b_.succeeded == 2; })) return ended();
    check(a_, 0, b_, kHalf + 1, kShort);
    (void)a_.qp->disconnect();
    while (!a_.over || !b_.over) wait();
    return error_;
  }

  std::string violation;

 private:
  // Connects. If the program polls, another thread connects and blocks until the outcome is known.
  void connect(const Address& to, const ConnectOptions& options) {
    if (channel_ != nullptr) return need(rnic_->connect(*a_.qp, to, options, *cm_), "connect");
    need(rnic_->connect(*a_.qp, to, options, *outcomes_), "connect");
    std::optional<CmEvent> outcome;
    std::jthread connecting([&] {
      outcome = outcomes_->wait(std::chrono::milliseconds(-1));
      has_outcome_ = true;
    });
    while (!has_outcome_) wait();
    connecting.join();
    happened(*outcome);
  }

  // Runs until `done` returns true. Returns false if a request failed or a connection ended.
  template <typename Done>
  bool until(Done done) {
    for (;;) {
      if (done()) return true;
      if (a_.over || b_.over || a_.broken != 0 || b_.broken != 0 || overflowed_) return false;
      wait();
    }
  }

  // Aborts both ends, and waits until each connected end has received its event and every request
  // has completed.
  std::string ended() {
    a_.qp->abort();
    b_.qp->abort();
    while ((a_.established && !a_.over) || (b_.established && !b_.over)) wait();
    for (End* end : {&a_, &b_}) {
      const auto left = [&] { return end->succeeded + end->broken < end->posted; };
      while (end->established && !overflowed_ && left()) wait();
    }
    return error_.empty() ? "the connection ended" : error_;
  }

  void check(const End& x, std::size_t at, const End& y, std::size_t from, std::size_t size) {
    if (std::memcmp(x.buffer.data() + at, y.buffer.data() + from, size) != 0) {
      violation = "wrong octets";
    }
  }

  static void look(End& end) {
    std::array<verbs::WorkCompletion, 4> wcs;
    const auto n = end.cq->poll(wcs);
    for (std::size_t i = 0; i < n; ++i) {
      ++(wcs[i].status == WcStatus::kSuccess ? end.succeeded : end.broken);
    }
  }

  // Handles all pending events and completions. If the program sleeps and none is pending, blocks
  // until there is one.
  void wait() {
    if (channel_ != nullptr) {
      const auto before = a_.completed() + b_.completed();
      for (End* end : {&a_, &b_}) {
        end->cq->arm(verbs::Notify::kNext);
        look(*end);
      }
      const bool came = a_.completed() + b_.completed() != before;
      std::array all{pollfd{.fd = cm_->fd(), .events = POLLIN, .revents = 0},
                     pollfd{.fd = channel_->fd(), .events = POLLIN, .revents = 0},
                     pollfd{.fd = rnic_->async_events().fd(), .events = POLLIN, .revents = 0}};
      ::poll(all.data(), all.size(), came ? 0 : -1);
      (void)channel_->poll();
    }
    look(a_);
    look(b_);
    while (const auto event = rnic_->async_events().poll()) {
      overflowed_ |= event->type == verbs::AsyncEventType::kCqOverflow;
    }
    if (auto event = cm_->poll()) happened(*event);
    if (!has_outcome_) return;
    if (auto event = outcomes_->poll()) happened(*event);
  }

  void happened(CmEvent& event) {
    if (event.type == Type::kConnectRequest) {
      if (event.private_data.size() != kPrivate.size()) violation = "wrong private data";
      const auto error = event.request->accept(*b_.qp);
      if (error) note("accept: " + error.message());
      return;  // If accept() has failed, the destructor of the request rejects the request here.
    }
    End& end = event.qp == a_.qp.get() ? a_ : b_;
    if (event.type == Type::kEstablished) {
      if (end.established) violation = "established twice";
      end.established = true;
      return;
    }
    if (end.over) violation = "ended twice";
    end.over = true;
    if (event.type != Type::kDisconnected) note(event.why + ": " + event.error.message());
  }

  void note(const std::string& error) {
    if (error_.empty()) error_ = error;
  }

  std::unique_ptr<Rnic> rnic_;
  CmChannelHandle cm_;
  CmChannelHandle outcomes_;  ///< of the connect, if the program polls
  std::atomic<bool> has_outcome_{false};
  std::unique_ptr<CompletionChannel> channel_;
  End a_;
  End b_;
  std::string error_;
  bool overflowed_ = false;  ///< whether a completion queue has reported that it lost completions
};

Outcome native(bool sleeps) {
  Outcome out;
  try {
    Session session(sleeps);
    out.error = session.run();
    out.violation = session.violation;
  } catch (const std::bad_alloc&) {
    out.error = "no memory";
  } catch (const std::system_error& error) {
    out.error = error.what();
  }
  return out;
}

}  // namespace

Outcome sleeping() { return native(true); }
Outcome polling() { return native(false); }

}  // namespace failing
