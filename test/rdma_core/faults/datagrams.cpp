// SPDX-License-Identifier: Apache-2.0
// Datagrams that are lost or delayed when asked: what the receiver gets, and that the sender is not
// told. As RoCE, which is read once per process.
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <utility>

#include "rules.hpp"
#include "support.hpp"

using namespace data;
using faults::rule;

/// The how manieth call from now on finds no room; 0: none.
static std::atomic<int> refused{0};

/// In front of the C library's.
extern "C" int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  if (refused.load() != 0 && refused.fetch_sub(1) == 1) {
    errno = EAGAIN;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_sendmmsg, fd, messages, count, flags));
}

namespace {

[[maybe_unused]] const int kSet = setenv("IWARP_AS", "roce", 1);

using Number = std::uint64_t;
using Numbers = std::vector<Number>;

constexpr std::uint32_t kKey = 0x1234;
constexpr std::size_t kGrh = 40;
constexpr std::size_t kSlot = kGrh + sizeof(Number);
constexpr std::size_t kReceives = 128;

/// A queue pair that is ready for everything, and its own device, queues and memory.
struct Ud {
  Ud()
      : context(open_device()),
        pd(must(ibv_alloc_pd(context))),
        sent(must(ibv_create_cq(context, 64, nullptr, nullptr, 0))),
        received(must(ibv_create_cq(context, kReceives, nullptr, nullptr, 0))),
        memory(kSlot * kReceives),
        mr(must(ibv_reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE))) {
    ibv_qp_init_attr init{.send_cq = sent,
                          .recv_cq = received,
                          .cap = {16, kReceives, 1, 1, sizeof(Number)},
                          .qp_type = IBV_QPT_UD,
                          .sq_sig_all = 1};
    qp = must(ibv_create_qp(pd, &init));
    ordinal = ++made;
    ibv_qp_attr attr{.qp_state = IBV_QPS_INIT, .qkey = kKey, .port_num = 1};
    REQUIRE_EQ(
        ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), 0);
    attr.qp_state = IBV_QPS_RTR;
    REQUIRE_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
    to_rts();
    ibv_ah_attr here{.is_global = 1, .port_num = 1};
    REQUIRE_EQ(ibv_query_gid(context, 1, 0, &here.grh.dgid), 0);
    home = must(ibv_create_ah(pd, &here));
  }
  ~Ud() {
    end();
    CHECK_EQ(ibv_destroy_ah(home), 0);
    CHECK_EQ(ibv_dereg_mr(mr), 0);
    CHECK_EQ(ibv_destroy_cq(sent), 0);
    CHECK_EQ(ibv_destroy_cq(received), 0);
    CHECK_EQ(ibv_dealloc_pd(pd), 0);
    CHECK_EQ(ibv_close_device(context), 0);
  }
  Ud(const Ud&) = delete;
  Ud& operator=(const Ud&) = delete;
  void end() {
    if (ibv_qp* const ending = std::exchange(qp, nullptr)) CHECK_EQ(ibv_destroy_qp(ending), 0);
  }
  void to_rts() const {
    ibv_qp_attr attr{.qp_state = IBV_QPS_RTS};
    REQUIRE_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
  }
  void post_receives() const {
    for (std::size_t slot = 0; slot < kReceives; ++slot) {
      ibv_sge sge{.addr = reinterpret_cast<std::uint64_t>(memory.data() + slot * kSlot),
                  .length = kSlot,
                  .lkey = mr->lkey};
      ibv_recv_wr wr{.wr_id = slot, .sg_list = &sge, .num_sge = 1};
      ibv_recv_wr* bad = nullptr;
      REQUIRE_EQ(ibv_post_recv(qp, &wr, &bad), 0);
    }
  }
  ibv_wc_status send(const Ud& to, Number number, std::uint32_t length = sizeof(Number)) const {
    const bool is_inline = length == sizeof number;
    ibv_sge sge{.addr = reinterpret_cast<std::uint64_t>(&number), .length = length};
    ibv_send_wr wr{.wr_id = number, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
    if (is_inline) wr.send_flags = IBV_SEND_INLINE;
    wr.wr.ud = {.ah = home, .remote_qpn = to.qp->qp_num, .remote_qkey = kKey};
    ibv_send_wr* bad = nullptr;
    REQUIRE_EQ(ibv_post_send(qp, &wr, &bad), 0);
    const ibv_wc wc = next(sent);
    CHECK_EQ(wc.wr_id, number);
    return wc.status;
  }
  /// In one list.
  void send_list(const Ud& to, Numbers numbers) const {
    std::vector<ibv_sge> sges(numbers.size());
    std::vector<ibv_send_wr> wrs(numbers.size());
    for (std::size_t i = 0; i != numbers.size(); ++i) {
      sges[i] = {.addr = reinterpret_cast<std::uint64_t>(&numbers[i]), .length = sizeof(Number)};
      wrs[i] = {.wr_id = numbers[i],
                .next = i + 1 != numbers.size() ? &wrs[i + 1] : nullptr,
                .sg_list = &sges[i],
                .num_sge = 1,
                .opcode = IBV_WR_SEND,
                .send_flags = IBV_SEND_INLINE};
      wrs[i].wr.ud = {.ah = home, .remote_qpn = to.qp->qp_num, .remote_qkey = kKey};
    }
    ibv_send_wr* bad = nullptr;
    REQUIRE_EQ(ibv_post_send(qp, wrs.data(), &bad), 0);
    for (const Number number : numbers) CHECK_EQ(success(sent).wr_id, number);
  }
  /// Datagrams of these numbers; the sender sees no difference between them.
  void send_all(const Ud& to, const Numbers& numbers) const {
    for (const Number number : numbers) REQUIRE_EQ(send(to, number), IBV_WC_SUCCESS);
  }
  /// The numbers of the next datagrams, in the order in which they came.
  Numbers take(std::size_t count) const {
    Numbers out;
    while (out.size() != count) {
      const ibv_wc wc = success(received);
      REQUIRE_EQ(wc.byte_len, kSlot);
      std::memcpy(&out.emplace_back(), memory.data() + wc.wr_id * kSlot + kGrh, sizeof(Number));
    }
    return out;
  }
  std::string named() const { return "qp " + std::to_string(ordinal); }
  void told(ibv_event_type type) const {
    REQUIRE(readable(context->async_fd, kLimit));
    ibv_async_event event{};
    REQUIRE_EQ(ibv_get_async_event(context, &event), 0);
    ibv_ack_async_event(&event);
    CHECK_EQ(event.event_type, type);
  }

  static inline int made = 0;  ///< in this process, which makes no others
  ibv_context* context;
  ibv_pd* pd;
  ibv_cq* sent;
  ibv_cq* received;
  std::vector<std::byte> memory;
  ibv_mr* mr;
  ibv_qp* qp = nullptr;
  ibv_ah* home = nullptr;
  int ordinal = 0;  ///< by which rules name it
};

/// Something waits in the kernel for that queue pair, by the tables of its UDP sockets.
bool has_unread(const Ud& end) {
  for (const char* const table : {"/proc/net/udp", "/proc/net/udp6"}) {
    std::ifstream in(table);
    std::string line;
    while (std::getline(in, line)) {
      unsigned port = 0;
      unsigned unread = 0;
      const int found = std::sscanf(line.c_str(), " %*u: %*[0-9A-F]:%x %*[0-9A-F]:%*x %*x %*x:%x",
                                    &port, &unread);
      if (found == 2 && port == (end.qp->qp_num & 0xFFFF) && unread != 0) return true;
    }
  }
  return false;
}

Numbers up_to(Number last) {
  Numbers out(last);
  std::iota(out.begin(), out.end(), 1);
  return out;
}

Numbers sorted(Numbers numbers) {
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace

TEST_CASE("datagrams that are lost never arrive, and others do, each once") {
  const Ud from;
  const Ud to;
  to.post_receives();
  bool (*is_lost)(Number) = nullptr;
  SUBCASE("each third") {
    rule("every 3 datagrams " + from.named() + " lose");
    is_lost = [](Number n) { return n % 3 == 0; };
  }
  SUBCASE("one") {
    rule("after 7 datagrams " + from.named() + " lose");
    is_lost = [](Number n) { return n == 7; };
  }
  SUBCASE("a range") {
    rule("from 5 to 9 datagrams " + from.named() + " lose");
    is_lost = [](Number n) { return n >= 5 && n <= 9; };
  }
  SUBCASE("that is delayed by another rule") {
    rule("after 2 datagrams " + from.named() + " lose");
    rule("after 2 datagrams " + from.named() + " delay 1us");
    is_lost = [](Number n) { return n == 2; };
  }
  SUBCASE("of another queue pair") {
    rule("every 1 datagram " + to.named() + " lose");
    is_lost = [](Number) { return false; };
  }
  from.send_all(to, up_to(30));
  Numbers expected = up_to(30);
  std::erase_if(expected, is_lost);
  CHECK_EQ(sorted(to.take(expected.size())), expected);
}

TEST_CASE("datagrams that are delayed arrive, whole and once, behind others that left later") {
  const Ud from;
  const Ud to;
  to.post_receives();
  rule("every 3 datagrams " + from.named() + " delay 100ms");
  from.send_all(to, up_to(60));
  const Numbers order = to.take(60);
  CHECK_FALSE(std::ranges::is_sorted(order));
  CHECK_EQ(sorted(order), up_to(60));
}

TEST_CASE("what is delayed when its queue pair is destroyed never arrives") {
  Ud gone;
  const Ud from;
  const Ud to;
  to.post_receives();
  rule("after 1 datagram " + gone.named() + " delay 2000ms");
  rule("after 1 datagram " + from.named() + " delay 2001ms");
  gone.send_all(to, {1});
  gone.end();
  from.send_all(to, {2});
  // The first would have left before the second.
  CHECK_EQ(to.take(1), Numbers{2});
}

TEST_CASE("while the port is down, datagrams are lost") {
  const Ud from;
  const Ud to;
  to.post_receives();
  rule("now port down");
  from.told(IBV_EVENT_PORT_ERR);
  from.send_all(to, {1, 2, 3});
  rule("now port up");
  from.told(IBV_EVENT_PORT_ACTIVE);
  from.send_all(to, {4});
  CHECK_EQ(to.take(1), Numbers{4});
}

TEST_CASE("what comes while the port is down is lost, too") {
  const Ud from;
  const Ud to;
  from.send_all(to, {1, 2, 3});  // No receive is posted, so that they wait.
  REQUIRE(has_unread(to));
  rule("now port down");
  to.told(IBV_EVENT_PORT_ERR);
  to.post_receives();
  ibv_wc none{};
  while (has_unread(to)) REQUIRE_EQ(ibv_poll_cq(to.received, 1, &none), 0);
  rule("now port up");
  to.told(IBV_EVENT_PORT_ACTIVE);
  from.send_all(to, {4});
  CHECK_EQ(to.take(1), Numbers{4});
}

TEST_CASE("a request that is no datagram is not counted") {
  const Ud from;
  const Ud to;
  to.post_receives();
  rule("after 2 datagrams " + from.named() + " lose");
  from.send_all(to, {1});
  CHECK_EQ(from.send(to, 2, 1 << 20), IBV_WC_LOC_LEN_ERR);
  from.to_rts();
  from.send_all(to, {3, 4});
  CHECK_EQ(sorted(to.take(2)), Numbers{1, 4});
}

TEST_CASE("a datagram for which the kernel has no room at first is counted once") {
  const Ud from;
  const Ud to;
  to.post_receives();
  rule("after 2 datagrams " + from.named() + " lose");
  rule("after 4 datagrams " + from.named() + " lose");
  int nth = 0;
  SUBCASE("the first of a list") { nth = 1; }
  SUBCASE("one behind another") { nth = 2; }
  refused = nth;
  from.send_list(to, {1, 2, 3, 4, 5});
  CHECK_EQ(refused.load(), 0);
  CHECK_EQ(sorted(to.take(3)), Numbers{1, 3, 5});
}
