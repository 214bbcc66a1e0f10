// SPDX-License-Identifier: Apache-2.0
// Target: an RDMAP stream and its DDP stream with a scripted Ulp, against a hostile peer (RFC 5040,
// RFC 5041, RFC 7306). Properties: no octet changes outside the memory that the Ulp granted, IRD
// and ORD are obeyed, segments fit into MULPDU, and the Terminate is the last message that is sent.
#include "iwarp/rdmap/stream.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>

#include "target.hpp"

namespace iwarp::fuzz {
namespace {

using namespace rdmap;  // NOLINT: all tested code is in it

// An Ulp whose buffers are all in one arena between guard pages: two windows for the peer, the
// buffers of receives, and the sinks of Reads.
class ArenaUlp final : public Ulp {
 public:
  bool next_request(bool read_credit, Request& out) override {
    if (requests.empty()) return false;
    const auto next = requests.front().opcode;
    const bool answered = next == Opcode::kReadRequest || next == Opcode::kAtomicRequest;
    if (answered && !read_credit) return false;
    out = requests.front();
    requests.pop_front();
    if (out.opcode == Opcode::kReadRequest) watched.grant(out.sink);
    if (answered) ++unanswered;
    return true;
  }
  void sent(std::uint64_t) override {}
  void read_done(std::uint64_t) override { answer_arrived(); }
  void atomic_done(std::uint64_t, std::uint64_t) override { answer_arrived(); }
  void delivered_before(Msn) override { calls_after_end |= ended; }
  std::expected<void, AccessError> write_target(Stag stag, TaggedOffset to, std::uint32_t length,
                                                bytes::Span& out) override {
    calls_after_end |= ended;
    const auto memory = window(stag, to, length, 1, 0);
    if (!memory) return std::unexpected(memory.error());
    watched.grant(*memory);
    out = *memory;
    return {};
  }
  void release_target() override {}
  std::expected<bytes::View, AccessError> read_source(Stag stag, TaggedOffset to,
                                                      std::uint32_t length) override {
    calls_after_end |= ended && !answers_owed;
    const auto memory = window(stag, to, length, 2, kWindow);
    if (!memory) return std::unexpected(memory.error());
    return View(*memory);
  }
  void release_source() override {}
  std::expected<std::uint64_t, AccessError> atomic(const AtomicRequest& request) override {
    calls_after_end |= ended && !answers_owed;
    const auto memory = window(request.stag, request.to, kAtomicWord, 1, 0);
    if (!memory) return std::unexpected(memory.error());
    watched.grant(*memory);
    const auto original = bytes::load_be<std::uint64_t>(memory->data());
    bytes::store_be(memory->data(), apply(request, original));
    return original;
  }
  bytes::Check receive_buffer(ddp::UntaggedBuffer& out) override {
    calls_after_end |= ended;
    out.ready = taken || !receives.empty();
    if (!out.ready && hold) return {};
    if (!out.ready) return bytes::fault(ddp::kUntaggedNoBuffer);
    if (!taken) {
      taken = receives.front();
      receives.pop_front();
      watched.grant(*taken);
    }
    const auto half = taken->size() / 2;
    out.pieces = {taken->first(half), taken->subspan(half)};
    return {};
  }
  bytes::Check send_received(const ReceivedSend& send) override {
    calls_after_end |= ended;
    if (send.invalidate && send.invalidated.value != 1) return bytes::fault(kCannotInvalidate);
    taken.reset();
    return {};
  }
  void terminate_received(const Terminate&) override {}

  static constexpr std::size_t kWindow = 1024;
  GuardedMemory pages{2};
  Span arena = pages.all();
  Watched watched{arena};
  std::deque<Request> requests;
  std::deque<Span> receives;
  std::optional<Span> taken;  ///< memory that was granted and has not been filled yet
  bool windows_open = true;
  bool hold = false;
  bool ended = false;
  bool answers_owed = false;  ///< before the Terminate, see Stream::terminate()
  bool calls_after_end = false;
  std::size_t unanswered = 0;  ///< Reads and Atomics that the stream has taken

 private:
  void answer_arrived() {
    calls_after_end |= ended;
    --unanswered;
  }
  std::expected<Span, AccessError> window(Stag stag, TaggedOffset to, std::uint32_t length,
                                          std::uint32_t name, std::size_t at) {
    if (!windows_open || stag.value != name) return std::unexpected(AccessError::kStagInvalid);
    if (to.value > kWindow || length > kWindow - to.value) {
      return std::unexpected(AccessError::kOutOfBounds);
    }
    return arena.subspan(at + to.value, length);
  }
};

class Harness {
 public:
  explicit Harness(std::uint8_t bits)
      : options_{.ird = bits & 3U,
                 .ord = bits >> 2 & 3U,
                 .rtr_send_expected = (bits & 16) != 0,
                 .extensions = (bits & 128) != 0,
                 .send_immediate = (bits & 128) != 0},
        stream_(ulp_, options_) {
    ulp_.hold = (bits & 32) != 0;
    if ((bits & 64) != 0) stream_.send_rtr(static_cast<RtrKind>(bits >> 2 & 1));
  }

  void step(Input& in) {
    const auto op = in.u8();
    switch (op & 7) {
      case 0:
        inbound(in.octets(in.u16() % 2048));
        break;
      case 1:
      case 2:
        inbound(likely_segment(in, (op & 7) == 2));
        break;
      case 3:
        outbound(128 + in.u16() % 2048, 1 + (op >> 4));
        break;
      case 4:
        post(in);
        break;
      case 5:
        ulp_.receives.push_back(ulp_.arena.subspan(4096 + in.u8() * std::size_t{4}, op >> 3));
        break;
      case 6:
        ulp_.windows_open = !ulp_.windows_open;
        break;
      default:
        end(op >> 3, in);
    }
    check();
  }

 private:
  // Makes a segment with the correct version. An untagged segment gets the next MSN.
  Octets likely_segment(Input& in, bool extension) {
    const auto bits = in.u8();
    const auto opcode = static_cast<Opcode>(extension ? 8 + (bits & 3) : bits & 7);
    ddp::SegmentHeader h{.tagged = info(opcode).tagged,
                         .last = (bits & 8) == 0,
                         .rsvd_ulp = control_octet(opcode),
                         .rsvd_ulp_rest = bits >> 4 & 1U,
                         .stag = Stag{bits >> 4 & 3U},
                         .qn = info(opcode).qn};
    h.to = TaggedOffset{in.u16()};
    h.mo = info(opcode).tagged ? 0 : in.u8();
    h.msn = expected_msn_[h.qn];
    Octets out(h.size());
    bytes::Writer writer{Span(out)};
    ddp::encode(h, writer);
    const auto payload = in.octets(in.u8());
    out.insert(out.end(), payload.begin(), payload.end());
    return out;
  }

  void inbound(const Octets& ulpdu) {
    if (stream_.state() != StreamState::kRdma) return;
    const auto prefix = std::min(ulpdu.size(), Stream::kPrefix);
    const auto begun = stream_.begin(View(ulpdu).first(prefix), ulpdu.size());
    if (!begun) {
      require(stream_.state() == StreamState::kTerminating, "a fault ends the stream");
      require(stream_.own_terminate()->fault == begun.error(), "the Terminate names the fault");
      return;
    }
    const ddp::Arrival& arrival = stream_.arrival();
    if (arrival.hold) return;
    require(bytes::total_size(arrival.target) == arrival.length,
            "the target has the length of the payload");
    auto from = ulpdu.begin() + static_cast<std::ptrdiff_t>(arrival.header.size());
    for (const Span piece : arrival.target) {
      std::copy_n(from, piece.size(), piece.begin());
      from += static_cast<std::ptrdiff_t>(piece.size());
    }
    const auto& header = arrival.header;
    if (!header.tagged && header.last) expected_msn_[header.qn] = header.msn.next();
    const auto done = stream_.end();
    require(done || stream_.state() == StreamState::kTerminating, "a fault ends the stream");
  }

  void outbound(std::size_t mulpdu, int count) {
    OutSegment out;
    while (count-- > 0 && stream_.next_segment(mulpdu, out)) {
      require(!terminate_left_, "nothing follows a Terminate");
      require(out.header_size <= out.header.size(), "the header fits");
      const auto size = out.header_size + bytes::total_size(out.payload);
      require(size <= mulpdu, "a segment fits MULPDU");
      for (const View piece : out.payload)
        sum_ += piece.empty() ? 0 : std::to_integer<unsigned>(piece.back());
      terminate_left_ = (out.header[1] & std::byte{0x0F}) == std::byte{7};
      stream_.segment_taken();
      stream_.sent(out.token);
    }
  }

  void post(Input& in) {
    if (ulp_.requests.size() > 8) return;
    const auto opcode = static_cast<Opcode>(in.u8() % 11);
    if (opcode == Opcode::kReadResponse || opcode == Opcode::kTerminate) return;
    if (is_extension(opcode) && !options_.extensions) return;
    const std::uint32_t length = is_extension(opcode) ? 0 : in.u8();
    const auto memory = ulp_.arena.subspan(6144, length);
    Request request{.opcode = opcode, .length = length, .stag = Stag{9}, .sink_stag = Stag{3}};
    if (opcode == Opcode::kReadRequest) {
      request.sink = memory;
    } else {
      request.payload = {View(memory)};
    }
    ulp_.requests.push_back(request);
  }

  void end(unsigned how, Input& in) {
    if (how < 2) stream_.terminate(kLocalCatastrophic, in.flag());
    // lower_layer_closed() may be called only once, because the state machine has no edge for a
    // second call in the closed state.
    if (how == 2 && stream_.state() != StreamState::kClosed) stream_.lower_layer_closed();
    if (how == 3) stream_.cancel();
  }

  void check() {
    require(stream_.inbound_reads() <= options_.ird, "IRD is not exceeded");
    require(ulp_.unanswered <= options_.ord, "ORD is not exceeded");
    require(ulp_.watched.untouched_elsewhere(), "memory that was not granted does not change");
    require(!ulp_.calls_after_end, "a stream that has ended does not call the Ulp");
    ulp_.ended = stream_.state() != StreamState::kRdma;
    ulp_.answers_owed = stream_.state() == StreamState::kTerminating;
  }

  const StreamOptions options_;
  ArenaUlp ulp_;
  Stream stream_;
  std::array<ddp::Msn, ddp::kQueues> expected_msn_{};
  bool terminate_left_ = false;
  unsigned sum_ = 0;
};

}  // namespace

void run(View input) {
  Input in(input);
  Harness harness(in.u8());
  for (int steps = 0; steps < 400 && !in.empty(); ++steps) harness.step(in);
}

}  // namespace iwarp::fuzz
