// SPDX-License-Identifier: Apache-2.0
// One end of a stream of datagrams that pass through relay.py.
//   datagrams send|receive ADDRESS RELAY PORT TOTAL
// ADDRESS is an address of this host, and also one of its GIDs. Each end sends its queue pair
// number over TCP to the relay at RELAY and PORT. The relay answers with the queue pair number of
// the other end. The sender sends in batches. The relay tells the receiver how many different
// datagrams it has let pass. The receiver must get exactly those datagrams, each of them intact.
// The relay lets the last datagram pass after all others. At the end the receiver prints how many
// datagrams arrived, and which ones did not.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "control.hpp"
#include "datagram_end.hpp"

namespace {

constexpr std::uint32_t kMax = 1000;

/// The sequence number of a datagram determines its length and its octets.
std::uint32_t length_of(std::uint32_t sequence) {
  constexpr std::uint32_t kSmallest = sizeof sequence;
  return kSmallest + sequence * 2654435761U % (kMax - kSmallest);
}

char octet_of(std::uint32_t sequence, std::uint32_t at) {
  return static_cast<char>(sequence * 31 + at * 7 + (sequence >> 8));
}

/// Exchanges lines with the relay.
class Relay {
 public:
  Relay(const char* host, const char* port) : file_(fdopen(connect_by_tcp(host, port), "r+")) {
    setvbuf(file_, nullptr, _IONBF, 0);
  }
  ~Relay() { std::fclose(file_); }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  void say(std::uint32_t number) {
    check(std::fprintf(file_, "%u\n", number) > 0, "the relay is gone");
  }
  std::uint32_t receive() {
    std::array<char, 32> line{};
    check(std::fgets(line.data(), line.size(), file_) != nullptr, "the relay is gone");
    return static_cast<std::uint32_t>(std::strtoul(line.data(), nullptr, 10));
  }

 private:
  std::FILE* file_;
};

void send_all(End& end, Relay& control, const char* relay, std::uint32_t total) {
  const std::uint32_t peer = control.receive();
  ibv_ah* const ah = end.way_to(gid_of(relay), end.index);
  // The last datagram is a batch by itself.
  for (std::uint32_t first = 0; first <= total;) {
    const std::uint32_t behind = first == total ? total + 1 : std::min(first + kBatch, total);
    for (std::uint32_t n = first; n != behind; ++n) {
      ibv_sge sge = end.slot(n % kBatch, length_of(n));
      auto* const at = end.memory + n % kBatch * kSlot;
      std::memcpy(at, &n, sizeof n);
      for (std::uint32_t i = sizeof n; i != sge.length; ++i) at[i] = octet_of(n, i);
      ibv_send_wr wr = rdma_core_test::datagram(sge, ah, peer, n);
      if (n + 1 != behind) wr.send_flags = 0;
      check(rdma_core_test::post_send(end.qp, wr) == 0, "ibv_post_send");
    }
    end.next();
    control.say(behind);
    check(control.receive() == behind, "the relay misses some");
    first = behind;
  }
}

void receive_all(End& end, Relay& control, std::uint32_t total) {
  for (std::uint64_t n = 0; n != kReceives; ++n) end.post(n, kMax);
  std::vector<bool> seen(total + 1);
  std::uint32_t delivered = 0;
  while (!seen[total]) {
    const std::uint32_t passed = control.receive();
    while (delivered != passed) {
      const ibv_wc wc = end.next();
      const auto* const at = end.memory + wc.wr_id * kSlot + kGrh;
      std::uint32_t n = 0;
      std::memcpy(&n, at, sizeof n);
      check(n <= total && wc.byte_len == kGrh + length_of(n), "a datagram of another length");
      for (std::uint32_t i = sizeof n; i != length_of(n); ++i) {
        check(at[i] == octet_of(n, i), "other octets");
      }
      check(!seen[n], "the same one twice");
      seen[n] = true;
      ++delivered;
      end.post(wc.wr_id, kMax);
    }
    control.say(delivered);
  }
  std::printf("%u of %u delivered, not", delivered, total + 1);
  for (std::uint32_t n = 0; n <= total; ++n) {
    if (!seen[n]) std::printf(" %u", n);
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    check(argc == 6, "usage: datagrams send|receive ADDRESS RELAY PORT TOTAL");
    End end(argv[2]);
    Relay control(argv[3], argv[4]);
    control.say(end.qp->qp_num);
    const auto total = static_cast<std::uint32_t>(std::strtoul(argv[5], nullptr, 10));
    if (std::string(argv[1]) == "send") {
      send_all(end, control, argv[3], total);
    } else {
      receive_all(end, control, total);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "datagrams: %s\n", error.what());
    return 1;
  }
}
