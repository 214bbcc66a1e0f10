// SPDX-License-Identifier: Apache-2.0
// Tests atomic operations of many connections on one 64-bit word, over real sockets and threads.
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "socket_pair.hpp"

using namespace iwarp;
using namespace iwarp::net;
using verbs::SendWr;

namespace {

constexpr std::uint64_t kConnections = 8;
constexpr std::uint64_t kBatch = 50;

// With sanitizers, the full count runs only if IWARP_LONG=1 is set.
std::uint64_t adds_per_connection() {
#ifdef IWARP_SANITIZED
  const char* wanted = std::getenv("IWARP_LONG");
  if (wanted == nullptr || std::string_view(wanted) != "1") return 2'000;
#endif
  return 100'000;
}

struct Word {
  alignas(8) std::array<std::byte, 8> octets{};
  std::atomic_ref<std::uint64_t> ref() {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(octets.data()));
  }
};

/// A connection whose requester `a` is on device `from`. Device `to` holds the peer `b` and the
/// region with the shared word.
struct Client {
  Client(Rnic& from, Rnic& to, Word& word)
      : a(from, 64),
        b(to, 64),
        region(must(
            to.register_memory(*b.pd, std::span<std::byte>(word.octets), Access::kRemoteAtomic))) {
    join(a, b);
    REQUIRE(a.qp->query().extensions);
  }

  // Adds 1 to the word `count` times, in batches. Returns the number of batches whose last addition
  // returned a smaller value than the last addition of the previous batch.
  std::uint64_t add(std::uint64_t count, bool polling) {
    const auto old = a.sge(0, 8);
    const SendWr one{.opcode = WrOpcode::kFetchAdd,
                     .sgl = {&old, 1},
                     .remote = {.rkey = region.stag(), .to = region.to(region.address())},
                     .atomic = {.add_or_swap = 1}};
    const std::vector<SendWr> batch(kBatch, one);
    std::uint64_t backward = 0;
    std::uint64_t last = 0;
    for (std::uint64_t done = 0; done < count; done += kBatch) {
      std::size_t posted = 0;
      REQUIRE_FALSE(a.qp->post_send(batch, posted));
      for (std::uint64_t i = 0; i < kBatch; ++i) {
        const auto wc = polling ? a.spin() : a.completion();
        REQUIRE_EQ(to_string(wc.status), to_string(verbs::WcStatus::kSuccess));
      }
      std::uint64_t value = 0;
      std::memcpy(&value, a.buffer.data(), sizeof value);
      backward += value < last ? 1 : 0;
      last = value;
    }
    return backward;
  }

  End a;
  End b;
  Memory region;
};

}  // namespace

TEST_CASE(
    "eight connections and the program add to one word through eight regions: the sum is exact "
    "[EXT-4] [EXT-40] [EXT-42]") {
  auto from = open_rnic();
  auto to = open_rnic({.workers = 2});
  Word word;
  std::vector<std::unique_ptr<Client>> clients;
  for (std::uint64_t i = 0; i < kConnections; ++i) {
    clients.push_back(std::make_unique<Client>(*from, *to, word));
  }
  const auto count = adds_per_connection();
  std::atomic<std::uint64_t> backward{0};
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < kConnections; ++i) {
    threads.emplace_back([&, i] { backward += clients[i]->add(count, i % 2 == 0); });
  }
  for (std::uint64_t i = 0; i < count; ++i) word.ref().fetch_add(1);
  for (auto& thread : threads) thread.join();
  CHECK_EQ(word.ref().load(), (kConnections + 1) * count);
  CHECK_EQ(backward.load(), 0);
}
