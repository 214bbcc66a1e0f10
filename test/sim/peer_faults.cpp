// SPDX-License-Identifier: Apache-2.0
// Tests how a peer can misuse memory. Each case must cause exactly the Terminate in the tables of
// RFC 5040 section 4.8, change no memory, and flush both ends in order.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

constexpr std::size_t kSize = 256;
constexpr Access kAll = kEverything;

// A way to address memory of `end` that the peer must not access, with the codes of the Terminate
// for a Write and for a Read.
struct Case {
  const char* name;
  RemoteAddress (*aim)(End& end, Access right);
  const char* write_code;
  const char* read_code;
};

const std::array kCases{
    Case{"an STag that never was",
         [](End& e, Access) {
           return RemoteAddress{Stag{0x00ABCD00}, remote(e.memory(kSize, kAll)).to};
         },
         "1/1/00", "0/1/00"},
    Case{"STag 0 [VRB-27]",
         [](End& e, Access) { return RemoteAddress{Stag{0}, remote(e.memory(kSize, kAll)).to}; },
         "1/1/00", "0/1/00"},
    Case{"the right index with the wrong key",
         [](End& e, Access) { return wrong_key(remote(e.memory(kSize, kAll)), 1); }, "1/1/00",
         "0/1/00"},
    Case{"a region of another protection domain [SEC-8]",
         [](End& e, Access) { return remote(foreign(e, kSize, 2, 0)); }, "1/1/02", "0/1/03"},
    Case{"a region tied to another queue pair [SEC-9]",
         [](End& e, Access) { return remote(foreign(e, kSize, 1, 8)); }, "1/1/02", "0/1/03"},
    Case{"a region without this right [SEC-18]",
         [](End& e, Access right) {
           const auto other =
               right == Access::kRemoteWrite ? Access::kRemoteRead : Access::kRemoteWrite;
           return remote(e.memory(kSize, Access::kLocalWrite | other));
         },
         "1/1/02", "0/1/02"},
    Case{"one octet in front [SEC-12]",
         [](End& e, Access) { return remote(e.memory(kSize, kAll), SIZE_MAX); }, "1/1/01",
         "0/1/01"},
    Case{"one octet behind [SEC-12]",
         [](End& e, Access) { return remote(e.memory(kSize, kAll), 1); }, "1/1/01", "0/1/01"},
    Case{"one octet behind a zero-based region [VRB-29]",
         [](End& e, Access) { return remote(e.memory(kSize, kAll | Access::kZeroBased), 1); },
         "1/1/01", "0/1/01"},
    Case{"the virtual address of a zero-based region [VRB-29]",
         [](End& e, Access) {
           const Region* region = e.memory(kSize, kAll | Access::kZeroBased);
           return RemoteAddress{stag_of(region), reinterpret_cast<std::uintptr_t>(region->address)};
         },
         "1/1/01", "0/1/01"},
    Case{"an offset that wraps",
         [](End& e, Access) {
           return RemoteAddress{stag_of(e.memory(kSize, kAll)), UINT64_MAX - 3};
         },
         "1/1/03", "0/1/04"},
};

}  // namespace

// [IBV-133, IBV-151, IBV-327]
TEST_CASE(
    "a Write without permission ends in the right DDP code and changes nothing [DDP-24] [DDP-73] "
    "[DDP-74] [DDP-75] [DDP-76] [DDP-77] [DDP-78] [DDP-79] [DDP-83] [DDP-84] [DDP-85] [RDMAP-93] "
    "[RDMAP-107] [RDMAP-108] [RDMAP-109] [VRB-22] [VRB-32]") {
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    Connected pair;
    Region* source = pair.a->memory(kSize, Access::kNone);
    fill_pattern(source);
    Region* inbox = pair.b->memory(kSize, Access::kLocalWrite);
    post_recv(*pair.b, 50, sge(inbox, 0, kSize));
    post_write(*pair.a, 1, sge(source, 0, kSize), c.aim(*pair.b, Access::kRemoteWrite));
    post_send(*pair.a, 2, sge(source, 0, 10));  // The other end silently drops this Send. [DDP-81]
    pair.run();

    check_refused(pair, *pair.b, c.write_code);
    check_repeated(*pair.b, 14, 0);
    CHECK(text(pair.b->completions()) == "50 work request flushed");
    CHECK(all_zero(inbox));
  }
}

// [IBV-127, IBV-134]
TEST_CASE(
    "a Read without permission ends in the right RDMAP code [RDMAP-39] [RDMAP-94] [RDMAP-101] "
    "[RDMAP-102] [RDMAP-103] [RDMAP-104] [RDMAP-105] [VRB-32]") {
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    Connected pair;
    Region* sink = pair.a->memory(kSize, Access::kLocalWrite);
    Region* inbox = pair.b->memory(8, Access::kLocalWrite);
    post_recv(*pair.b, 50, sge(inbox, 0, 8));  // Inbound Sends may overtake Reads. [RDMAP-76]
    const auto aim = c.aim(*pair.b, Access::kRemoteRead);
    post_read(*pair.a, 1, sge(sink, 0, kSize), aim);
    post_read(*pair.a, 2, sge(sink, 0, 8), aim);
    post_send(*pair.a, 3, sge(sink, 0, 0));
    pair.run();

    check_refused(pair, *pair.b, c.read_code);
    check_repeated(*pair.b, 18, 28);
    CHECK(all_zero(sink));
    // Only the oldest outstanding Read fails with an error. The other Reads are flushed. [VRB-14]
    // [VRB-54]
    const auto done = pair.a->completions();
    REQUIRE(done.size() == 3);
    CHECK(done[0].status == (c.read_code[2] == '1' ? WcStatus::kRemoteAccess : WcStatus::kWrFlush));
    CHECK(done[1].status == WcStatus::kWrFlush);
  }
}

// [IBV-474]
TEST_CASE(
    "a queue pair that allows no inbound Writes, Reads or atomics refuses all of them [EXT-67] "
    "[VRB-30]") {
  struct Row {
    Access right;
    void (*post)(End& end, const Sge& local, RemoteAddress at);
  };
  const std::array rows{
      Row{Access::kRemoteWrite,
          [](End& end, const Sge& local, RemoteAddress at) { post_write(end, 2, local, at); }},
      Row{Access::kRemoteRead,
          [](End& end, const Sge& local, RemoteAddress at) { post_read(end, 2, local, at); }},
      Row{Access::kRemoteAtomic, [](End& end, const Sge& local, RemoteAddress at) {
            post_fetch_add(end, 2, local, at, 1);
          }}};
  for (const Row& row : rows) {
    for (const auto& options : {ConnectionOptions{}, acknowledged()}) {
      CAPTURE(static_cast<int>(row.right));
      verbs::QpInit init;
      init.inbound = Access::kNone;
      for (const Row& other : rows) {
        if (other.right != row.right) init.inbound = init.inbound | other.right;
      }
      Connected pair(options, options, {}, {}, init);
      const auto [mine, theirs] = regions(pair, kSize);
      post_recv(*pair.b, 10, sge(theirs, 0, 8));
      post_send(*pair.a, 1, sge(mine, 0, 8));
      row.post(*pair.a, sge(mine, 8, 8), remote(theirs));
      check_refused(pair, *pair.b, "0/2/06");
      // Without acknowledgements, a Write completes when it has been sent.
      const bool is_sent =
          row.right == Access::kRemoteWrite && options.completions == verbs::Completions::kSent;
      CHECK(text(pair.a->completions()) ==
            (is_sent ? "1 success, 2 success" : "1 success, 2 remote invalid request"));
      CHECK(all_zero(theirs));
    }
  }
}

TEST_CASE("a failed receive can be polled when the queue pair has left RTS, not before [VRB-38]") {
  for (const bool too_long : {false, true}) {
    CAPTURE(too_long);
    Connected pair;
    Region* source = pair.a->memory(kSize, Access::kNone);
    Region* inbox = pair.b->memory(kSize, Access::kLocalWrite);
    post_recv(*pair.b, 10, sge(inbox, 0, 100));
    if (!too_long) {
      REQUIRE(pair.b->stags.invalidate(1, 7, stag_of(inbox), false) ==
              verbs::StagTable::Invalidated::kDone);
    }
    auto seen = QpState::kRts;
    pair.b->on_notify = [&] { seen = pair.b->qp->state(); };
    pair.b->cq.arm(verbs::Notify::kNext);
    post_send(*pair.a, 1, sge(source, 0, 101));
    CHECK(completed(pair, *pair.b) ==
          (too_long ? "10 local length error" : "10 local protection error"));
    CHECK(pair.b->notifications == 1);
    CHECK(seen == QpState::kTerminate);
  }
}

TEST_CASE(
    "a long Send in many segments that overruns its buffer changes only the buffer [DDP-71]") {
  const ConnectionOptions options{.max_ulpdu = 128};
  Connected pair(options, options);
  Region* source = pair.a->memory(5000, Access::kNone);
  fill_pattern(source);
  Region* inbox = pair.b->memory(4999, Access::kLocalWrite);
  post_recv(*pair.b, 10, sge(inbox, 0, 4999));
  post_send(*pair.a, 1, sge(source, 0, 5000));
  check_refused(pair, *pair.b, "1/2/05");
  CHECK(text(pair.b->completions()) == "10 local length error");
}

TEST_CASE(
    "Send with Invalidate of an STag that is not this stream's alone is refused, and the STag "
    "lives on [RDMAP-58] [RDMAP-99] [RDMAP-100] [RDMAP-113] [SEC-28]") {
  for (const int kind : {0, 1, 2, 3}) {
    CAPTURE(kind);
    Connected pair;
    Region* source = pair.a->memory(kSize, Access::kNone);
    Region* inbox = pair.b->memory(kSize, Access::kLocalWrite);
    post_recv(*pair.b, 10, sge(inbox, 0, kSize));
    Region* target = kind == 0   ? pair.b->memory(kSize, kAll)     // shared within its PD
                     : kind == 1 ? foreign(*pair.b, kSize, 1, 8)   // of another stream
                                 : foreign(*pair.b, kSize, 2, 7);  // of another PD
    const Stag stag = kind == 3 ? Stag{0x00123400} : stag_of(target);
    post_send_invalidate(*pair.a, 1, sge(source, 0, 8), stag);
    check_refused(pair, *pair.b, "0/1/09");
    CHECK(target->valid.load());
    CHECK(text(pair.b->completions()) == "10 work request flushed");
  }
}
