// SPDX-License-Identifier: Apache-2.0
// Sends, receives and checks messages in full operation. script_startup.cpp performs MPA startup.
#include "conform/script/script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "common/base/error.hpp"
#include "conform/script/recorder.hpp"

namespace iwarp::apps::conform {
namespace {

constexpr std::size_t kMemorySize = 1024 * 1024;
// Size of the segments of a long tagged message. Such a segment fits in an Ethernet MTU.
constexpr std::size_t kSegmentSize = 1400;

std::string name(rdmap::Opcode opcode) {
  return fmt::format("a message of type {}", rdmap::info(opcode).name);
}

std::string names(std::initializer_list<bytes::Fault> faults) {
  std::string text = "Terminate ";
  for (const auto& fault : faults) {
    if (text.size() > 10) text += " or ";
    text += bytes::to_string(fault);
  }
  return text;
}

}  // namespace

Script::Script(const Target& target)
    : target_(target), deadline_(Clock::now() + target.time_limit), memory_(kMemorySize) {
  if (target.verbose) recorder_ = std::make_unique<Recorder>();
}

Script::~Script() = default;

// TCP ---------------------------------------------------------------------------------------------

void Script::start_connection() {
  close();
  deadline_ = Clock::now() + target_.time_limit;
  peer_reader_.restart();
  heard_.clear();
  framing_ = {};
  msn_ = {1, 1, 1, 1};
  serve_ = Serve::kMemory;
  peer_startup_.reset();
  peer_word_ = {};
  if (recorder_) recorder_->restart();
}

void Script::open() {
  start_connection();
  try {
    take_connection();
  } catch (const Unreachable& unreachable) {
    // If this case has connected to the peer before, the case fails because the peer can no longer
    // be reached.
    if (met_) throw Failed{"one more connection with the peer", unreachable.why};
    throw;
  }
  met_ = true;
}

void Script::take_connection() {
  if (target_.acceptor == nullptr) {
    link_ = Link::connect(target_.address, deadline_, {.mss = mss_});
    return;
  }
  target_.acceptor->prepare({.mss = mss_});
  if (target_.call) target_.call();
  link_ = wait_for_peer(target_.waits_without_limit ? Clock::time_point::max() : deadline_);
  if (!link_) throw Unreachable("no peer connected within the time limit");
  deadline_ = Clock::now() + target_.time_limit;
}

Link Script::wait_for_peer(Clock::time_point deadline) {
  if (!target_.call_failure) return target_.acceptor->accept(deadline);
  constexpr std::chrono::milliseconds kBetweenLooks{50};
  for (;;) {
    const auto why = target_.call_failure();
    // Even if the command has failed, a connection may be pending: check once without waiting.
    const auto until = why.empty() ? Clock::now() + kBetweenLooks : Clock::now();
    auto link = target_.acceptor->accept(std::min(until, deadline));
    if (link || until >= deadline) return link;
    if (!why.empty()) throw Unreachable(why);
  }
}

bool Script::reopened(std::chrono::milliseconds at_most) {
  start_connection();
  if (target_.acceptor != nullptr) link_ = target_.acceptor->accept(Clock::now() + at_most);
  return static_cast<bool>(link_);
}

void Script::octets(bytes::View octets) {
  if (recorder_) recorder_->octets(true, octets);
  link_.send(octets, deadline_);
}

void Script::half_close() {
  if (recorder_) recorder_->closed(true, false);
  link_.half_close();
}

void Script::reset() {
  if (recorder_) recorder_->closed(true, true);
  link_.reset();
}

void Script::close() { link_ = Link(); }

// Sending -----------------------------------------------------------------------------------------

Octets Script::make(bytes::View ulpdu, const Tamper& tamper) {
  return make_fpdu(ulpdu, framing_, tamper);
}

void Script::fpdu(bytes::View ulpdu, const Tamper& tamper) { octets(make(ulpdu, tamper)); }

void Script::send(bytes::View payload, rdmap::Opcode opcode, std::uint32_t inv_stag) {
  fpdu(make_ulpdu(untagged(opcode, take_msn(opcode), inv_stag), payload));
}

void Script::write(std::uint32_t stag, std::uint64_t to, bytes::View payload) {
  tagged_message(tagged(rdmap::Opcode::kWrite, stag, to), payload);
}

void Script::read_request(const rdmap::ReadRequest& request) {
  const auto opcode = rdmap::Opcode::kReadRequest;
  fpdu(make_ulpdu(untagged(opcode, take_msn(opcode)), encode_read_request(request)));
}

void Script::read_response(std::uint32_t stag, std::uint64_t to, bytes::View payload) {
  tagged_message(tagged(rdmap::Opcode::kReadResponse, stag, to), payload);
}

void Script::tagged_message(ddp::SegmentHeader header, bytes::View payload) {
  do {
    const auto part = payload.first(std::min(payload.size(), kSegmentSize));
    payload = payload.subspan(part.size());
    header.last = payload.empty();
    fpdu(make_ulpdu(header, part));
    header.to.value += part.size();
  } while (!payload.empty());
}

void Script::terminate(const bytes::Fault& fault) {
  std::array<std::byte, rdmap::kMaxTerminateSize> octets;
  bytes::Writer writer(octets);
  encode(rdmap::make_terminate(fault, std::nullopt), writer);
  const auto opcode = rdmap::Opcode::kTerminate;
  fpdu(make_ulpdu(untagged(opcode, take_msn(opcode)), writer.written()));
}

// Listening ---------------------------------------------------------------------------------------

Received Script::receive() { return hear_until(deadline_); }

Received Script::receive(std::chrono::milliseconds at_most) {
  return hear_until(std::min(deadline_, Clock::now() + at_most));
}

Received Script::hear_until(Clock::time_point deadline) {
  std::array<std::byte, 16 * 1024> buffer;
  // Limit the wait in case the peer never stops sending.
  const auto patience = deadline_ + target_.time_limit;
  while (Clock::now() < patience) {
    while (auto received = peer_reader_.next()) {
      if (watcher_ && received->segment) watcher_(*received->segment);
      if (!is_served(*received)) return std::move(*received);
    }
    std::size_t size = 0;
    switch (link_.receive(buffer, size, deadline)) {
      case Link::Got::kOctets:
        std::copy_n(buffer.begin(), std::min(size, kHeard - heard_.size()),
                    std::back_inserter(heard_));
        if (recorder_) recorder_->octets(false, bytes::View(buffer).first(size));
        peer_reader_.octets(bytes::View(buffer).first(size));
        break;
      case Link::Got::kClosed:
        if (recorder_) recorder_->closed(false, false);
        peer_reader_.ended(false);
        break;
      case Link::Got::kReset:
        if (recorder_) recorder_->closed(false, true);
        peer_reader_.ended(true);
        break;
      case Link::Got::kNothing:
        return {};
    }
  }
  return {};
}

// Answers the peer's RDMA Reads, and places the peer's RDMA Writes in the tester's memory. Returns
// true if this function has handled the segment, so that the case need not see it.
bool Script::is_served(const Received& received) {
  if (serve_ == Serve::kNothing || received.kind != Received::Kind::kSegment) return false;
  const Segment& s = *received.segment;
  const bool memory = serve_ == Serve::kMemory;
  if (s.is(rdmap::Opcode::kWrite) && s.header.tagged && memory) {
    place(s);
    return true;
  }
  if (!s.is(rdmap::Opcode::kReadRequest)) return false;
  const auto request = rdmap::decode_read_request(s.payload());
  if (!memory && (!request || request->size != 0)) return false;
  if (!request) throw Failed{"a Read Request of 28 octets", describe(received)};
  answer(*request);
  return true;
}

void Script::place(const Segment& write) {
  const auto payload = write.payload();
  if (payload.empty()) return;
  const auto offset = write.header.to.value - kOurTo;
  if (write.header.stag.value != kOurStag || offset > memory_.size() ||
      payload.size() > memory_.size() - offset) {
    throw Failed{"an RDMA Write to the advertised memory",
                 "an RDMA Write outside the advertised memory"};
  }
  std::ranges::copy(payload, memory_.begin() + static_cast<std::ptrdiff_t>(offset));
}

void Script::answer(const rdmap::ReadRequest& request) {
  const auto& [sink_stag, sink_to, size, source_stag, source_to] = request;
  const auto offset = source_to.value - kOurTo;
  if (size != 0 && (source_stag.value != kOurStag || offset > memory_.size() ||
                    size > memory_.size() - offset)) {
    throw Failed{"a Read Request for the advertised memory",
                 "a Read Request for octets outside the advertised memory"};
  }
  const bytes::View octets = size == 0 ? bytes::View() : bytes::View(memory_).subspan(offset, size);
  read_response(sink_stag.value, sink_to.value, octets);
}

Message Script::expect(rdmap::Opcode opcode) {
  Message message;
  for (;;) {
    const Received received = receive();
    if (received.kind != Received::Kind::kSegment || !received.segment->is(opcode)) {
      throw Failed{name(opcode), describe(received)};
    }
    const Segment& s = *received.segment;
    if (s.crc == trace::CrcVerdict::kBad) throw Failed{name(opcode), describe(received)};
    if (message.segments++ == 0) message.header = s.header;
    message.payload.insert(message.payload.end(), s.payload().begin(), s.payload().end());
    if (message.payload.size() > kMemorySize) {
      throw Failed{name(opcode), fmt::format("a message of more than {} octets", kMemorySize)};
    }
    if (s.header.last) return message;
  }
}

ReceivedTerminate Script::expect_terminate(std::initializer_list<bytes::Fault> any_of) {
  for (;;) {
    const Received received = receive();
    const bool message = received.kind == Received::Kind::kSegment;
    if (message && !received.segment->is(rdmap::Opcode::kTerminate)) continue;
    if (!message) throw Failed{names(any_of), describe(received)};
    const auto terminate = read_terminate(*received.segment);
    const auto right = [&](const bytes::Fault& fault) { return reports(terminate, fault); };
    if (std::ranges::none_of(any_of, right)) {
      throw Failed{names(any_of), describe(terminate)};
    }
    const Received end = receive();
    if (end.kind != Received::Kind::kClosed && end.kind != Received::Kind::kReset) {
      throw Failed{"the end of the connection after the Terminate", describe(end)};
    }
    return terminate;
  }
}

void Script::expect_end() {
  for (;;) {
    const Received received = receive();
    if (received.kind == Received::Kind::kClosed || received.kind == Received::Kind::kReset) return;
    if (received.kind == Received::Kind::kNothing) {
      throw Failed{"the end of the connection", describe(received)};
    }
  }
}

void Script::expect_silence(std::chrono::milliseconds time) {
  const Received received = receive(time);
  if (received.kind != Received::Kind::kNothing) throw Failed{"silence", describe(received)};
}

std::string Script::record() const { return recorder_ ? recorder_->text() : std::string(); }

}  // namespace iwarp::apps::conform
