// SPDX-License-Identifier: Apache-2.0
// Target: a whole connection against a hostile peer that may also frame correctly, beginning with
// the first octet of the startup frame. Properties: memory that was not granted never changes,
// every receive plan can be filled, and every loop ends. The input determines the octets, where
// they are split, and what the application does meanwhile.
#include "iwarp/verbs/connection.hpp"

#include <algorithm>

#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/mpa/framer.hpp"
#include "iwarp/rdmap/faults.hpp"
#include "iwarp/sim/end.hpp"
#include "target.hpp"

namespace iwarp::fuzz {
namespace {

using namespace verbs;  // NOLINT: all tested code is in it
using mpa::Role;

// The region is large enough that the connection places payloads while they arrive.
constexpr std::size_t kRegion = 12288;
constexpr std::size_t kLargest = 6000;

struct Options {
  Role role;
  bool honest_startup;
  bool peer_markers;
  bool peer_agrees;  ///< whether the peer supports RFC 7306
  std::size_t chunk;
  ConnectionOptions connection;
};

Options read_options(Input& in) {
  const auto bits = in.u8();
  const auto more = in.u8();
  Options o{.role = (bits & 1) != 0 ? Role::kResponder : Role::kInitiator,
            .honest_startup = (bits & 2) == 0,
            .peer_markers = (bits & 4) != 0,
            .peer_agrees = (more & 2) != 0,
            .chunk = std::size_t{1} + in.u8() * std::size_t{5},
            .connection = {}};
  auto& c = o.connection;
  c.startup.crc = (bits & 8) != 0;
  c.startup.markers = (bits & 16) != 0;
  c.startup.revision = o.honest_startup ? 1 : 2;
  c.startup.send_immediate = (more & 4) != 0;
  c.startup.rtr = static_cast<mpa::Rtr>(bits >> 5 & 3);
  c.placement = (bits & 128) != 0 ? Placement::kDirect : Placement::kVerified;
  c.max_ulpdu = 128 + more * std::size_t{16};
  c.stage = 4096;
  c.transmit_batch = 8192;
  if ((more & 1) != 0) c.receive_hold = std::chrono::seconds(1);
  return o;
}

class Harness {
 public:
  explicit Harness(const Options& options)
      : options_(options),
        end_(std::make_shared<sim::End>(1, now_)),
        framer_({.markers = options.connection.startup.markers,
                 .crc = options.connection.startup.crc}) {
    writable_ =
        end_->memory(kRegion, Access::kRemoteWrite | Access::kRemoteAtomic | Access::kZeroBased);
    readable_ = end_->memory(kRegion, Access::kRemoteRead | Access::kZeroBased);
    local_ = end_->memory(kRegion, Access::kLocalWrite);
    watched_readable_.emplace(Span(readable_->address, kRegion));
    watched_local_.emplace(Span(local_->address, kRegion));
    end_->open(options.role, options.connection);
    if (options.role == Role::kInitiator) {
      require(end_->connection->connect({}, now_), "a connection can be started");
    }
    if (options.honest_startup) startup();
  }
  ~Harness() {
    // While connected, the queue pair shares ownership of the End that owns it. abort() breaks this
    // cycle.
    end_->qp->abort();
    check();
  }

  void step(Input& in) {
    const auto op = in.u8();
    switch (op & 7) {
      case 0:
        deliver(in.octets(in.u16() % 4096));
        break;
      case 1:
        deliver(framed(in));
        break;
      case 2: {
        const auto octets = framed(in);
        deliver_part(octets, in.u8() * std::size_t{64});
        break;
      }
      case 3:
        transmit(in.u16());
        break;
      case 4:
        post_receive(in);
        break;
      case 5:
        post_send(in);
        break;
      case 6:
        pass_time(op >> 3);
        break;
      default:
        control(op >> 3, in);
    }
    poll();
    check();
  }

 private:
  void startup() {
    const auto kind =
        options_.role == Role::kInitiator ? mpa::FrameKind::kReply : mpa::FrameKind::kRequest;
    const auto said = options_.connection.startup.send_immediate ? mpa::Extensions::kSendImmediate
                                                                 : mpa::Extensions::kRfc7306;
    const auto tag = std::as_bytes(std::span(mpa::extensions_tag(kind, said)));
    const View data = options_.peer_agrees ? tag : View{};
    Octets frame(mpa::startup_frame_size(data.size()));
    bytes::Writer writer{Span(frame)};
    mpa::encode({.kind = kind,
                 .markers = options_.peer_markers,
                 .crc = options_.connection.startup.crc,
                 .private_data = data},
                writer);
    transmit(4096);
    deliver(frame);
    poll();
    transmit(4096);
  }

  // Makes a correctly framed FPDU. Its payload is extended with filler octets. STags 1 to 3 are
  // replaced by those of the regions.
  Octets framed(Input& in) {
    auto ulpdu = in.octets(in.u8());
    ulpdu.resize(ulpdu.size() + in.u16() % kLargest, std::byte{0x5A});
    patch_stag(ulpdu, 2);
    patch_stag(ulpdu, ddp::kUntaggedHeaderSize + 16);  // the source STag of a Read Request
    // The target STag of an Atomic Request:
    patch_stag(ulpdu, ddp::kUntaggedHeaderSize + 8);
    if (ulpdu.empty()) return {};
    const auto header = std::min<std::size_t>(ulpdu.size(), ddp::kUntaggedHeaderSize);
    bytes::Gather payload;
    if (header < ulpdu.size()) payload.push_back(View(ulpdu).subspan(header));
    framer_.frame(View(ulpdu).first(header), payload, mpa::PayloadMode::kCopy, 1);
    Octets out;
    while (framer_.queued_octets() != 0) {
      const auto plan = framer_.plan(16);
      for (const View piece : plan) out.insert(out.end(), piece.begin(), piece.end());
      framer_.sent(bytes::total_size(plan));
    }
    framer_.pop_sent();
    return out;
  }

  void patch_stag(Octets& ulpdu, std::size_t at) const {
    if (ulpdu.size() < at + 4) return;
    const auto value = bytes::load_be<std::uint32_t>(ulpdu.data() + at);
    if (value == 1) bytes::store_be(ulpdu.data() + at, writable_->stag.load());
    if (value == 2) bytes::store_be(ulpdu.data() + at, readable_->stag.load());
    if (value == 3) bytes::store_be(ulpdu.data() + at, local_->stag.load());
  }

  // Delivers the octets without the last `late` ones, which are delivered before the octets of the
  // next call.
  void deliver_part(const Octets& octets, std::size_t late) {
    const auto now = octets.size() - std::min(octets.size(), late);
    deliver(View(octets).first(now));
    late_.assign(octets.begin() + static_cast<std::ptrdiff_t>(now), octets.end());
  }

  void deliver(View octets) {
    const auto late = std::exchange(late_, {});
    feed(late);
    feed(octets);
  }

  void feed(View octets) {
    while (!octets.empty()) {
      const auto n = end_->receive(octets.first(std::min(octets.size(), options_.chunk)));
      if (n == 0) return;  // stops, because the stream is held or has ended
      octets = octets.subspan(n);
    }
  }

  void transmit(std::size_t limit) {
    const auto read = [this](View piece) { sum_ += std::to_integer<unsigned>(piece.front()); };
    for (int i = 0; i < 64 && limit != 0; ++i) {
      const auto n = end_->transmit(limit, read);
      if (n == 0) break;
      limit -= n;
    }
    static_cast<void>(end_->connection->socket_action());
  }

  void post_receive(Input& in) {
    const std::size_t offset = 64 * (in.u8() % 3U);
    const std::array sgl{sim::sge(local_, offset, in.u16() % kLargest)};
    if (!end_->qp->post_recv({.wr_id = 1, .sgl = sgl})) grant(sgl[0]);
    end_->connection->resume(now_);
  }

  void post_send(Input& in) {
    const auto kind = in.u8();
    const std::array sgl{
        sim::sge(local_, 6144 + 16 * (std::size_t{kind} >> 5), in.u16() % kLargest)};
    SendWr wr{.wr_id = 2, .flags = SendFlags::kSignaled, .sgl = sgl, .remote = {Stag{77}, 0x1000}};
    const std::array opcodes{
        WrOpcode::kSend,     WrOpcode::kWrite,   WrOpcode::kRead,      WrOpcode::kSendInvalidate,
        WrOpcode::kFetchAdd, WrOpcode::kCmpSwap, WrOpcode::kImmediate, WrOpcode::kWriteImmediate};
    wr.opcode = opcodes[kind & 7];
    if (wr.opcode == WrOpcode::kWriteImmediate && (kind & 8) != 0) {
      wr.opcode = WrOpcode::kSendImmediate;
    }
    const auto word = sim::sge(local_, 6144 + 16 * (std::size_t{kind} >> 5), 8);
    const bool atomic = wr.opcode == WrOpcode::kFetchAdd || wr.opcode == WrOpcode::kCmpSwap;
    if (atomic) wr.sgl = {&word, 1};
    if (wr.opcode == WrOpcode::kImmediate) wr.sgl = {};
    const bool posted = !end_->qp->post_send(wr);
    if (posted && (atomic || wr.opcode == WrOpcode::kRead)) grant(wr.sgl[0]);
  }

  void pass_time(unsigned steps) {
    now_ += std::chrono::milliseconds(400) * steps;
    end_->expire();
  }

  void control(unsigned what, Input& in) {
    auto& connection = *end_->connection;
    if (what == 0) connection.peer_closed(now_);
    if (what == 1) connection.lost(now_);
    if (what == 2) connection.disconnect(now_);
    if (what == 3) connection.terminate(rdmap::kLocalCatastrophic, now_);
    if (what == 4) connection.set_emss(in.u16());
    if (what == 5) destroy(readable_);
    if (what == 6 && destroy(writable_)) {
      watched_writable_.emplace(Span(writable_->address, kRegion));
    }
  }

  // Lets the owner revoke the peer's access to a region, at most once. After that, no octet of the
  // region may change.
  bool destroy(Region* region) {
    const auto at = region == readable_ ? 0U : 1U;
    if (std::exchange(destroyed_[at], true)) return false;
    static_cast<void>(end_->stags.destroy(
        region, [&](Region& broken) { end_->connection->revoke(broken, now_); }));
    return true;
  }

  void poll() {
    while (const auto event = end_->connection->event()) {
      if (event->type == ConnectionEvent::Type::kRequest) {
        end_->connection->accept(*end_->qp, {}, 2, 2, now_);
      }
    }
    end_->completions();
    end_->async.clear();
  }

  void grant(const Sge& sge) { watched_local_->grant({sge.address, sge.length}); }

  void check() {
    require(end_->guards_intact(), "nothing around the regions changes");
    require(watched_readable_->untouched_elsewhere(),
            "a region that may only be read is not written");
    require(!watched_writable_ || watched_writable_->untouched_elsewhere(),
            "a region that was closed is not written any more");
    require(watched_local_->untouched_elsewhere(),
            "local memory changes only where a buffer was posted");
  }

  const Options options_;
  mpa::TimePoint now_{};
  std::shared_ptr<sim::End> end_;
  mpa::Framer framer_;
  Region* writable_ = nullptr;
  Region* readable_ = nullptr;
  Region* local_ = nullptr;
  std::optional<Watched> watched_readable_;
  std::optional<Watched> watched_local_;
  std::optional<Watched> watched_writable_;  ///< set once access is revoked
  Octets late_;
  std::array<bool, 2> destroyed_{};
  unsigned sum_ = 0;
};

}  // namespace

void run(View input) {
  Input in(input);
  Harness harness(read_options(in));
  for (int steps = 0; steps < 200 && !in.empty(); ++steps) harness.step(in);
}

}  // namespace iwarp::fuzz
