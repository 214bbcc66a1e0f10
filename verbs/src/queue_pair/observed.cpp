// SPDX-License-Identifier: Apache-2.0
// Observation of a connection: turns the calls of a Ulp and of a driver, and the changes of state,
// into the reports that the observer gets.
#include "queue_pair/observed.hpp"

#include <algorithm>

namespace iwarp::verbs {
namespace {

bool is_receive(WcOpcode opcode) {
  return opcode == WcOpcode::kRecv || opcode == WcOpcode::kRecvImmediate ||
         opcode == WcOpcode::kRecvSendImmediate;
}

WorkPosted work_posted(const SendSlot& slot, bool early) {
  const bool names_memory = slot.is_write() || slot.is_answered();
  return {.queue = WorkQueue::kSend,
          .wr_id = slot.wr_id,
          .length = slot.length,
          .early = early,
          .opcode = slot.opcode,
          .flags = slot.flags,
          .remote = names_memory ? slot.remote : RemoteAddress{}};
}

WorkPosted work_posted(const PostedReceive& receive, bool early) {
  std::uint64_t length = 0;
  for (const Sge& sge : receive.sgl) length += sge.length;
  return {.queue = WorkQueue::kReceive, .wr_id = receive.wr_id, .length = length, .early = early};
}

}  // namespace

// Memory ------------------------------------------------------------------------------------------

template <typename Result>
void ObservedUlp::tell(const MemoryUsed& use, const Result& result) {
  if (result) return observer_->see(use);
  observer_->see(MemoryRefused{
      .use = use.use, .stag = use.stag, .to = use.to, .length = use.length, .why = result.error()});
}

bool ObservedUlp::next_request(bool read_credit, rdmap::Request& out) {
  if (!ulp_.next_request(read_credit, out)) return false;
  // Do not report empty Reads, which only ask for acknowledgements or place no octets.
  if (out.opcode == rdmap::Opcode::kReadRequest && out.length != 0) {
    reads_.push_back({.cookie = out.cookie,
                      .sink = {.use = MemoryUse::kReadResponse,
                               .stag = out.sink_stag,
                               .to = out.sink_to.value,
                               .length = out.length}});
  }
  return true;
}

void ObservedUlp::read_done(std::uint64_t cookie) {
  if (!reads_.empty() && reads_.front().cookie == cookie) {
    observer_->see(reads_.front().sink);
    reads_.pop_front();
  }
  ulp_.read_done(cookie);
}

std::expected<void, AccessError> ObservedUlp::write_target(Stag stag, rdmap::TaggedOffset to,
                                                           std::uint32_t length, bytes::Span& out) {
  const MemoryUsed use{.use = MemoryUse::kWrite, .stag = stag, .to = to.value, .length = length};
  const auto judged = ulp_.write_target(stag, to, length, out);
  if (judged) {
    target_ = use;  // reported when release_target() is called
  } else {
    tell(use, judged);
  }
  return judged;
}

void ObservedUlp::release_target() {
  if (target_) observer_->see(*target_);
  target_.reset();
  ulp_.release_target();
}

std::expected<bytes::View, AccessError> ObservedUlp::read_source(Stag stag, rdmap::TaggedOffset to,
                                                                 std::uint32_t length) {
  auto source = ulp_.read_source(stag, to, length);
  tell({.use = MemoryUse::kReadSource, .stag = stag, .to = to.value, .length = length}, source);
  return source;
}

std::expected<std::uint64_t, AccessError> ObservedUlp::atomic(const rdmap::AtomicRequest& request) {
  auto original = ulp_.atomic(request);
  tell({.use = MemoryUse::kAtomic,
        .stag = request.stag,
        .to = request.to.value,
        .length = rdmap::kAtomicWord},
       original);
  return original;
}

bytes::Check ObservedUlp::send_received(const rdmap::ReceivedSend& send) {
  // Report the use of memory before the completion that follows from it.
  if (send.length != 0)
    observer_->see(MemoryUsed{.use = MemoryUse::kReceive, .length = send.length});
  return ulp_.send_received(send);
}

// Work --------------------------------------------------------------------------------------------

ObservedDriver::ObservedDriver(QpShared& qp, SendRing& ring, ReceiveQueue& receives,
                               std::shared_ptr<QpDriver> behind, Observer observer)
    : qp_(qp),
      ring_(ring),
      receives_(receives),
      behind_(std::move(behind)),
      observer_(std::move(observer)),
      sends_reported_(ring.retired.load()),
      receives_reported_(receives.taken()) {}

void ObservedDriver::report_early() {
  const std::lock_guard lock(mutex_);
  report_sends(true);
  report_receives(true);
}

bool ObservedDriver::posted(Doorbell doorbell) {
  {
    const std::lock_guard lock(mutex_);
    report_sends(false);
  }
  return behind_->posted(doorbell);
}

void ObservedDriver::receive_posted() {
  {
    const std::lock_guard lock(mutex_);
    report_receives(false);
  }
  behind_->receive_posted();
}

// Reads the slots without a race: no slot is refilled while `post` is locked, and the stream never
// writes the fields that this function reads.
void ObservedDriver::report_sends(bool early) {
  const std::lock_guard lock(qp_.post);
  const auto posted = ring_.posted.load(std::memory_order_acquire);
  const auto first = posted - std::min(posted, ring_.capacity());
  if (sends_reported_ < first) {
    observer_->see(PostsMissed{.queue = WorkQueue::kSend, .count = first - sends_reported_});
    sends_reported_ = first;
  }
  for (; sends_reported_ < posted; ++sends_reported_) {
    observer_->see(work_posted(ring_.slot(sends_reported_), early));
  }
}

void ObservedDriver::report_receives(bool early) {
  PostedReceive receive;
  for (;;) {
    const auto at = receives_.next_posted(receives_reported_, receive);
    if (!at) return;
    if (receives_reported_ < *at) {
      observer_->see(PostsMissed{.queue = WorkQueue::kReceive, .count = *at - receives_reported_});
    }
    receives_reported_ = *at + 1;
    observer_->see(work_posted(receive, early));
  }
}

void ObservedDriver::completed(const WorkCompletion& wc) {
  WorkCompleted event{.queue = is_receive(wc.opcode) ? WorkQueue::kReceive : WorkQueue::kSend,
                      .wr_id = wc.wr_id,
                      .status = wc.status};
  if (wc.status == WcStatus::kSuccess) {
    event.opcode = wc.opcode;
    event.length = wc.byte_len;
    if (wc.invalidated) event.invalidated = wc.invalidated_stag;
  }
  observer_->see(event);
}

// States ------------------------------------------------------------------------------------------

std::unique_ptr<Observed> Observed::by(WireTap* tap) {
  auto observer = tap != nullptr ? tap->observer() : nullptr;
  return observer != nullptr ? std::make_unique<Observed>(std::move(observer)) : nullptr;
}

void Observed::states_are(std::string_view startup, std::string_view stream,
                          std::string_view queue_pair) {
  const std::array now{startup, stream, queue_pair};
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i].empty() || now[i] == told_[i]) continue;
    observer_->see(
        StateUpdated{.machine = static_cast<Machine>(i), .before = told_[i], .now = now[i]});
    told_[i] = now[i];
  }
}

}  // namespace iwarp::verbs
