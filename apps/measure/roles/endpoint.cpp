// SPDX-License-Identifier: Apache-2.0
// The data path of an endpoint: posting, waiting and signals. endpoint_setup.cpp creates and
// connects the endpoint.
#include "measure/roles/endpoint.hpp"

#include <sys/epoll.h>

#include <algorithm>

#include "command_line/stop.hpp"
#include "common/serving/session.hpp"
#include "iwarp/bytes/cursor.hpp"

namespace iwarp::apps::measure {

namespace {

using verbs::SendFlags;
using verbs::WrOpcode;

constexpr std::size_t kSignalSize = 17;
// Maximum size of a ping-pong message that is sent inline, in bytes.
constexpr std::uint64_t kInlineAtMost = 256;
// Every kSignalEvery-th ping-pong message is signaled.
constexpr std::uint64_t kSignalEvery = 16;
constexpr std::uint64_t kSleepsBetweenLooks = 256;

}  // namespace

bytes::Span Endpoint::slot(Lane& lane, std::uint64_t number) {
  return bytes::Span(lane.data).subspan((number % plan_.places()) * plan_.size, plan_.size);
}

bool Endpoint::signals(std::uint64_t number) const {
  return plan_.test->operation == Operation::kRead || number % kSignalEvery == 0;
}

// Sets only those fields of `wr` that this test uses, because a test may post millions of requests
// per second.
void Endpoint::request(Lane& lane, std::uint64_t number, verbs::SendWr& wr, verbs::Sge& sge) {
  const auto from = slot(lane, number);
  sge = {from.data(), static_cast<std::uint32_t>(from.size()), lane.data_memory.stag()};
  wr.wr_id = lane.index << 32;
  wr.sgl = {&sge, 1};
  wr.flags = SendFlags::kNone;
  const auto offset = static_cast<std::uint64_t>(from.data() - lane.data.data());
  wr.remote = {.rkey = lane.peer.stag, .to = lane.peer.to + offset};
  switch (plan_.test->operation) {
    case Operation::kWrite:
      wr.opcode = plan_.is_latency() && plan_.waiting != Waiting::kPoll ? WrOpcode::kWriteImmediate
                                                                        : WrOpcode::kWrite;
      break;
    case Operation::kRead:
      wr.opcode = WrOpcode::kRead;
      return;
    case Operation::kSend:
    case Operation::kTcp:
      wr.opcode = WrOpcode::kSend;
      break;
  }
  if (plan_.is_latency() && plan_.size <= kInlineAtMost) wr.flags = SendFlags::kInline;
}

void Endpoint::post(Lane& lane, std::uint64_t count, bool signaled) {
  for (std::uint64_t i = 0; i < count; ++i) {
    request(lane, lane.posted + i, requests_[i], sges_[i]);
  }
  auto& last = requests_[count - 1];
  if (signaled) {
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

bytes::View Endpoint::message(const verbs::WorkCompletion& wc) {
  const auto place = (wc.wr_id & 0xFFFFFFFF) % receive_slots_;
  return bytes::View(lane(wc).inbox).subspan(place * receive_size_, wc.byte_len);
}

void Endpoint::repost(const verbs::WorkCompletion& wc) {
  post_receive(lane(wc), wc.wr_id & 0xFFFFFFFF);
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

void Endpoint::check_time(Clock::time_point deadline) {
  const auto now = Clock::now();
  check_stop(now);
  if (idle_) idle_(now);
  if (now > deadline) throw Error("the peer did not answer in time");
}

void Endpoint::sleep(Clock::time_point deadline) {
  if (++sleeps_ % kSleepsBetweenLooks == 0) check_time(deadline);
  const auto limit = idle_ ? kIdleSleep : kSleep;
  while (epoll_ ? !epoll_->wait(EPOLLIN, limit) : !channel_->wait(limit)) check_time(deadline);
  // An epoll wake-up may be spurious, so the channel may be empty.
  while (channel_->poll()) {
  }
}

std::string Endpoint::congestion() const {
  const auto connections = rnic_->statistics().connections;
  return connections.empty() ? "" : connections.front().congestion;
}

Observed Endpoint::observed() const {
  auto out = usage::used_so_far();
  out.counters = rnic_->counters();
  // The stack counts only its own sleeps. Add the sleeps in this endpoint's epoll.
  if (epoll_) out.counters.wait_calls += sleeps_;
  return out;
}

}  // namespace iwarp::apps::measure
