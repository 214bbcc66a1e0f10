// SPDX-License-Identifier: Apache-2.0
// Creates the objects of an endpoint, connects it, and exchanges adverts; then posts, waits and
// signals.
#include "measure/roles/endpoint.hpp"

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>

#include "command_line/stop.hpp"
#include "common/connection/tls.hpp"
#include "common/serving/listen_error.hpp"
#include "common/serving/metrics.hpp"
#include "common/serving/session.hpp"
#include "iwarp/bytes/cursor.hpp"
#include "usage/json_number.hpp"

namespace iwarp::apps::measure {

namespace {

using Json = nlohmann::json;
using usage::whole_number;
using verbs::Access;
using verbs::SendFlags;
using verbs::WrOpcode;

constexpr std::uint64_t kSignalReceives = 4;  // maximum number of signals in flight to either end
constexpr std::uint64_t kPingPongReceives = 4;
// In a stream of Sends: number of bytes that can arrive before the server has processed them.
constexpr std::uint64_t kInbox = 16 << 20;
constexpr std::uint64_t kMaxReceives = 4096;
constexpr std::uint64_t kSmallest = 64;  // minimum size of a receive, because a signal must fit
constexpr std::uint32_t kPingPongSends = 64;
constexpr std::chrono::microseconds kBusyPoll{100};
// How long the stack holds a Send for which no receive is posted. This provides back pressure.
constexpr std::chrono::seconds kHold{10};
constexpr std::size_t kSignalSize = 17;
constexpr std::size_t kIndexSize = sizeof(std::uint32_t);
// Maximum size of a ping-pong message that is sent inline, in bytes.
constexpr std::uint64_t kInlineAtMost = 256;
// Every kSignalEvery-th ping-pong message is signaled.
constexpr std::uint64_t kSignalEvery = 16;
constexpr std::uint64_t kSleepsBetweenLooks = 256;

verbs::ConnectionOptions options_of(const Plan& plan) {
  auto out = connection_options(plan.connection);
  out.receive_hold = kHold;
  return out;
}

std::uint64_t data_receives(const Plan& plan, bool server) {
  if (plan.is_latency()) return plan.is(Operation::kRead) ? 0 : kPingPongReceives;
  // The server of a stream of Sends posts many receives, because every Send consumes one. With
  // fewer receives, more Sends would have to wait until the server has reposted a receive.
  if (!plan.is(Operation::kSend) || !server) return 0;
  return std::clamp(kInbox / plan.size, std::min(4 * plan.depth, kMaxReceives), kMaxReceives);
}

WrOpcode opcode_of(const Plan& plan) {
  if (plan.is(Operation::kRead)) return WrOpcode::kRead;
  if (plan.is(Operation::kSend)) return WrOpcode::kSend;
  const bool immediate = plan.is_write_ping_pong() && !plan.polls_memory();
  return immediate ? WrOpcode::kWriteImmediate : WrOpcode::kWrite;
}

/// Returns the capacity of each send queue.
std::uint32_t send_capacity(const Plan& plan) {
  if (plan.is_latency()) return kPingPongSends;
  return static_cast<std::uint32_t>(plan.depth + kSignalReceives);
}

}  // namespace

Endpoint::Endpoint(const Plan& plan, Side side)
    : plan_(plan), requests_(plan.depth), sges_(plan.depth) {
  receives_ = data_receives(plan, side == Side::kServer) + kSignalReceives;
  // If the payload is not checked, several receives may share one buffer, although their messages
  // then overwrite each other.
  receive_slots_ = plan.check ? receives_ : std::min(receives_, plan.depth + kSignalReceives);
  receive_size_ = std::max(plan.is(Operation::kSend) ? plan.size : 0, kSmallest);
  for (auto& wr : requests_) wr.opcode = opcode_of(plan);
  const bool ping_pong = plan.is_latency() && !plan.is(Operation::kRead);
  if (ping_pong && plan.size <= kInlineAtMost) flags_ = SendFlags::kInline;
  if (ping_pong) signal_every_ = kSignalEvery;
  net::RnicOptions options;
  if (plan.waiting == Waiting::kBusyPoll) options.busy_poll = kBusyPoll;
  rnic_ = check(net::Rnic::open(options), "cannot open the software RNIC");
  watch_.emplace(watch_rnic(*rnic_));
  pd_ = check(rnic_->alloc_pd(), "cannot allocate a protection domain");
  channel_ = check(rnic_->create_channel(), "cannot create a completion channel");
  if (plan.waiting == Waiting::kEpoll) epoll_.emplace().watch(channel_->fd(), EPOLLIN);
  cm_ = check(rnic_->create_cm_channel(), "cannot create an event channel");
  cq_ = check(rnic_->create_cq(plan.qps * (send_capacity(plan) + receives_), channel_.get()),
              "cannot create a completion queue");
  for (std::uint64_t i = 0; i < plan.qps; ++i) lanes_.push_back(make_lane(i));
}

Lane Endpoint::make_lane(std::uint64_t index) {
  Lane lane;
  lane.index = index;
  verbs::QpInit init;
  init.send_cq = cq_.get();
  init.recv_cq = cq_.get();
  init.limits.max_send_wr = send_capacity(plan_);
  init.limits.max_send_sge = 1;
  init.limits.max_inline = flags_ == SendFlags::kInline ? kInlineAtMost : kSignalSize;
  init.limits.max_recv_wr = static_cast<std::uint32_t>(receives_);
  lane.qp = check(rnic_->create_qp(*pd_, init), "cannot create a queue pair");
  // A peer that polls memory recognises a message by its last byte, the low byte of the message
  // number. Initialise the buffers with 0xFF, which differs from the last byte of message 0.
  lane.data.assign(plan_.size * (plan_.is_write_ping_pong() ? 2 : plan_.places()), std::byte{0xFF});
  lane.inbox.resize(receive_slots_ * receive_size_);
  const auto registered = [&](std::span<std::byte> octets, Access access) {
    return check(rnic_->register_memory(*pd_, octets, access, {.only_for = lane.qp.get()}),
                 "cannot register memory");
  };
  lane.data_memory =
      registered(lane.data, Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead);
  lane.inbox_memory = registered(lane.inbox, Access::kLocalWrite);
  for (std::uint64_t i = 0; i < receives_; ++i) post_receive(lane, i);
  return lane;
}

void Endpoint::connect(const net::Address& to, Control& control) {
  auto options = connect_options(plan_.connection);
  options.connection = options_of(plan_);
  options.private_data.resize(kIndexSize);
  for (auto& lane : lanes_) {
    bytes::store_be(options.private_data.data(), static_cast<std::uint32_t>(lane.index));
    connect_qp(*rnic_, *lane.qp, to, options, *cm_);
  }
  swap_adverts(control);
}

void Endpoint::accept(const std::string& host, Control& control) {
  const net::Address at{.host = host, .port = 0};
  const net::ListenOptions options{.connection = options_of(plan_),
                                   .congestion = plan_.connection.congestion,
                                   .carrier = listening_carrier(plan_.connection.tls)};
  const auto listener = rnic_->listen(at, options, *cm_);
  if (!listener) throw cannot_listen(at, listener.error());
  control.send({{"port", (*listener)->local().port}});
  const auto deadline = Clock::now() + kTimeout;
  for (std::uint64_t accepted = 0; accepted < plan_.qps;) {
    const auto event = cm_->wait(std::chrono::milliseconds(100));
    if (stop_requested()) throw Interrupted();
    if (Clock::now() > deadline) throw Error("not all connections arrived in time");
    if (!event || event->type != net::CmEvent::Type::kConnectRequest) continue;
    auto& request = *event->request;
    const auto& octets = request.private_data();
    const std::size_t index =
        octets.size() == kIndexSize ? bytes::load_be<std::uint32_t>(octets.data()) : lanes_.size();
    if (index >= lanes_.size() || lanes_[index].qp->state() != verbs::QpState::kIdle) {
      throw Error("unexpected connection");
    }
    check(request.accept(*lanes_[index].qp), "cannot accept " + net::to_string(request.peer()));
    ++accepted;
  }
  swap_adverts(control);
}

void Endpoint::swap_adverts(Control& control) {
  const bool pair = plan_.is_write_ping_pong();
  const auto length = plan_.size * (pair ? 1 : plan_.places());
  auto mine = Json::array();
  for (auto& lane : lanes_) {
    const auto* at = pair ? target(lane).data() : lane.data.data();
    mine.push_back({lane.data_memory.to(at), lane.data_memory.stag().value, length});
  }
  control.send({{"adverts", mine}});
  try {
    const auto theirs = control.receive().at("adverts");
    for (auto& lane : lanes_) {
      const auto& advert = theirs.at(lane.index);
      lane.peer = {.to = whole_number<std::uint64_t>(advert.at(0), "address"),
                   .stag = verbs::Stag{whole_number<std::uint32_t>(advert.at(1), "STag")},
                   .length = whole_number<std::uint32_t>(advert.at(2), "length")};
      if (lane.peer.length != length) throw Error("the peer advertised memory of the wrong length");
    }
  } catch (const Json::exception&) {
    throw Error("cannot parse the peer's advertisement of memory");
  }
}

void Endpoint::disconnect() {
  // disconnect() fails if the stream has already ended. In this case nothing needs to be closed.
  for (auto& lane : lanes_) [[maybe_unused]]
    const auto refused = lane.qp->disconnect();
}

// Moving data -------------------------------------------------------------------------------------

void Endpoint::post(Lane& lane, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    // Set only the fields that the constructor has not set, because a test may post millions of
    // requests per second.
    const auto from = slot(lane, lane.posted + i);
    sges_[i] = {from.data(), static_cast<std::uint32_t>(from.size()), lane.data_memory.stag()};
    auto& wr = requests_[i];
    wr.wr_id = lane.index << 32;
    wr.sgl = {&sges_[i], 1};
    wr.flags = flags_;
    const auto offset = static_cast<std::uint64_t>(from.data() - lane.data.data());
    wr.remote = {.rkey = lane.peer.stag, .to = lane.peer.to + offset};
  }
  auto& last = requests_[count - 1];
  if (lane.posted % signal_every_ == 0) {
    last.wr_id |= count;
    last.flags = last.flags | SendFlags::kSignaled;
  }
  std::size_t posted = 0;
  check(count == 1 ? lane.qp->post_send(last)
                   : lane.qp->post_send(std::span(requests_).first(count), posted),
        "cannot post to the send queue");
  lane.posted += count;
}

// Sends a signal. Format of the message: mark (8) | first (64) | count (64)
void Endpoint::send_signal(Lane& lane, const Signal& signal) {
  std::array<std::byte, kSignalSize> octets;
  bytes::Writer out(octets);
  out.u8(static_cast<std::uint8_t>(signal.mark));
  out.u64(signal.first);
  out.u64(signal.count);
  const verbs::Sge sge{octets.data(), octets.size(), verbs::Stag{}};
  check(lane.qp->post_send(
            {.wr_id = lane.index << 32,
             .flags = SendFlags::kInline | SendFlags::kSolicited | SendFlags::kSignaled,
             .sgl = {&sge, 1}}),
        "cannot post a control message");
}

Signal Endpoint::signal(const verbs::WorkCompletion& wc) {
  const auto octets = message(wc);
  bytes::Reader in(octets);
  Signal out;
  out.mark = static_cast<Mark>(in.u8());
  out.first = in.u64();
  out.count = in.u64();
  if (octets.size() != kSignalSize || !in.ok())
    throw Error("the peer sent an invalid control message");
  return out;
}

void Endpoint::post_receive(Lane& lane, std::uint64_t slot) {
  const auto place = (slot % receive_slots_) * receive_size_;
  const verbs::Sge sge{lane.inbox.data() + place, static_cast<std::uint32_t>(receive_size_),
                       lane.inbox_memory.stag()};
  check(lane.qp->post_recv({.wr_id = (lane.index << 32) | slot, .sgl = {&sge, 1}}),
        "cannot post a receive");
}

// Waiting -----------------------------------------------------------------------------------------

std::optional<verbs::WorkCompletion> Endpoint::poll() {
  // Check for stop signals here too, because an end that is never idle does not call check_time().
  if (stop_requested()) throw Interrupted();
  if (fresh_.empty()) fresh_ = std::span(batch_).first(cq_->poll(batch_));
  if (fresh_.empty()) return std::nullopt;
  const auto wc = fresh_.front();
  fresh_ = fresh_.subspan(1);
  if (wc.status == verbs::WcStatus::kSuccess) return wc;
  throw PeerGone(end_reason(*lane(wc).qp));
}

verbs::WorkCompletion Endpoint::wait() {
  if (const auto wc = poll()) return *wc;
  // An end that is only the target of one-sided operations gets no completions, so it must be able
  // to wait for the whole phase.
  const auto deadline = Clock::now() + plan_.warm_up + plan_.duration + kTimeout;
  for (unsigned spins = 1;; ++spins) {
    if (plan_.waiting == Waiting::kPoll) {
      if (spins % kSpinsBetweenLooks == 0) check_time(deadline);
    } else {
      cq_->arm(verbs::Notify::kNext);
      if (const auto wc = poll()) return *wc;
      sleep(deadline);
    }
    if (const auto wc = poll()) return *wc;
  }
}

bool Endpoint::has_arrived(Lane& lane, std::uint64_t number) {
  const std::atomic_ref last(reinterpret_cast<std::uint8_t&>(target(lane).back()));
  const bool out = last.load(std::memory_order_acquire) == static_cast<std::uint8_t>(number);
  if (out) {
    looks_ = 0;
  } else if (looks_++ == 0) {
    arrival_deadline_ = Clock::now() + kTimeout;
  } else if (looks_ % kSpinsBetweenLooks == 0) {
    check_time(arrival_deadline_);
  }
  return out;
}

// Throws Interrupted on a stop signal, or Error after `deadline`.
void Endpoint::check_time(Clock::time_point deadline) {
  const auto now = Clock::now();
  check_stop(now);
  if (idle_) idle_(now);
  if (now > deadline) throw Error("the peer did not answer in time");
}

void Endpoint::sleep(Clock::time_point deadline) {
  if (++sleeps_ % kSleepsBetweenLooks == 0) check_time(deadline);
  const auto limit = idle_ ? kIdleSleep : kSleep;
  while (epoll_ ? epoll_->wait(limit).empty() : !channel_->wait(limit)) check_time(deadline);
  // An epoll wake-up may be spurious, so the channel may be empty.
  while (channel_->poll()) {
  }
}

Observed Endpoint::observed() const {
  auto out = usage::used_so_far(rnic_->counters());
  // The stack counts only its own sleeps. Add the sleeps in this endpoint's epoll.
  if (epoll_) out.counters.wait_calls += sleeps_;
  return out;
}

}  // namespace iwarp::apps::measure
