// SPDX-License-Identifier: Apache-2.0
// Tests what the log says at its default level when a program makes a mistake. Each mistake is made
// in a process of its own, because the log contains a reason only once. Runs with IWARP_AS=roce.
#include <doctest/doctest.h>
#include <rdma/rdma_cma.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <regex>

#include "../support/verbs_end.hpp"

namespace {

using namespace rdma_core_test;

const int kSet = ::setenv("IWARP_AS", "roce", 1);

enum class Until : std::uint8_t { kExit, kLine };

/// Runs `mistake` in a child process. Returns what the child writes to standard error until it
/// exits, or until it has written a line. In the latter case, the child does not exit by itself.
std::string said_about(const std::function<void()>& mistake, Until until = Until::kExit) {
  std::array<int, 2> pipe_ends{};
  REQUIRE(::pipe(pipe_ends.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(pipe_ends[1], STDERR_FILENO);
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
    try {
      mistake();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "unexpected: %s\n", error.what());
    }
    if (until == Until::kLine) ::pause();
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  std::string out;
  char octet = 0;
  while (::read(pipe_ends[0], &octet, 1) == 1) {
    out += octet;
    if (until == Until::kLine && octet == '\n') break;
  }
  ::close(pipe_ends[0]);
  if (until == Until::kLine) ::kill(child, SIGKILL);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)) ==
        (until == Until::kLine ? SIGKILL : 0));
  return out;
}

/// Checks that the log contains exactly one line, "iwarp: " and then a text that matches `pattern`.
/// The line may end with the command that explains the error.
void check_line(const std::string& said, const std::string& pattern) {
  static const std::regex kAfterAdvice(R"(; see iwarp explain-error \w+ E\w+\)\n$)");
  static const std::regex kAlone(R"( \(see iwarp explain-error \w+ E\w+\)\n$)");
  const std::string line =
      std::regex_replace(std::regex_replace(said, kAfterAdvice, ")\n"), kAlone, "\n");
  CAPTURE(line);
  CAPTURE(pattern);
  CHECK(std::regex_match(line, std::regex("iwarp: " + pattern + "\n")));
}

struct Hand : VerbsEnd {
  explicit Hand(const EndOptions& options = {}) : VerbsEnd(options) {}
  /// Returns the attributes that connect the queue pair to itself.
  ibv_qp_attr attributes(ibv_qp_state to) const {
    ibv_qp_attr attr = rc_attributes(context, qp, IBV_ACCESS_REMOTE_WRITE, 1);
    attr.qp_state = to;
    attr.min_rnr_timer = 12;
    attr.timeout = 14;
    attr.retry_cnt = attr.rnr_retry = 7;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.hop_limit = 1;
    check(ibv_query_gid(context, 1, 0, &attr.ah_attr.grh.dgid) == 0, "ibv_query_gid");
    return attr;
  }
  int step(ibv_qp_attr attr, int mask) const { return ibv_modify_qp(qp, &attr, mask); }
  void to(ibv_qp_state last) const {
    for (const auto& [state, mask] :
         {std::pair{IBV_QPS_INIT, kToInit}, {IBV_QPS_RTR, kToRtr}, {IBV_QPS_RTS, kToRts}}) {
      if (state <= last) check(step(attributes(state), mask) == 0, "a correct step");
    }
  }
  int post(const ibv_send_wr& wr) const { return post_send(qp, wr); }
};

struct BadStep {
  ibv_qp_state from;
  ibv_qp_state to;
  int mask;
  void (*change)(ibv_qp_attr& attr);
  const char* line;
};
constexpr auto kNothing = [](ibv_qp_attr&) {};
const std::array kBadSteps{
    BadStep{IBV_QPS_RESET, IBV_QPS_INIT, kToInit, [](auto& a) { a.port_num = 2; },
            R"(to INIT: port_num 2: must be 1 \(the device has one port\))"},
    BadStep{IBV_QPS_RESET, IBV_QPS_INIT, kToInit, [](auto& a) { a.pkey_index = 5; },
            R"(to INIT: pkey_index 5: must be 0 \(the port has one P_Key\))"},
    BadStep{IBV_QPS_RESET, IBV_QPS_INIT, kToInit & ~IBV_QP_ACCESS_FLAGS, kNothing,
            R"(RESET to INIT: attr_mask lacks IBV_QP_ACCESS_FLAGS \(.*\))"},
    BadStep{
        IBV_QPS_RESET, IBV_QPS_RTR, kToRtr, kNothing,
        R"(RESET to RTR: not a valid transition \(move the queue pair from RESET to INIT first\))"},
    BadStep{IBV_QPS_RESET, IBV_QPS_UNKNOWN, kToInit, kNothing, R"(RESET to .*: not a valid.*)"},
    BadStep{IBV_QPS_INIT, IBV_QPS_RTR, kToRtr,
            [](auto& a) { a.path_mtu = static_cast<ibv_mtu>(0); },
            R"(to RTR: path_mtu 0: must be from 1 to 5 \(.*\))"},
    BadStep{IBV_QPS_INIT, IBV_QPS_RTR, kToRtr,
            [](auto& a) { a.path_mtu = static_cast<ibv_mtu>(6); },
            R"(to RTR: path_mtu 6: must be from 1 to 5 \(.*\))"},
    BadStep{IBV_QPS_INIT, IBV_QPS_RTR, kToRtr, [](auto& a) { a.min_rnr_timer = 32; },
            R"(to RTR: min_rnr_timer 32: must be from 0 to 31 \(.*\))"},
    BadStep{IBV_QPS_INIT, IBV_QPS_RTR, kToRtr | IBV_QP_ALT_PATH, kNothing,
            R"(INIT to RTR: attr_mask contains IBV_QP_ALT_PATH \(.*\))"},
    BadStep{IBV_QPS_RTR, IBV_QPS_RTS, kToRts | IBV_QP_PATH_MIG_STATE, kNothing,
            R"(RTR to RTS: attr_mask contains IBV_QP_PATH_MIG_STATE \(.*\))"},
    BadStep{IBV_QPS_INIT, IBV_QPS_RTR, kToRtr, [](auto& a) { a.max_dest_rd_atomic = 255; },
            R"(to RTR: max_dest_rd_atomic 255: must be from 0 to 128 \(.*max_qp_rd_atom\))"},
    BadStep{IBV_QPS_INIT, IBV_QPS_RTR, kToRtr, [](auto& a) { a.ah_attr.port_num = 0; },
            R"(to RTR: ah_attr.port_num 0: must be 1 \(.*\))"},
    BadStep{IBV_QPS_INIT, IBV_QPS_RTR, kToRtr, [](auto& a) { a.ah_attr.is_global = 0; },
            R"(to RTR: ah_attr.is_global 0: .*\(set is_global, .* -g 0\))"},
    BadStep{IBV_QPS_INIT, IBV_QPS_RTR, kToRtr, [](auto& a) { a.ah_attr.grh.sgid_index = 99; },
            R"(to RTR: ah_attr.grh.sgid_index 99: the GID table has \d+ entr.* )"
            R"(\(iwarp info --gids.*\))"},
    BadStep{IBV_QPS_INIT, IBV_QPS_RTR, kToRtr, [](auto& a) { a.ah_attr.grh.dgid = {}; },
            R"(to RTR: ah_attr.grh.dgid is zero \(.*\))"},
    BadStep{IBV_QPS_INIT, IBV_QPS_RTR, kToRtr, [](auto& a) { a.dest_qp_num = 1 << 24; },
            R"(to RTR: dest_qp_num 16777216: must be from 0 to 16777215 \(.*\))"},
    BadStep{IBV_QPS_INIT, IBV_QPS_RTR, kToRtr & ~(IBV_QP_AV | IBV_QP_MIN_RNR_TIMER), kNothing,
            R"(INIT to RTR: attr_mask lacks IBV_QP_AV \| IBV_QP_MIN_RNR_TIMER \(.*\))"},
    BadStep{IBV_QPS_INIT, IBV_QPS_RTR, kToRtr | IBV_QP_TIMEOUT, kNothing,
            R"(INIT to RTR: attr_mask contains IBV_QP_TIMEOUT \(.*\))"},
    BadStep{IBV_QPS_RESET, IBV_QPS_INIT, kToInit | 1 << 30, kNothing,
            R"(RESET to INIT: attr_mask contains 0x40000000 \(.*\))"},
    BadStep{IBV_QPS_INIT, IBV_QPS_RTS, kToRts, kNothing,
            R"(INIT to RTS: not a valid transition \(move the queue pair to INIT and RTR first\))"},
    BadStep{IBV_QPS_RTR, IBV_QPS_RTS, kToRts, [](auto& a) { a.retry_cnt = 8; },
            R"(to RTS: retry_cnt 8: must be from 0 to 7 \(.*\))"},
    BadStep{IBV_QPS_RTR, IBV_QPS_RTS, kToRts, [](auto& a) { a.rnr_retry = 8; },
            R"(to RTS: rnr_retry 8: must be from 0 to 7 \(.*\))"},
    BadStep{IBV_QPS_RTR, IBV_QPS_RTS, kToRts, [](auto& a) { a.timeout = 32; },
            R"(to RTS: timeout 32: must be from 0 to 31 \(.*\))"},
    BadStep{IBV_QPS_RTR, IBV_QPS_RTS, kToRts | IBV_QP_CUR_STATE,
            [](auto& a) { a.cur_qp_state = IBV_QPS_INIT; },
            R"(cur_qp_state INIT: the queue pair is in RTR \(.*\))"},
};

// [IBV-427, IBV-450, IBV-452, IBV-463, IBV-465, IBV-466, IBV-467, IBV-468, IBV-469, IBV-471,
// IBV-478, IBV-479]
TEST_CASE("a refused step of a queue pair changes nothing and names the attribute and its range") {
  for (const BadStep& bad : kBadSteps) {
    check_line(said_about([&] {
                 const Hand hand;
                 hand.to(bad.from);
                 ibv_qp_attr attr = hand.attributes(bad.to);
                 bad.change(attr);
                 const ibv_qp_attr before = query(hand.qp);
                 check(hand.step(attr, bad.mask) == EINVAL, "not refused");
                 check(hand.step(attr, bad.mask) == EINVAL, "not refused again");
                 const ibv_qp_attr after = query(hand.qp);
                 check(std::memcmp(&before, &after, sizeof before) == 0, "an attribute changed");
               }),
               "ibv_modify_qp: " + std::string(bad.line));
  }
}

// [IBV-75]
TEST_CASE("the log of the child of a fork says that an object belongs to the parent") {
  check_line(said_about([] {
               const Hand hand;
               const pid_t child = ::fork();
               if (child == 0) ::_exit(hand.post({}) == EIO ? 0 : 1);
               int status = 0;
               check(::waitpid(child, &status, 0) == child && status == 0, "not refused");
             }),
             R"(ibv_post_send: the object belongs to the parent of this process \(.*\))");
}

/// Makes this child process see an RNIC.
void become_rnic() { ::setenv("IWARP_AS", "iwarp", 1); }

TEST_CASE("an RNIC, whose port has a LID, refuses LID 0 of the peer") {
  check_line(said_about([] {
               become_rnic();
               const Hand hand;
               hand.to(IBV_QPS_INIT);
               ibv_qp_attr attr = hand.attributes(IBV_QPS_RTR);
               attr.ah_attr.is_global = 0;
               attr.ah_attr.dlid = 0;
               check(hand.step(attr, kToRtr) == EINVAL, "not refused");
             }),
             R"(ibv_modify_qp: to RTR: ah_attr.is_global 0: dlid 0 is the LID of no port \(.*\))");
}

/// Returns an id with an event channel of its own.
rdma_cm_id* new_id() {
  rdma_cm_id* out = nullptr;
  check(rdma_create_id(rdma_create_event_channel(), &out, nullptr, RDMA_PS_TCP) == 0,
        "rdma_create_id");
  return out;
}

struct BadCall {
  bool (*fails)(Hand& hand);
  const char* line;
};
template <typename Change>
bool no_queue_pair(const Hand& hand, Change change) {
  ibv_qp_init_attr attr{.send_cq = hand.cq, .recv_cq = hand.cq, .qp_type = IBV_QPT_RC};
  change(attr);
  return ibv_create_qp(hand.pd, &attr) == nullptr;
}
const std::array kBadCalls{
    BadCall{[](Hand& h) { return no_queue_pair(h, [](auto& a) { a.cap.max_send_sge = 1000; }); },
            R"(ibv_create_qp: cap.max_send_sge 1000: must be at most \d+)"},
    BadCall{[](Hand& h) { return no_queue_pair(h, [](auto& a) { a.recv_cq = nullptr; }); },
            R"(ibv_create_qp: recv_cq is null \(.*\))"},
    BadCall{[](Hand& h) { return ibv_create_cq(h.context, 0, nullptr, nullptr, 0) == nullptr; },
            R"(ibv_create_cq: cqe 0: must be from 1 to \d+ \(.*max_cqe\))"},
    BadCall{[](Hand& h) { return ibv_create_cq(h.context, 1, nullptr, nullptr, 9) == nullptr; },
            R"(ibv_create_cq: comp_vector 9: must be less than 1, the num_comp_vectors of .*)"},
    BadCall{[](Hand& h) {
              ibv_srq_init_attr attr{.attr = {.max_wr = 1, .max_sge = 1000}};
              return ibv_create_srq(h.pd, &attr) == nullptr;
            },
            R"(ibv_create_srq: max_sge 1000: must be at most \d+)"},
    BadCall{
        [](Hand& h) { return ibv_reg_mr(h.pd, h.memory, 8, IBV_ACCESS_REMOTE_WRITE) == nullptr; },
        R"(ibv_reg_mr: access 0x2: IBV_ACCESS_REMOTE_WRITE .* require IBV_ACCESS_LOCAL_WRITE .*)"},
    BadCall{[](Hand& h) { return ibv_reg_mr(h.pd, h.memory, 0, 0) == nullptr; },
            R"(ibv_reg_mr: addr 0x[0-9a-f]+, length 0: length must be at least 1)"},
    BadCall{[](Hand& h) {
              munmap(h.memory, h.memory_size);
              return ibv_reg_mr(h.pd, h.memory, 8, 0) == nullptr;
            },
            R"(ibv_reg_mr: addr 0x[0-9a-f]+, length 8: a page of the range is not mapped.*)"},
    BadCall{[](Hand& h) {
              ibv_gid gid{};
              return ibv_query_gid(h.context, 1, 99, &gid) != 0;
            },
            R"(ibv_query_gid: index 99: the GID table has \d+ entr.*)"},
    BadCall{[](Hand& h) {
              ibv_ah_attr attr{.port_num = 1};
              return ibv_create_ah(h.pd, &attr) == nullptr;
            },
            R"(ibv_create_ah: is_global 0: .*)"},
    BadCall{
        [](Hand& h) {
          h.to(IBV_QPS_RTS);
          std::array<ibv_sge, 5> sges{};
          return h.post({.sg_list = sges.data(), .num_sge = 5, .opcode = IBV_WR_SEND}) == EINVAL;
        },
        R"(ibv_post_send: num_sge 5: must be at most 4, the cap.max_send_sge of the queue pair)"},
    BadCall{[](Hand& h) {
              h.to(IBV_QPS_RTS);
              return h.post({.opcode = static_cast<ibv_wr_opcode>(12)}) == EINVAL;
            },
            R"(ibv_post_send: opcode 12: unknown operation)"},
    BadCall{[](Hand& h) {
              h.to(IBV_QPS_RTS);
              ibv_sge sge = h.sge(0, 129);
              return h.post({.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_INLINE}) == EINVAL;
            },
            R"(ibv_post_send: IBV_SEND_INLINE with 129 bytes: must be at most 128, )"
            R"(the cap.max_inline_data.*)"},
    BadCall{[](Hand& h) {
              h.to(IBV_QPS_RTS);
              // The peer has no receive, so no request completes or fails before the queue is full.
              ibv_sge sge = h.sge(0, 8);
              const ibv_send_wr send{.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
              int code = 0;
              while (code == 0) code = h.post(send);
              return code == ENOMEM && h.post(send) == ENOMEM;
            },
            R"(ibv_post_send: the send queue is full: cap.max_send_wr is 32 \(.*\))"},
    BadCall{[](Hand&) {
              rdma_conn_param param{.private_data = "hello", .private_data_len = 5};
              return error_of(rdma_connect(new_id(), &param)) == EINVAL;
            },
            R"(rdma_connect: the id is in state Idle \(call rdma_resolve_route\(\) and wait for )"
            R"(RDMA_CM_EVENT_ROUTE_RESOLVED.*\))"},
    BadCall{[](Hand&) {
              ibv_qp_init_attr attr{.qp_type = IBV_QPT_RC};
              return rdma_create_qp(new_id(), nullptr, &attr) != 0;
            },
            R"(rdma_create_qp: the id has no device yet \(.*\))"},
    BadCall{[](Hand&) {
              sockaddr_in any{.sin_family = AF_INET};
              rdma_cm_id* const one = new_id();
              check(rdma_bind_addr(one, reinterpret_cast<sockaddr*>(&any)) == 0, "bind");
              any.sin_port = rdma_get_src_port(one);
              return rdma_bind_addr(new_id(), reinterpret_cast<sockaddr*>(&any)) != 0;
            },
            R"(rdma_bind_addr: 0.0.0.0:\d+ is in use: .* --port-offset 1000\))"},
};

// [RCM-100, RCM-123]
// [IBV-94, IBV-97, IBV-138, IBV-233, IBV-235, IBV-349, IBV-386, IBV-387, IBV-388, IBV-398, IBV-506,
// IBV-532]
TEST_CASE("a refused call names the argument, its value and what is allowed, once for each place") {
  for (const BadCall& bad : kBadCalls) {
    check_line(said_about([&] {
                 Hand hand;
                 check(bad.fails(hand), "the call was not refused");
               }),
               bad.line);
  }
}

/// Makes this process show a card with low limits. Call before the first call of libibverbs.
void show_small_card() {
  const std::string card = R"({"format": 1, "name": "small",
      "device": {"name": "small0", "node_type": 1, "transport": 0},
      "attributes": {"max_mr_size": 1048576}, "port": {"max_mtu": 3}, "gids": ["ipv4 v2"]})";
  const int file = ::memfd_create("card", 0);
  check(::write(file, card.data(), card.size()) == static_cast<ssize_t>(card.size()), "write");
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  check(::setenv("IWARP_LIKE", path.c_str(), 1) == 0 && ::unsetenv("IWARP_AS") == 0, "setenv");
}

const std::array kAboveCard{
    BadCall{[](Hand& h) {
              h.to(IBV_QPS_INIT);
              ibv_qp_attr attr = h.attributes(IBV_QPS_RTR);
              attr.path_mtu = IBV_MTU_2048;
              if (h.step(attr, kToRtr) != EINVAL) return false;
              attr.path_mtu = IBV_MTU_1024;
              return h.step(attr, kToRtr) == 0;
            },
            R"(ibv_modify_qp: to RTR: path_mtu 4: must be from 1 to 3 \(.*max_mtu.*\))"},
    BadCall{
        [](Hand& h) { return error_of(ibv_reg_mr(h.pd, h.memory, (1 << 20) + 1, 0)) == EINVAL; },
        R"(ibv_reg_mr: length 1048577: must be at most 1048576)"},
};

// [IBV-22, IBV-464]
TEST_CASE("a call above a limit of the card is refused") {
  for (const BadCall& bad : kAboveCard) {
    check_line(said_about([&] {
                 show_small_card();
                 Hand hand;
                 check(bad.fails(hand), "the call was not refused");
               }),
               bad.line);
  }
}

// [IBV-104, IBV-112, IBV-118, IBV-236]
TEST_CASE("calls with which programs probe the device are silent") {
  CHECK(said_about([] {
          Hand hand;
          check(no_queue_pair(hand, [](auto& a) { a.cap.max_inline_data = 1 << 20; }), "inline");
          ibv_gid_entry entry{};
          check(ibv_query_gid_ex(hand.context, 1, 99, &entry, 0) != 0, "ibv_query_gid_ex");
          check(ibv_get_pkey_index(hand.context, 1, 0x1234) == -1, "ibv_get_pkey_index");
          ibv_port_attr port{};
          check(ibv_query_port(hand.context, 2, &port) != 0, "ibv_query_port");
          check(ibv_dealloc_pd(hand.pd) == EBUSY, "ibv_dealloc_pd");
          check(ibv_destroy_cq(hand.cq) == EBUSY, "ibv_destroy_cq");
          hand.to(IBV_QPS_INIT);
          int code = 0;
          while (code == 0) code = hand.receive(hand.sge(0, 8));
          check(code == ENOMEM, "ibv_post_recv");
        }).empty());
}

/// Two queue pairs of one process.
struct Pair {
  explicit Pair(void (*change)(ibv_qp_attr& attr)) {
    for (const auto& [end, peer] : {std::pair{&a, &b}, {&b, &a}}) {
      ibv_qp_attr attr = end->attributes(IBV_QPS_INIT);
      attr.dest_qp_num = peer->qp->qp_num;
      change(attr);
      end->bring_up(attr);
    }
  }
  void send() const {
    ibv_sge sge = a.sge(0, 8);
    check(a.post({.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}) == 0, "ibv_post_send");
  }
  Hand a;
  Hand b{{.context = a.context, .pd = a.pd}};
};

TEST_CASE("a message that waits for a receive is reported") {
  check_line(
      said_about(
          [] {
            const Pair pair([](auto&) {});
            pair.send();
          },
          Until::kLine),
      R"(queue pair 0x[0-9a-f]+: a message from the peer has been waiting for two seconds, because no receive is posted .*)");
}

TEST_CASE("a request with another PSN than the program has set is reported once at each end") {
  check_line(said_about(
                 [] {
                   const Pair pair([](auto& attr) { attr.rq_psn = 5; });
                   pair.send();
                   (void)next(pair.a.cq);
                   ::_exit(0);
                 },
                 Until::kExit),
             R"((queue pair 0x[0-9a-f]+ does not accept the connection request from .*: )"
             "sq_psn of the peer is 0x0, "
             "but rq_psn of this end is 0x5 .*\niwarp: ){1,2}"
             R"(queue pair 0x[0-9a-f]+ cannot connect to its peer: .*)");
}

TEST_CASE("a queue pair number that no queue pair has is reported when the request fails") {
  check_line(said_about([] {
               const Pair pair([](auto& attr) { attr.dest_qp_num ^= 0x700000; });
               pair.send();
               (void)next(pair.a.cq);
             }),
             R"(queue pair 0x[0-9a-f]+ cannot connect to its peer: .*)");
  check_line(said_about([] {
               become_rnic();
               const Pair pair([](auto& attr) { attr.dest_qp_num ^= 0x1100; });
               pair.send();
               (void)next(pair.a.cq);
               ::_exit(0);
             }),
             R"((queue pair 0x[0-9a-f]+ cannot connect to its peer: connect to \S+: Connection )"
             R"(refused \(check that dgid [^()]*\)(\niwarp: )?){1,2})");
}

/// Returns an endpoint without an event channel, so that each call with it blocks.
rdma_cm_id* endpoint(const char* port, int flags) {
  rdma_addrinfo hints{.ai_flags = flags, .ai_port_space = RDMA_PS_TCP};
  rdma_addrinfo* found = nullptr;
  check(rdma_getaddrinfo("127.0.0.1", port, &hints, &found) == 0, "rdma_getaddrinfo");
  ibv_qp_init_attr attr{.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
  rdma_cm_id* out = nullptr;
  check(rdma_create_ep(&out, found, nullptr, &attr) == 0, "rdma_create_ep");
  rdma_freeaddrinfo(found);
  return out;
}

/// Accepts a connection, and then waits until it is killed. Writes its port to `port`.
void serve(int port) {
  rdma_cm_id* const listener = endpoint("0", RAI_PASSIVE);
  check(rdma_listen(listener, 1) == 0, "rdma_listen");
  const auto number = ntohs(rdma_get_src_port(listener));
  check(::write(port, &number, sizeof number) == sizeof number, "write");
  rdma_cm_id* id = nullptr;
  check(rdma_get_request(listener, &id) == 0, "rdma_get_request");
  check(rdma_accept(id, nullptr) == 0, "rdma_accept");
  for (;;) ::pause();
}

/// Connects to the server, kills it, and posts a request when the connection is over.
void post_to_the_dead() {
  std::array<int, 2> port_pipe{};
  check(::pipe(port_pipe.data()) == 0, "pipe");
  const pid_t server = ::fork();
  if (server == 0) serve(port_pipe[1]);
  std::uint16_t port = 0;
  check(::read(port_pipe[0], &port, sizeof port) == sizeof port, "read");
  rdma_cm_id* const id = endpoint(std::to_string(port).c_str(), 0);
  check(rdma_connect(id, nullptr) == 0, "rdma_connect");
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
  check(is_readable(id->channel->fd, kTimeoutMs), "the end of the connection");
  check(post_send(id->qp, {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}) == 0,
        "ibv_post_send");
  check(next(id->send_cq).status == IBV_WC_WR_FLUSH_ERR, "a flushed request");
}

TEST_CASE("a request that is posted after the peer was killed is reported") {
  check_line(said_about(post_to_the_dead),
             R"(queue pair 0x[0-9a-f]+: a request was posted after the peer 127.0.0.1:\d+ had )"
             R"(closed the connection or exited \(.*\))");
}

}  // namespace
