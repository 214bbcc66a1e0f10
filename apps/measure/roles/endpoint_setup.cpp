// SPDX-License-Identifier: Apache-2.0
// Creates the objects of an endpoint, connects it, and exchanges adverts.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "command_line/stop.hpp"
#include "common/connection/tls.hpp"
#include "common/serving/listen_error.hpp"
#include "common/serving/metrics.hpp"
#include "common/serving/session.hpp"
#include "iwarp/bytes/cursor.hpp"
#include "measure/roles/endpoint.hpp"
#include "usage/json_number.hpp"

namespace iwarp::apps::measure {

namespace {

using Json = nlohmann::json;
using usage::whole_number;
using verbs::Access;

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

verbs::ConnectionOptions options_of(const Plan& plan) {
  auto out = connection_options(plan.connection);
  out.receive_hold = kHold;
  return out;
}

std::uint64_t data_receives(const Plan& plan, bool server) {
  const bool write = plan.test->operation == Operation::kWrite;
  const bool send = plan.test->operation == Operation::kSend;
  if (plan.is_latency()) return write || send ? kPingPongReceives : 0;
  // The server of a stream of Sends posts many receives, because every Send consumes one. With
  // fewer receives, more Sends would have to wait until the server has reposted a receive.
  return send && server
             ? std::clamp(kInbox / plan.size, std::min(4 * plan.depth, kMaxReceives), kMaxReceives)
             : 0;
}

/// Returns the capacity of each send queue.
std::uint32_t send_capacity(const Plan& plan) {
  if (plan.is_latency()) return kPingPongSends;
  return static_cast<std::uint32_t>(plan.depth + kSignalReceives);
}

std::vector<std::byte> index_octets(std::uint64_t index) {
  std::vector<std::byte> out(sizeof(std::uint32_t));
  bytes::store_be(out.data(), static_cast<std::uint32_t>(index));
  return out;
}

}  // namespace

Endpoint::Endpoint(const Plan& plan, Side side)
    : plan_(plan), requests_(plan.depth), sges_(plan.depth) {
  const bool send = plan.test->operation == Operation::kSend;
  receives_ = data_receives(plan, side == Side::kServer) + kSignalReceives;
  // If the payload is not checked, several receives may share one buffer, although their messages
  // then overwrite each other.
  receive_slots_ = plan.check ? receives_ : std::min(receives_, plan.depth + kSignalReceives);
  receive_size_ = std::max(send ? plan.size : 0, kSmallest);
  net::RnicOptions options;
  if (plan.waiting == Waiting::kBusyPoll) options.busy_poll = kBusyPoll;
  rnic_ = check(net::Rnic::open(options), "cannot open the software RNIC");
  watch_.emplace(watch_rnic(*rnic_));
  pd_ = check(rnic_->alloc_pd(), "cannot allocate a protection domain");
  channel_ = check(rnic_->create_channel(), "cannot create a completion channel");
  if (plan.waiting == Waiting::kEpoll) epoll_.emplace(channel_->fd());
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
  init.limits.max_recv_wr = static_cast<std::uint32_t>(receives_);
  lane.qp = check(rnic_->create_qp(*pd_, init), "cannot create a queue pair");
  const bool pair = plan_.is_latency() && plan_.test->operation == Operation::kWrite;
  // A peer that polls memory recognises a message by its last byte, the low byte of the message
  // number. Initialise the buffers with 0xFF, which differs from the last byte of message 0.
  lane.data.assign(plan_.size * (pair ? 2 : plan_.places()), std::byte{0xFF});
  const net::MemoryOptions own{.only_for = lane.qp.get()};
  lane.data_memory = check(
      rnic_->register_memory(*pd_, std::span(lane.data),
                             Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead, own),
      "cannot register memory");
  lane.inbox.resize(receive_slots_ * receive_size_);
  lane.inbox_memory =
      check(rnic_->register_memory(*pd_, std::span(lane.inbox), Access::kLocalWrite, own),
            "cannot register memory");
  for (std::uint64_t i = 0; i < receives_; ++i) post_receive(lane, i);
  return lane;
}

void Endpoint::connect(const net::Address& to, Control& control) {
  auto options = connect_options(plan_.connection);
  options.connection = options_of(plan_);
  for (auto& lane : lanes_) {
    options.private_data = index_octets(lane.index);
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
    const auto event = next_event(deadline);
    if (event.type != net::CmEvent::Type::kConnectRequest) continue;
    accept_request(*event.request);
    ++accepted;
  }
  swap_adverts(control);
}

void Endpoint::accept_request(net::ConnectRequest& request) {
  const auto& octets = request.private_data();
  const auto index = octets.size() == sizeof(std::uint32_t)
                         ? bytes::load_be<std::uint32_t>(octets.data())
                         : ~std::uint32_t{0};
  if (index >= lanes_.size() || lanes_[index].qp->state() != verbs::QpState::kIdle) {
    throw Error("unexpected connection");
  }
  check(request.accept(*lanes_[index].qp), "cannot accept " + net::to_string(request.peer()));
}

net::CmEvent Endpoint::next_event(Clock::time_point deadline) {
  for (;;) {
    if (auto event = cm_->wait(std::chrono::milliseconds(100))) return std::move(*event);
    if (stop_requested()) throw Interrupted();
    if (Clock::now() > deadline) throw Error("not all connections arrived in time");
  }
}

void Endpoint::swap_adverts(Control& control) {
  const bool pair = plan_.is_latency() && plan_.test->operation == Operation::kWrite;
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

}  // namespace iwarp::apps::measure
