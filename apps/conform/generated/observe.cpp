// SPDX-License-Identifier: Apache-2.0
// Observes how the peer reacts to a sample. To find out whether the stream still works, the tester
// sends a probing Read, which is zero-length if the peer has advertised no memory. The tester reads
// back what a Write has written. The next message of the peer's program shows whether a Send was
// delivered.
#include "conform/generated/observe.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace iwarp::apps::conform::generated {
namespace {

using rdmap::Opcode;
using std::chrono::milliseconds;

constexpr std::uint64_t kProbeSink = Script::kOurTo + 900 * 1024;
constexpr milliseconds kUndeliveredFor{50};

std::vector<Octets> segments_of(const Sample& sample) {
  const Octets whole = sample.ulpdu();
  if (sample.split == Sample::Split::kNone || whole.size() < sample.header.size()) return {whole};
  const auto payload = bytes::View(whole).subspan(sample.header.size());
  const bool halves = sample.split == Sample::Split::kHalves;
  const std::size_t first = halves ? payload.size() / 2 : payload.size();
  auto header = sample.header;
  header.last = false;
  std::vector<Octets> out{make_ulpdu(header, payload.first(first))};
  header.last = true;
  if (header.tagged) {
    header.to.value += first;
  } else {
    header.mo += static_cast<std::uint32_t>(first);
  }
  out.push_back(make_ulpdu(header, payload.subspan(first)));
  for (Octets& ulpdu : out) ulpdu[0] |= static_cast<std::byte>(sample.ddp_reserved);
  return out;
}

class Observer {
 public:
  Observer(Script& script, const Sample& sample, const Progress& progress,
           const Expectation& expected)
      : script_(script), sample_(sample), progress_(progress), expected_(expected) {}

  Observed run(milliseconds silence) {
    for (const Octets& ulpdu : segments_of(sample_)) script_.fpdu(ulpdu, sample_.tamper);
    if (expected_.is_valid()) ask();
    // Do not send the probing Read if the peer must end the stream anyway.
    const bool must_end = expected_.has(kNoTerminate);
    while (!settled()) {
      const bool is_last = asked_ || must_end;
      const Received received = is_last ? script_.receive() : script_.receive(silence);
      if (received.kind == Received::Kind::kNothing) {
        if (is_last) break;
        ask();
      } else if (!take(received)) {
        break;
      }
    }
    if (seen_.answered && expected_.has(kUndelivered)) wait_for_delivery();
    return std::move(seen_);
  }

 private:
  bool settled() const {
    if (seen_.ended || !seen_.wrong.empty()) return true;
    if (!seen_.answered) return false;
    return (seen_.delivered || !must_deliver(sample_, progress_, expected_)) &&
           (seen_.read_answered || !must_answer());
  }
  bool must_answer() const { return expected_.is_valid() && sample_.read.has_value(); }
  bool reads_back() const {
    return expected_.is_valid() && sample_.header.tagged && sample_.is(Opcode::kWrite) &&
           sample_.payload_size() != 0;
  }

  // Sends the rest of an incomplete message, if any, and then the probing Read. If the sample was a
  // Read Request, it has consumed an MSN, so the probing Read uses the next one.
  void ask() {
    asked_ = true;
    if (!continues(sample_, progress_)) finish(script_, progress_);
    const bool was_read = sample_.read && !sample_.header.tagged && sample_.header.qn == 1;
    if (was_read) script_.take_msn(Opcode::kReadRequest);
    const auto size = reads_back() ? static_cast<std::uint32_t>(sample_.payload_size())
                                   : std::min<std::uint32_t>(progress_.memory.length, 1);
    script_.read_request(
        {.sink_stag = {Script::kOurStag},
         .sink_to = {kProbeSink},
         .size = size,
         .source_stag = {progress_.memory.stag},
         .source_to = {reads_back() ? sample_.header.to.value : progress_.memory.to}});
  }

  // Records an event. Returns false if later events cannot change the result.
  bool take(const Received& received) {
    switch (received.kind) {
      case Received::Kind::kClosed:
      case Received::Kind::kReset:
        seen_.ended = true;
        seen_.reset = received.kind == Received::Kind::kReset;
        return false;
      case Received::Kind::kSegment:
        take_segment(*received.segment);
        return true;
      default:
        seen_.wrong = describe(received);
        return false;
    }
  }

  void take_segment(const Segment& segment) {
    if (seen_.terminate) {
      seen_.wrong = "another message";
    } else if (segment.is(Opcode::kTerminate)) {
      seen_.terminate = read_terminate(segment);
    } else if (segment.is(Opcode::kReadResponse)) {
      take_response(segment);
    } else {
      seen_.delivered = true;
    }
  }

  void take_response(const Segment& segment) {
    if (segment.header.stag.value == Script::kOurStag && segment.header.to.value == kProbeSink) {
      seen_.answered = true;
      const auto payload = segment.payload();
      if (reads_back() && !std::ranges::equal(payload, sample_.payload)) {
        seen_.wrong = "a Read Response that differs from the octets written";
      }
      return;
    }
    seen_.read_answered = true;
    if (!sample_.read) {
      seen_.wrong = "a Read Response without a request";
    } else if (expected_.is_valid()) {
      check_response(segment);
    }
  }

  void check_response(const Segment& segment) {
    const auto& read = *sample_.read;
    if (segment.header.stag != read.sink_stag || segment.header.to != read.sink_to) {
      seen_.wrong = "a Read Response to the wrong sink";
    } else if (!segment.header.last || segment.payload().size() != read.size) {
      seen_.wrong = "a Read Response of the wrong size";
    } else if (read.size != 0 && progress_.state == State::kAfterSend && progress_.peer_listens) {
      // The peer's memory still contains the octets that the peer has read from the tester's
      // memory.
      const auto offset = read.source_to.value - progress_.memory.to;
      const auto wanted = bytes::View(script_.memory()).subspan(offset, read.size);
      if (!std::ranges::equal(segment.payload(), wanted))
        seen_.wrong = "a Read Response with the wrong octets";
    }
  }

  void wait_for_delivery() {
    const Received received = script_.receive(kUndeliveredFor);
    if (received.kind == Received::Kind::kSegment) take_segment(*received.segment);
  }

  Script& script_;
  const Sample& sample_;
  const Progress& progress_;
  const Expectation& expected_;
  Observed seen_;
  bool asked_ = false;
};

}  // namespace

bool must_deliver(const Sample& sample, const Progress& progress, const Expectation& expected) {
  return expected.is_valid() && sample.is_send() && progress.peer_listens;
}

Observed observe(Script& script, const Sample& sample, const Progress& progress,
                 const Expectation& expected, milliseconds silence) {
  Observer observer(script, sample, progress, expected);
  return observer.run(silence);
}

std::string Observed::text(const Sample& sample, const Expectation& expected) const {
  if (terminate) {
    const auto& fault = terminate->terminate.fault;
    auto out = fmt::format("Terminate {}/{}/{:02x}", static_cast<int>(fault.layer), fault.type,
                           fault.code);
    if (!wrong.empty()) return out + ", then " + wrong;
    return ended ? out : out + ", but the connection stays open";
  }
  if (!wrong.empty()) return wrong;
  if (ended) return "connection closed without a Terminate";
  if (!answered) return expected.has(kNoTerminate) ? "the connection still open" : "silence";
  if (expected.has(kUndelivered) && (delivered || read_answered))
    return "continues and delivers the message";
  if (expected.is_valid() && sample.read && !read_answered)
    return "continues without answering the Read";
  return "continues";
}

std::string judge_headers(const ReceivedTerminate& terminate, const Sample& sample) {
  const auto& observed = terminate.terminate.segment;
  if (!observed) return "no headers";
  const Octets ulpdu = sample.ulpdu();
  std::string out;
  const auto note = [&](std::string_view text) {
    out += (out.empty() ? "" : ", ") + std::string(text);
  };
  if (observed->segment_length == sample.payload_size()) {
    note("a DDP Segment Length that counts only the payload");
  } else if (observed->segment_length != ulpdu.size()) {
    note(fmt::format("a DDP Segment Length of {} instead of {}", observed->segment_length,
                     ulpdu.size()));
  }
  const auto same = [](const auto& header, std::size_t size, bytes::View sent) {
    return sent.size() >= size &&
           std::equal(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(size),
                      sent.begin());
  };
  if (observed->ddp_header_size == 0) {
    note("no DDP header");
  } else if (!same(observed->ddp_header, observed->ddp_header_size, ulpdu)) {
    note("a different DDP header");
  }
  if (observed->rdma_header_size != 0 &&
      !same(observed->rdma_header, observed->rdma_header_size,
            bytes::View(ulpdu).subspan(std::min(ulpdu.size(), sample.header.size())))) {
    note("a different RDMA header");
  }
  return out;
}

}  // namespace iwarp::apps::conform::generated
