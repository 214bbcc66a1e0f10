// SPDX-License-Identifier: Apache-2.0
// Replays the octets of a recorded session to a new responder: split in two at every octet,
// truncated at every octet, and with every bit flipped. The responder must never deliver wrong
// data, and never access memory without permission.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

constexpr std::uint32_t kSeed = 77;
constexpr std::uint64_t kImmediate = 0x0102030405060708;

// The responder's memory. It has the same STags and offsets in every run.
struct Memory {
  Memory(End& end, std::size_t size)
      : target(end.memory(size, kEverything | Access::kZeroBased)),
        inbox(end.memory(600, Access::kLocalWrite)),
        forbidden(end.memory(600, Access::kLocalWrite)),
        counter(end.memory(8, Access::kRemoteAtomic | Access::kZeroBased)) {
    for (std::uint64_t id = 0; id < 3; ++id) post_recv(end, id, sge(inbox, id * 200, 200));
    REQUIRE(!end.qp->post_recv({.wr_id = 3, .sgl = {}}));  // The Immediate consumes this receive.
  }
  Region* target;
  Region* inbox;
  Region* forbidden;  ///< region that the peer must not access
  Region* counter;    ///< the word to which the peer adds 1
};

ConnectionOptions small_segments(bool crc, bool markers) {
  auto o = with_crc(crc, {.max_ulpdu = 256});
  o.startup.markers = markers;
  return o;
}

struct Way {
  ConnectionOptions options;
  /// Whether the stream has no markers. Only in such a stream can the test find the ends of FPDUs.
  bool plain;
  std::size_t size = 700;
  std::size_t stride = 1;  ///< distance in bits between two flips, in octets between two cuts
};

std::vector<Way> ways() {
  std::vector<Way> out;
  for (const bool markers : {false, true}) {
    out.push_back({.options = small_segments(true, markers), .plain = !markers});
    out.push_back({.options = small_segments(false, markers), .plain = !markers});
    for (const bool crc : {true, false}) {  // Payload of this size is placed as it arrives.
      Way way{
          .options = small_segments(crc, markers), .plain = !markers, .size = 9000, .stride = 61};
      way.options.max_ulpdu = 5000;
      way.options.placement = verbs::Placement::kDirect;
      out.push_back(way);
    }
  }
  return out;
}

// Records the octets that an initiator sends for these requests: Write, Send, FetchAdd, Read, Send
// with Solicited Event, Send, Immediate.
std::vector<std::byte> record(const Way& way) {
  const std::size_t size = way.size;
  Pair pair(way.options, way.options, {.seed = kSeed});
  Memory memory(*pair.b, size);
  Region* mine = pair.a->memory(size, kEverything | Access::kZeroBased);
  fill_pattern(mine);
  post_write(*pair.a, 1, sge(mine, 0, size), remote(memory.target));
  post_send(*pair.a, 2, sge(mine, 0, 200));
  Region* old = pair.a->memory(8, Access::kLocalWrite);
  post_fetch_add(*pair.a, 6, sge(old, 0, 8), remote(memory.counter), 1);
  post_read(*pair.a, 3, sge(mine, 0, size), remote(memory.target));
  post_send(*pair.a, 4, sge(mine, 200, 200), SendFlags::kSignaled | SendFlags::kSolicited);
  post_send(*pair.a, 5, sge(mine, 400, 200));
  post_immediate(*pair.a, 7, kImmediate);
  REQUIRE(pair.establish());
  REQUIRE(text(pair.b->completions()) == "0 success, 1 success, 2 success, 3 success");
  REQUIRE(text(pair.a->completions()).find("flushed") == std::string::npos);
  return pair.to_b.log;
}

// Feeds recorded octets to a responder and discards its answers.
class Player {
 public:
  explicit Player(const Way& way)
      : end(std::make_shared<End>(kSeed * 2 + 2, now)), memory(*end, way.size) {
    end->open(Role::kResponder, way.options);
  }
  ~Player() { end->qp->abort(); }
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  // Feeds `octets` as one segment, except that the octets after the Request wait until the program
  // has accepted or rejected the Request.
  void play(View octets) {
    while (!octets.empty()) {
      const auto limit = at_ < kEnhancedFrame ? kEnhancedFrame - at_ : SIZE_MAX;
      const auto n = end->receive(octets.first(std::min(octets.size(), limit)));
      if (n == 0) return;
      at_ += n;
      octets = octets.subspan(n);
      answer();
    }
  }
  void finish() {
    end->connection->peer_closed(end->now);
    answer();
    for (int i = 0; i < 3; ++i) {
      now = end->connection->timeout().value_or(now);
      end->expire();
    }
    answer();
  }

  // Checks that each receive that succeeded contains what the initiator sent, and that the peer has
  // changed only memory that it was granted.
  void check_delivered(bool exact = true) {
    for (const auto& wc : end->completions()) {
      if (wc.status != WcStatus::kSuccess) continue;
      ++delivered;
      if (!exact) continue;
      CHECK((wc.wr_id == 3) == (wc.opcode == WcOpcode::kRecvImmediate));
      CHECK(wc.byte_len == (wc.wr_id == 3 ? 0U : 200U));
      if (wc.wr_id == 3) {
        CHECK(wc.immediate == kImmediate);
        continue;
      }
      for (std::size_t i = 0; i < 200; ++i) {
        const auto at = wc.wr_id * 200 + i;
        if (memory.inbox->address[at] != pattern(at)) FAIL_CHECK("wrong octet received");
      }
    }
    CHECK(end->guards_intact());
    CHECK(all_zero(memory.forbidden));
    if (!exact) return;
    CHECK(word(memory.counter) <= 1);
    for (std::size_t i = 0; i < memory.target->length; ++i) {
      const auto octet = memory.target->address[i];
      if (octet != std::byte{0} && octet != pattern(i)) FAIL_CHECK("wrong octet written");
    }
  }

  TimePoint now{};
  std::shared_ptr<End> end;
  Memory memory;
  std::size_t delivered = 0;

 private:
  void answer() {
    auto& connection = *end->connection;
    while (const auto e = end->event()) {
      if (*e == ConnectionEventType::kRequest) {
        CHECK(connection.accept(*end->qp, {}, 16, 16, end->now));
      }
    }
    while (end->transmit(SIZE_MAX, [](View) {}) != 0) {
    }
    connection.socket_action();
  }

  std::size_t at_ = 0;
};

// Returns how many Sends and Immediates have ended at offset `end` of a stream without markers.
std::size_t sends_before(std::size_t end, const std::vector<std::byte>& stream) {
  std::size_t out = 0;
  for (std::size_t at = kEnhancedFrame; at < stream.size();) {
    const std::size_t length = bytes::load_be<std::uint16_t>(stream.data() + at);
    const auto opcode = std::to_integer<unsigned>(stream[at + 3]) & 0x0F;
    at += mpa::fpdu_size(length);
    if (at <= end && (opcode == 3 || opcode == 5 || opcode == 8)) ++out;
  }
  return out;
}

// Calls `check` for each bit of the session, with a player that has played the session with that
// bit flipped.
template <typename Check>
void for_each_flip(const Way& way, const std::vector<std::byte>& stream, Check check) {
  for (std::size_t bit = 0; bit < stream.size() * 8; bit += way.stride) {
    CAPTURE(bit);
    auto bad = stream;
    bad[bit / 8] ^= std::byte{1} << (bit % 8);
    Player player(way);
    player.play(bad);
    player.finish();
    check(player, bit);
  }
}

bool is_verified(const Way& way) {
  return way.options.startup.crc && way.options.placement == verbs::Placement::kVerified;
}

}  // namespace

TEST_CASE("split in two at any octet, the session ends the same [MPA-56] [MPA-61] [MPA-117]") {
  for (const Way& way : ways()) {
    const auto stream = record(way);
    const View all(stream);
    for (std::size_t cut = 0; cut <= stream.size(); cut += way.stride) {
      CAPTURE(cut);
      Player player(way);
      player.play(all.first(cut));
      player.play(all.subspan(cut));
      CHECK(player.end->qp->state() == QpState::kRts);
      player.check_delivered();
      CHECK(player.delivered == 4);
      CHECK(word(player.memory.counter) == 1);
      CHECK(player.memory.target->address[way.size - 1] == pattern(way.size - 1));
      player.finish();
      CHECK(player.end->qp->state() == QpState::kIdle);
    }
  }
}

TEST_CASE("of a truncated session only complete messages arrive [MPA-59, MPA-61, DDP-52, VRB-8]") {
  for (const Way& way : ways()) {
    const auto stream = record(way);
    for (std::size_t length = 0; length < stream.size(); length += way.stride) {
      CAPTURE(length);
      Player player(way);
      player.play(View(stream).first(length));
      player.finish();
      player.check_delivered();
      if (way.plain) CHECK(player.delivered == sends_before(length, stream));
      CHECK(player.end->qp->state() != QpState::kRts);
      CHECK_FALSE(player.end->connection->timeout().has_value());
    }
  }
}

TEST_CASE(
    "with CRC no flipped bit causes wrong data, or any data after it, to be delivered [MPA-46] "
    "[MPA-59] [MPA-113] [DDP-81]") {
  for (const Way& way : ways()) {
    if (!is_verified(way)) continue;
    const auto stream = record(way);
    for_each_flip(way, stream, [&](Player& player, std::size_t bit) {
      player.check_delivered();
      if (!way.plain || bit < kEnhancedFrame * 8) return;
      CHECK(player.delivered == sends_before(bit / 8, stream));
      CHECK(player.end->qp->state() == QpState::kError);
    });
  }
}

TEST_CASE("without CRC, a flipped bit changes only granted memory [DDP-78, SEC-12, RDMAP-109]") {
  for (const Way& way : ways()) {
    if (is_verified(way)) continue;
    for_each_flip(way, record(way),
                  [](Player& player, std::size_t) { player.check_delivered(false); });
  }
}
