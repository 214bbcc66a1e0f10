// SPDX-License-Identifier: Apache-2.0
// Tests memory at either end that the program unmaps, protects or truncates while it is registered.
// The connection that accesses the memory ends with a Terminate and one log line, and nothing else
// is affected.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <mutex>
#include <string>

#include "iwarp/mpa/fpdu.hpp"
#include "socket_pair.hpp"

using namespace iwarp;
using namespace iwarp::net;
using namespace iwarp::verbs;

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPages = 8;
constexpr std::size_t kSize = kPages * kPage;

// The first address for the pages. It is far from the addresses that the kernel chooses, so after a
// test has unmapped its pages, no other code maps memory at their addresses. Sanitizers allow no
// mappings at kPlace, so in a build with a sanitizer kPlace is 0 and the kernel chooses the
// address.
#ifdef IWARP_SANITIZED
constexpr std::uintptr_t kPlace = 0;
#else
constexpr std::uintptr_t kPlace = 0x2000'0000'0000;
#endif
std::uintptr_t next_place = 0;

/// What the program does to registered memory.
enum class Loss : std::uint8_t { kUnmapped, kNoRights, kReadOnly, kCutShort };
constexpr std::array kAllLosses{Loss::kUnmapped, Loss::kNoRights, Loss::kReadOnly, Loss::kCutShort};

/// Pages of a file that are registered with all access rights.
class LostPages {
 public:
  explicit LostPages(End& owner) : fd_(::memfd_create("pages", MFD_CLOEXEC)) {
    REQUIRE_EQ(::ftruncate(fd_.get(), kSize), 0);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a place, not an object
    auto* const wanted =
        reinterpret_cast<void*>(kPlace == 0 ? 0 : kPlace + 2 * kSize * next_place++);
    auto* const at = ::mmap(wanted, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    REQUIRE_NE(at, MAP_FAILED);
    base_ = static_cast<std::byte*>(at);
    memory_ = must(owner.rnic.register_memory(
        *owner.pd, std::span(base_, kSize),
        Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic));
  }
  ~LostPages() {
    (void)memory_.deregister();
    ::munmap(base_, kSize);
  }
  LostPages(const LostPages&) = delete;
  LostPages& operator=(const LostPages&) = delete;

  void lose(Loss how, std::size_t from = 0) {
    std::byte* const at = base_ + from;
    const std::size_t size = kSize - from;
    switch (how) {
      case Loss::kUnmapped:
        REQUIRE_EQ(::munmap(at, size), 0);
        if (kPlace == 0) {  // Prevents other code in this process from mapping this address.
          REQUIRE_EQ(::mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), at);
        }
        break;
      case Loss::kNoRights:
        REQUIRE_EQ(::mprotect(at, size, PROT_NONE), 0);
        break;
      case Loss::kReadOnly:
        REQUIRE_EQ(::mprotect(at, size, PROT_READ), 0);
        break;
      case Loss::kCutShort:
        REQUIRE_EQ(::ftruncate(fd_.get(), static_cast<off_t>(from)), 0);
        break;
    }
  }

  verbs::Sge sge(std::size_t at, std::size_t length) {
    return {.address = base_ + at,
            .length = static_cast<std::uint32_t>(length),
            .lkey = memory_.stag()};
  }
  verbs::RemoteAddress remote(std::size_t at) {
    return {.rkey = memory_.stag(), .to = memory_.to(base_ + at)};
  }
  std::byte* base() { return base_; }

 private:
  UniqueFd fd_;
  std::byte* base_ = nullptr;
  Memory memory_;
};

std::mutex lines_lock;
std::vector<std::string> lines;

void remember(const char* line) {
  const std::lock_guard lock(lines_lock);
  lines.emplace_back(line);
}

/// Two connections: one that will end, and one that must not be affected.
struct Two {
  explicit Two(const verbs::ConnectionOptions& how = {})
      : pair(kSize, {.warn = remember}, {"127.0.0.1", 0}, {.connection = how}),
        beside_a(*pair.rnic, 64, 3),
        beside_b(*pair.rnic, 64, 4) {
    lines.clear();
    pair.connect({.connection = how});
    join(beside_a, beside_b);
  }

  /// Checks that the first connection has ended, that the log gives the reason, and that the other
  /// connection still works. `teller` is the end that lost its memory.
  void check_end(End& teller, End& receiver, bool with_terminate = true,
                 std::size_t least_lines = 1) {
    expect(*teller.cm, Type::kDisconnected);
    expect(*receiver.cm, Type::kDisconnected);
    if (with_terminate) {
      REQUIRE(receiver.qp->query().terminate_received.has_value());
      CHECK_EQ(receiver.qp->query().terminate_received->fault,
               bytes::Fault{bytes::Layer::kRdma, 0, 0});
    }
    {
      const std::lock_guard lock(lines_lock);
      REQUIRE_GE(lines.size(), least_lines);
      REQUIRE_LE(lines.size(), 1);
      for (const auto& line : lines) {
        CHECK_NE(line.find("was unmapped, protected or truncated"), std::string::npos);
      }
    }
    beside_a.perform(WrOpcode::kWrite, 0, 64, beside_b.remote(0));
    beside_a.perform(WrOpcode::kRead, 0, 64, beside_b.remote(0));
  }

  Pair pair;
  End beside_a;
  End beside_b;
};

std::error_code post_from(End& end, WrOpcode opcode, const verbs::Sge& one,
                          verbs::RemoteAddress to = {}) {
  return end.qp->post_send({.wr_id = 7,
                            .opcode = opcode,
                            .sgl = std::span(&one, 1),
                            .remote = to,
                            .atomic = {.add_or_swap = 1}});
}

void expect_status(End& end, WcStatus status) {
  CHECK_EQ(to_string(end.completion().status), to_string(status));
}

verbs::ConnectionOptions options_with(bool crc, verbs::Placement placement) {
  verbs::ConnectionOptions out;
  out.startup.crc = crc;
  out.placement = placement;
  out.max_ulpdu = mpa::kMaxMulpdu;
  return out;
}

}  // namespace

TEST_CASE("a Write, Read or atomic of unmapped memory ends only its own connection [RDMAP-92]") {
  for (const Loss how : kAllLosses) {
    for (const WrOpcode opcode : {WrOpcode::kWrite, WrOpcode::kRead, WrOpcode::kFetchAdd}) {
      if (how == Loss::kReadOnly && opcode == WrOpcode::kRead) continue;
      const bool atomic = opcode == WrOpcode::kFetchAdd;
      for (const std::size_t size : {std::size_t{8}, std::size_t{64}, kSize}) {
        if (atomic && size != 8) continue;
        for (const auto& options : {options_with(true, verbs::Placement::kVerified),
                                    options_with(true, verbs::Placement::kDirect),
                                    options_with(false, verbs::Placement::kVerified)}) {
          CAPTURE(static_cast<int>(how));
          CAPTURE(static_cast<int>(opcode));
          CAPTURE(size);
          CAPTURE(options.startup.crc);
          Two two(options);
          LostPages lost(two.pair.b);
          lost.lose(how);
          REQUIRE_FALSE(post_from(two.pair.a, opcode, two.pair.a.sge(0, size), lost.remote(0)));
          two.check_end(two.pair.b, two.pair.a);
          if (opcode == WrOpcode::kRead) expect_status(two.pair.a, WcStatus::kWrFlush);
        }
      }
    }
  }
}

TEST_CASE("a Write to a region whose second half is unmapped fails where that half begins") {
  Two two;
  LostPages target(two.pair.b);
  target.lose(Loss::kUnmapped, kSize / 2);
  two.pair.a.perform(WrOpcode::kWrite, 0, kSize / 2, target.remote(0));
  two.pair.a.perform(WrOpcode::kRead, 0, kSize / 2, target.remote(0));
  REQUIRE_FALSE(two.pair.a.post(WrOpcode::kWrite, 0, kSize, target.remote(0)));
  two.check_end(two.pair.b, two.pair.a);
}

TEST_CASE("a Send into a receive whose memory is unmapped fails that receive [VRB-54]") {
  for (const Loss how : kAllLosses) {
    CAPTURE(static_cast<int>(how));
    Two two;
    LostPages sink(two.pair.b);
    const auto one = sink.sge(0, kSize);
    REQUIRE_FALSE(two.pair.b.qp->post_recv({.wr_id = 9, .sgl = std::span(&one, 1)}));
    sink.lose(how);
    REQUIRE_FALSE(two.pair.a.post(WrOpcode::kSend, 0, kSize));
    two.check_end(two.pair.b, two.pair.a);
    expect_status(two.pair.b, WcStatus::kLocalProtection);
  }
}

TEST_CASE("a Read or an atomic into unmapped local memory fails that request [VRB-54]") {
  for (const Loss how : kAllLosses) {
    for (const WrOpcode opcode : {WrOpcode::kRead, WrOpcode::kFetchAdd}) {
      CAPTURE(static_cast<int>(how));
      CAPTURE(static_cast<int>(opcode));
      Two two;
      LostPages sink(two.pair.a);
      LostPages target(two.pair.b);
      sink.lose(how);
      const auto size = opcode == WrOpcode::kRead ? kSize : 8;
      REQUIRE_FALSE(post_from(two.pair.a, opcode, sink.sge(0, size), target.remote(0)));
      two.check_end(two.pair.a, two.pair.b);
      expect_status(two.pair.a, WcStatus::kLocalProtection);
    }
  }
}

TEST_CASE("sending from unmapped local memory fails the request [VRB-54]") {
  for (const auto completions : {Completions::kSent, Completions::kAcknowledged}) {
    for (const Loss how : kAllLosses) {
      if (how == Loss::kReadOnly) continue;
      for (const WrOpcode opcode : {WrOpcode::kSend, WrOpcode::kWrite}) {
        for (const std::size_t size : {std::size_t{64}, std::size_t{2000}, kSize}) {
          CAPTURE(static_cast<int>(how));
          CAPTURE(static_cast<int>(opcode));
          CAPTURE(size);
          auto options = options_with(true, verbs::Placement::kVerified);
          options.completions = completions;
          Two two(options);
          LostPages source(two.pair.a);
          two.pair.b.post_recv(0, kSize);
          source.lose(how);
          REQUIRE_FALSE(post_from(two.pair.a, opcode, source.sge(0, size), two.pair.b.remote(0)));
          two.check_end(two.pair.a, two.pair.b);
          expect_status(two.pair.a, WcStatus::kLocalProtection);
        }
      }
    }
  }
}

TEST_CASE("without a CRC the kernel first accesses the memory, in the middle of an FPDU: a reset") {
  for (const Loss how : {Loss::kUnmapped, Loss::kNoRights, Loss::kCutShort}) {
    CAPTURE(static_cast<int>(how));
    Two two(options_with(false, verbs::Placement::kVerified));
    LostPages source(two.pair.a);
    source.lose(how, kSize / 2);
    REQUIRE_FALSE(
        post_from(two.pair.a, WrOpcode::kWrite, source.sge(0, kSize), two.pair.b.remote(0)));
    two.check_end(two.pair.a, two.pair.b, false);
    expect_status(two.pair.a, WcStatus::kLocalProtection);
  }
}

TEST_CASE("memory is unmapped before it is deregistered, while requests are in progress") {
  for (const bool crc : {true, false}) {
    auto options = options_with(crc, verbs::Placement::kVerified);
    options.receive_hold = kLimit;
    Two two(options);
    {
      LostPages source(two.pair.a);
      // The peer has posted no receive. The loop fills the send queue with more data than TCP can
      // buffer.
      const std::vector<verbs::Sge> pieces(verbs::QpLimits{}.max_send_sge, source.sge(0, kSize));
      while (!two.pair.a.qp->post_send({.opcode = WrOpcode::kSend, .sgl = pieces})) {
      }
      source.lose(Loss::kUnmapped);
    }
    // With a CRC, framing has already copied the data, so the sender accesses the lost memory only
    // after the peer has consumed the first message. Without a CRC, TCP may just have accepted all
    // framed data, because the peer reads behind a waiting message. A receive lets the peer consume
    // that message. The connection may also end before the sender accesses the lost memory.
    const verbs::Sge one = two.pair.b.sge(0, 64);
    (void)two.pair.b.qp->post_recv({.sgl = std::span(&one, 1)});
    two.check_end(two.pair.a, two.pair.b, false, 0);
  }
}

namespace {

std::atomic<int> own_faults{0};
sigjmp_buf own_place;

void own_handler(int signal) {
  own_faults += signal == SIGSEGV ? 1 : 100;
  siglongjmp(own_place, 1);
}

// Runs in a separate process, so that its first Rnic finds a handler already installed.
int use_own_handler() {
  struct sigaction action{};
  action.sa_handler = own_handler;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
  Two two;
  LostPages pages(two.pair.b);
  pages.lose(Loss::kNoRights);
  const auto fault = [&] {
    if (sigsetjmp(own_place, 1) == 0) *const_cast<volatile std::byte*>(pages.base()) = {};
  };
  fault();
  REQUIRE_FALSE(two.pair.a.post(WrOpcode::kWrite, 0, 64, pages.remote(0)));
  two.check_end(two.pair.b, two.pair.a);
  fault();
  if (sigsetjmp(own_place, 1) == 0) ::raise(SIGBUS);
  return own_faults == 102 ? 0 : 1;
}

}  // namespace

TEST_CASE("the program's own signal handler still gets the faults that the library did not cause") {
  CHECK_EQ(use_own_handler(), 0);
}
