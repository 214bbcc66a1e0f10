// SPDX-License-Identifier: Apache-2.0
// LooseUlp: the buffers for Reads, Writes and Sends in between, when their contents reach the
// memory of the application, and which requests of the peer are executed early.
#include "queue_pair/loose_ulp.hpp"

#include <algorithm>

namespace iwarp::verbs {
namespace {

// A longer source is only checked; the stream reads it in segments, which are shorter.
constexpr std::size_t kLongestSegment = 65536;

}  // namespace

bool LooseUlp::next_request(bool read_credit, rdmap::Request& out) {
  if (!ulp_.next_request(read_credit, out)) return false;
  if (out.opcode != rdmap::Opcode::kReadRequest) return true;
  reads_.push_back({.cookie = out.cookie, .sink = out.sink, .data = {}});
  Read& read = reads_.back();
  read.data.resize(out.sink.size());
  out.sink = read.data;
  return true;
}

void LooseUlp::read_done(std::uint64_t /*cookie*/) {
  ++arrived_;
  const bool is_last = arrived_ == reads_.size();
  if (is_last || reads_[arrived_].data.empty() || !latitude_->delays_read()) finish_reads();
}

// Places the data of the Reads that have arrived, the last one first, and completes them in order.
void LooseUlp::finish_reads() {
  for (auto i = arrived_; i-- > 0;) latitude_->copy(reads_[i].data, reads_[i].sink);
  for (; arrived_ != 0; --arrived_) {
    const auto cookie = reads_.front().cookie;
    reads_.pop_front();
    ulp_.read_done(cookie);
  }
}

void LooseUlp::atomic_done(std::uint64_t cookie, std::uint64_t original) {
  finish_reads();
  ulp_.atomic_done(cookie, original);
}

std::expected<void, AccessError> LooseUlp::write_target(Stag stag, rdmap::TaggedOffset to,
                                                        std::uint32_t length, bytes::Span& out) {
  const auto judged = ulp_.write_target(stag, to, length, out);
  if (!judged) return judged;
  target_.resize(length);
  out = target_;
  return judged;
}

// If the stream cancels a segment, it has not been placed, and the stream has ended. Whether its
// payload is placed does not matter then, because Connection copies only whole segments to a
// target.
void LooseUlp::release_target() {
  if (!target_.empty()) {
    latitude_->place_later(port_.take_target(), std::move(target_));
    target_.clear();
  }
  ulp_.release_target();
}

std::expected<bytes::View, AccessError> LooseUlp::read_source(Stag stag, rdmap::TaggedOffset to,
                                                              std::uint32_t length) {
  latitude_->place_all();
  const auto memory = ulp_.read_source(stag, to, length);
  if (!memory) return memory;
  const rdmap::InboundRequest& current = unanswered_->front();
  if (checked_ != current.msn) {
    // The stream checks the access to the whole source before the first segment.
    checked_ = current.msn;
    const bool has_next = unanswered_->size() > 1;
    if (has_next && length <= kLongestSegment && !is_early()) overtake(unanswered_->second());
    return memory;
  }
  source_.resize(memory->size());
  if (is_early()) {
    const auto start = std::get<rdmap::ReadRequest>(current.request).source_to;
    const auto from = bytes::View(early_.data).subspan(to.value - start.value, source_.size());
    std::ranges::copy(from, source_.begin());
  } else {
    latitude_->copy(*memory, source_);
  }
  return source_;
}

// Executes the request `next` before the Read that is answered now. If an access is refused, the
// request is not early, and is refused when its turn comes.
void LooseUlp::overtake(const rdmap::InboundRequest& next) {
  const auto* const read = std::get_if<rdmap::ReadRequest>(&next.request);
  if (!latitude_->overtakes_read(read != nullptr)) return;
  if (read != nullptr) {
    if (read->size == 0 || read->size > kLongestSegment) return;
    const auto memory = ulp_.read_source(read->source_stag, read->source_to, read->size);
    if (!memory) return;
    early_.data.resize(read->size);
    latitude_->copy(*memory, early_.data);
  } else {
    const auto& request = std::get<rdmap::AtomicRequest>(next.request);
    if (request.to.value % rdmap::kAtomicWord != 0) return;
    const auto original = execute(request);
    if (!original) return;
    early_.original = *original;
  }
  early_.msn = next.msn;
}

std::expected<std::uint64_t, AccessError> LooseUlp::atomic(const rdmap::AtomicRequest& request) {
  latitude_->place_all();
  if (is_early()) return early_.original;
  return execute(request);
}

std::expected<std::uint64_t, AccessError> LooseUlp::execute(const rdmap::AtomicRequest& request) {
  const auto word = port_.atomic_word(request);
  if (!word) return std::unexpected(word.error());
  const auto original = latitude_->change(
      *word, [&request](std::uint64_t value) { return rdmap::apply(request, value); });
  ulp_.release_source();
  return original;
}

bytes::Check LooseUlp::receive_buffer(ddp::UntaggedBuffer& out) {
  latitude_->place_all();
  return ulp_.receive_buffer(out);
}

bytes::Check LooseUlp::send_received(const rdmap::ReceivedSend& send) {
  latitude_->place_all();
  return ulp_.send_received(send);
}

void LooseUlp::terminate_received(const rdmap::Terminate& terminate) {
  finish_reads();
  latitude_->place_all();
  ulp_.terminate_received(terminate);
}

}  // namespace iwarp::verbs
