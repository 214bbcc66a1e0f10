// SPDX-License-Identifier: Apache-2.0
// One end of many datagrams, which go by way of relay.py.
//   datagrams send|receive ADDRESS RELAY PORT TOTAL
// ADDRESS is its own and one of its GIDs. The relay is told the queue pair's number over TCP at
// RELAY and PORT, and there says the number of the other end's. The one end sends in batches, the
// other is told how many different ones have passed the relay, and must get those, each whole and
// no other; the last datagram passes behind all. It ends by saying how many came, and which did
// not.
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::uint32_t kKey = 0x1A2B3C;
constexpr std::size_t kGrh = 40;
constexpr std::uint32_t kMax = 1000;
constexpr std::uint32_t kSlot = 1088;
constexpr std::uint32_t kBatch = 128;
constexpr std::uint32_t kReceives = 512;
constexpr std::chrono::seconds kTimeout{20};

void check(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(what);
}

ibv_gid gid_of(const char* address) {
  ibv_gid out{.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}};
  if (inet_pton(AF_INET, address, out.raw + 12) == 1) return out;
  check(inet_pton(AF_INET6, address, out.raw) == 1, "an address");
  return out;
}

/// Its length and octets follow from its number.
std::uint32_t length_of(std::uint32_t sequence) {
  constexpr std::uint32_t kSmallest = sizeof sequence;
  return kSmallest + sequence * 2654435761U % (kMax - kSmallest);
}

std::uint8_t octet_of(std::uint32_t sequence, std::uint32_t at) {
  return static_cast<std::uint8_t>(sequence * 31 + at * 7 + (sequence >> 8));
}

/// Lines to the relay and back.
class Control {
 public:
  Control(const char* host, const char* port) {
    addrinfo hints{.ai_socktype = SOCK_STREAM};
    addrinfo* found = nullptr;
    check(getaddrinfo(host, port, &hints, &found) == 0, "getaddrinfo");
    const int fd = socket(found->ai_family, SOCK_STREAM, 0);
    check(connect(fd, found->ai_addr, found->ai_addrlen) == 0, "connect");
    freeaddrinfo(found);
    file_ = fdopen(fd, "r+");
    setvbuf(file_, nullptr, _IONBF, 0);
  }
  ~Control() { std::fclose(file_); }
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
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

struct End {
  explicit End(const char* address) {
    ibv_device** list = ibv_get_device_list(nullptr);
    check(list != nullptr && list[0] != nullptr, "no device");
    context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    check(context != nullptr, "ibv_open_device");
    const ibv_gid own = gid_of(address);
    ibv_gid gid{};
    do {
      check(ibv_query_gid(context, 1, ++index, &gid) == 0, "no GID of that address");
    } while (std::memcmp(gid.raw, own.raw, sizeof gid.raw) != 0);
    pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, 1024, nullptr, nullptr, 0);
    mr = ibv_reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
    check(pd != nullptr && cq != nullptr && mr != nullptr, "objects");
    ibv_qp_init_attr init{.send_cq = cq,
                          .recv_cq = cq,
                          .cap = {.max_send_wr = kBatch,
                                  .max_recv_wr = kReceives,
                                  .max_send_sge = 1,
                                  .max_recv_sge = 1},
                          .qp_type = IBV_QPT_UD};
    qp = ibv_create_qp(pd, &init);
    check(qp != nullptr, "ibv_create_qp");
    ibv_qp_attr attr{.qp_state = IBV_QPS_INIT, .qkey = kKey, .port_num = 1};
    constexpr int kInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
    check(ibv_modify_qp(qp, &attr, kInit) == 0, "INIT");
    attr.qp_state = IBV_QPS_RTR;
    check(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0, "RTR");
    attr.qp_state = IBV_QPS_RTS;
    check(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0, "RTS");
  }
  /// Before the memory goes.
  ~End() {
    ibv_destroy_qp(qp);
    ibv_dereg_mr(mr);
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;
  ibv_sge slot(std::uint64_t n, std::uint32_t length) {
    return {.addr = reinterpret_cast<std::uint64_t>(memory.data() + n * kSlot),
            .length = length,
            .lkey = mr->lkey};
  }
  ibv_wc next() const {
    const auto end = std::chrono::steady_clock::now() + kTimeout;
    ibv_wc wc{};
    while (ibv_poll_cq(cq, 1, &wc) == 0) {
      check(std::chrono::steady_clock::now() < end, "nothing comes any more");
    }
    check(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
    return wc;
  }

  int index = -1;
  std::vector<std::uint8_t> memory = std::vector<std::uint8_t>(std::size_t{kReceives} * kSlot);
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  ibv_mr* mr = nullptr;
  ibv_qp* qp = nullptr;
};

void send_all(End& end, Control& control, const char* relay, std::uint32_t total) {
  const std::uint32_t peer = control.receive();
  ibv_ah_attr attr{.is_global = 1, .port_num = 1};
  attr.grh.dgid = gid_of(relay);
  attr.grh.sgid_index = static_cast<std::uint8_t>(end.index);
  ibv_ah* const ah = ibv_create_ah(end.pd, &attr);
  check(ah != nullptr, "ibv_create_ah");
  // The one behind all others is a batch of its own.
  for (std::uint32_t first = 0; first <= total;) {
    const std::uint32_t behind = first == total ? total + 1 : std::min(first + kBatch, total);
    for (std::uint32_t n = first; n != behind; ++n) {
      ibv_sge sge = end.slot(n % kBatch, length_of(n));
      auto* const at = end.memory.data() + n % kBatch * kSlot;
      std::memcpy(at, &n, sizeof n);
      for (std::uint32_t i = sizeof n; i != sge.length; ++i) at[i] = octet_of(n, i);
      ibv_send_wr wr{.wr_id = n, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
      if (n + 1 == behind) wr.send_flags = IBV_SEND_SIGNALED;
      wr.wr.ud = {.ah = ah, .remote_qpn = peer, .remote_qkey = kKey};
      ibv_send_wr* bad = nullptr;
      check(ibv_post_send(end.qp, &wr, &bad) == 0, "ibv_post_send");
    }
    end.next();
    control.say(behind);
    check(control.receive() == behind, "the relay misses some");
    first = behind;
  }
}

void post(End& end, std::uint64_t slot) {
  ibv_sge sge = end.slot(slot, kGrh + kMax);
  ibv_recv_wr wr{.wr_id = slot, .sg_list = &sge, .num_sge = 1};
  ibv_recv_wr* bad = nullptr;
  check(ibv_post_recv(end.qp, &wr, &bad) == 0, "ibv_post_recv");
}

void receive_all(End& end, Control& control, std::uint32_t total) {
  for (std::uint64_t n = 0; n != kReceives; ++n) post(end, n);
  std::vector<bool> seen(total + 1);
  std::uint32_t delivered = 0;
  while (!seen[total]) {
    const std::uint32_t passed = control.receive();
    while (delivered != passed) {
      const ibv_wc wc = end.next();
      const auto* const at = end.memory.data() + wc.wr_id * kSlot + kGrh;
      std::uint32_t n = 0;
      std::memcpy(&n, at, sizeof n);
      check(n <= total && wc.byte_len == kGrh + length_of(n), "a datagram of another length");
      for (std::uint32_t i = sizeof n; i != length_of(n); ++i) {
        check(at[i] == octet_of(n, i), "other octets");
      }
      check(!seen[n], "the same one twice");
      seen[n] = true;
      ++delivered;
      post(end, wc.wr_id);
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
    Control control(argv[3], argv[4]);
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
