// SPDX-License-Identifier: Apache-2.0
// Tests a request that fails at this end or is refused by the peer, while requests of every kind
// before it are still in flight. The requests before it are carried out and complete as if there
// were no error; the requests behind it are flushed.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

constexpr std::size_t kSize = 3000;

/// A connected pair, and the memory that the requests use.
struct Scene {
  Scene(const ConnectionOptions& options, const LinkOptions& link)
      : pair(options, {}, link),
        a(*pair.a),
        b(*pair.b),
        is_acknowledged(options.completions == verbs::Completions::kAcknowledged) {
    fill_pattern(mine);
    fill_pattern(source, 5);
    for (const std::uint64_t id : {20U, 21U}) post_recv(b, id, sge(inbox, 0, kSize));
  }

  /// Posts the requests 1 to 7, which the peer accepts. If not `all_signaled`, only the last one is
  /// signaled.
  void post_good(bool all_signaled) {
    const auto flags = all_signaled ? SendFlags::kSignaled : SendFlags::kNone;
    post_send(a, 1, sge(mine, 0, kSize), flags);
    post_write(a, 2, sge(mine, 0, kSize), remote(target), flags);
    post_read(a, 3, sge(sink, 0, kSize), remote(source), flags);
    post_fetch_add(a, 4, sge(old, 0, 8), remote(counter), 1, flags);
    const std::array parts{sge(sink, 0, 100), sge(sink, 200, 100)};
    post(a, 5, WrOpcode::kRead, flags, {.sgl = parts, .remote = remote(source)});
    post_local_invalidate(a, 6, stag_of(unused), flags);
    post_write_immediate(a, 7, sge(mine, 0, 8), remote(target), 5);
  }
  void check_good(bool all_signaled) {
    const auto done = a.completions();
    const std::string good =
        all_signaled ? "1 success, 2 success, 3 success, 4 success, 5 success, 6 success, 7 success"
                     : "7 success";
    completions = text(done);
    CHECK(completions.starts_with(good));
    CHECK(same(mine, inbox, kSize));
    CHECK(same(mine, target, kSize));
    CHECK(std::equal(sink->address + 200, sink->address + 300, source->address + 100));
    CHECK(std::equal(sink->address + 300, sink->address + kSize, source->address + 300));
    CHECK(word(counter) == 1);
    CHECK_FALSE(unused->valid.load());
    CHECK(text(b.completions()).starts_with("20 success, 21 success"));
  }

  Connected pair;
  End& a;
  End& b;
  const bool is_acknowledged;
  Region* mine = a.memory(kSize, kEverything);
  Region* sink = a.memory(kSize, kEverything);
  Region* old = a.memory(8, kEverything);
  Region* unused = a.memory(8, kEverything);
  Region* read_only = a.memory(8, Access::kNone);
  Region* target = b.memory(kSize, kEverything);
  Region* source = b.memory(kSize, kEverything);
  Region* counter = b.memory(8, kEverything);
  Region* inbox = b.memory(kSize, kEverything);
  std::string completions;
};

struct Wrong {
  const char* name;
  void (*post)(Scene& s);
  const char* status;
  /// Whether the request may complete before the peer refuses it, unless completions are
  /// acknowledged.
  bool may_succeed = false;
};

Sge wrong_lkey(const Region* region) { return wrong_key(sge(region, 0, 8)); }
RemoteAddress wrong_rkey(const Region* region) { return wrong_key(remote(region)); }

const std::array kWrongHere{
    Wrong{"Send with a wrong lkey", [](Scene& s) { post_send(s.a, 8, wrong_lkey(s.mine)); },
          "local protection error"},
    Wrong{"Write of more than the region",
          [](Scene& s) { post_write(s.a, 8, sge(s.mine, 1, kSize), remote(s.target)); },
          "local protection error"},
    Wrong{"Read into memory that is not writable",
          [](Scene& s) { post_read(s.a, 8, sge(s.read_only, 0, 8), remote(s.source)); },
          "local protection error"},
    Wrong{"atomic with a wrong lkey",
          [](Scene& s) { post_fetch_add(s.a, 8, wrong_lkey(s.old), remote(s.counter), 1); },
          "local protection error"},
    Wrong{"unsignaled Send with a wrong lkey",
          [](Scene& s) { post_send(s.a, 8, wrong_lkey(s.mine), SendFlags::kNone); },
          "local protection error"},
    Wrong{"Send from a region that request 6 invalidates",
          [](Scene& s) { post_send(s.a, 8, sge(s.unused, 0, 8)); }, "local protection error"},
    Wrong{"bind of a region as a window",
          [](Scene& s) { post_bind(s.a, 8, s.mine, 0, s.old, 0, 8, Access::kNone); },
          "memory window bind error"},
    Wrong{"local invalidate of no region",
          [](Scene& s) { post_local_invalidate(s.a, 8, Stag{0x5500}); },
          "memory window bind error"},
};

const std::array kWrongThere{
    Wrong{"Read with a wrong rkey",
          [](Scene& s) { post_read(s.a, 8, sge(s.old, 0, 8), wrong_rkey(s.source)); },
          "remote access error"},
    Wrong{"atomic with a wrong rkey",
          [](Scene& s) { post_fetch_add(s.a, 8, sge(s.old, 0, 8), wrong_rkey(s.counter), 1); },
          "remote access error"},
    Wrong{"FetchAdd that is not aligned",
          [](Scene& s) { post_fetch_add(s.a, 8, sge(s.old, 0, 8), remote(s.target, 4), 1); },
          "remote invalid request"},
    Wrong{"CmpSwap that is not aligned",
          [](Scene& s) { post_cmp_swap(s.a, 8, sge(s.old, 0, 8), remote(s.target, 4), 0, 1); },
          "remote invalid request"},
    Wrong{"Write with a wrong rkey",
          [](Scene& s) { post_write(s.a, 8, sge(s.mine, 0, 8), wrong_rkey(s.target)); },
          "remote access error", true},
    Wrong{"Send without a receive", [](Scene& s) { post_send(s.a, 8, sge(s.mine, 0, 8)); },
          "receiver not ready", true},
    Wrong{"Write with Immediate without a receive",
          [](Scene& s) { post_write_immediate(s.a, 8, sge(s.mine, 0, 8), remote(s.target), 5); },
          "receiver not ready", true},
    Wrong{"Send with an STag that cannot be invalidated",
          [](Scene& s) {
            post_recv(s.b, 22, sge(s.inbox, 0, 8));
            post_send_invalidate(s.a, 8, sge(s.mine, 0, 8), stag_of(s.target));
          },
          "remote access error", true},
    Wrong{"Send that is too long",
          [](Scene& s) {
            post_recv(s.b, 22, sge(s.inbox, 0, 8));
            post_send(s.a, 8, sge(s.mine, 0, 9));
          },
          "remote invalid request", true},
};

ConnectionOptions departing(ConnectionOptions o) {
  o.local_errors = verbs::LocalErrors::kDepart;
  return o;
}

/// Calls `check` for each way in which requests complete and an end reports its errors, and for
/// links that cut the stream at different octets.
template <typename Check>
void for_each_way(Check check) {
  for (const auto& options : {ConnectionOptions{}, departing({}), acknowledged(),
                              departing(acknowledged()), acknowledged(1), acknowledged(16, 0)}) {
    for (const std::size_t max_segment : {70U, 1000U, 100'000U}) {
      for (const bool all_signaled : {true, false}) {
        INFO("completions ", static_cast<int>(options.completions), ", local errors ",
             static_cast<int>(options.local_errors), ", ord ", options.startup.ord,
             ", max segment ", max_segment, ", all signaled ", all_signaled);
        Scene scene(options, {.seed = 3, .max_segment = max_segment});
        check(scene, all_signaled);
      }
    }
  }
}

}  // namespace

// [IBV-303, IBV-304]
TEST_CASE("requests before a local failure complete [VRB-14, VRB-43, VRB-54]") {
  for (const Wrong& wrong : kWrongHere) {
    CAPTURE(wrong.name);
    for_each_way([&](Scene& s, bool all_signaled) {
      s.post_good(all_signaled);
      wrong.post(s);
      post_send(s.a, 9, sge(s.mine, 0, 8));
      s.pair.run();
      s.check_good(all_signaled);
      CHECK(s.completions.ends_with(std::string("7 success, 8 ") + wrong.status +
                                    ", 9 work request flushed"));
      CHECK(s.a.qp->query().local_error);
    });
  }
}

TEST_CASE(
    "the requests before one that the peer refuses are carried out and complete, and the refused "
    "one fails by itself [RDMAP-37] [RDMAP-45] [RDMAP-78] [RDMAP-99] [EXT-10] [EXT-17] [VRB-45] "
    "[VRB-54]") {
  for (const Wrong& wrong : kWrongThere) {
    CAPTURE(wrong.name);
    for_each_way([&](Scene& s, bool all_signaled) {
      s.post_good(all_signaled);
      wrong.post(s);
      s.pair.run();
      s.check_good(all_signaled);
      if (!wrong.may_succeed || s.is_acknowledged) {
        CHECK(s.completions.ends_with(std::string("7 success, 8 ") + wrong.status));
      }
      CHECK(s.a.qp->query().terminate_received);
    });
  }
}
