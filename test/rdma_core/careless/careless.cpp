// SPDX-License-Identifier: Apache-2.0
// Small incorrect programs. Each is a function with a mistake. The mistake has no effect here, but
// the program would fail on hardware or with other timing. `careless NAME` runs one of the
// programs. `careless` lists each NAME and the check that must report its mistake. The functions
// named proper_* do the same things correctly.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <thread>

#include "ends.hpp"
#include "programs.hpp"

using namespace careless;

CARELESS(send_changed, "send-changed") {
  const Pair p;
  receive(p.b, p.b.sge(0, 64));
  post(p.a, IBV_WR_SEND, p.a.sge(0, 64), p.b);
  p.a.memory[5] = 'x';
  poll(p.a.cq);
}

CARELESS(write_changed, "send-changed") {
  const Pair p;
  post(p.a, IBV_WR_RDMA_WRITE, p.a.sge(0, 20000), p.b);
  p.a.memory[19999] = 'x';
  poll(p.a.cq);
}

CARELESS(second_piece_changed, "send-changed") {
  const Pair p;
  std::array<ibv_sge, 2> list{p.a.sge(0, 64), p.a.sge(4096, 64)};
  ibv_send_wr wr{.sg_list = list.data(), .num_sge = 2, .opcode = IBV_WR_RDMA_WRITE};
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma = {.remote_addr = p.b.remote(0), .rkey = p.b.mr->rkey};
  ibv_send_wr* bad = nullptr;
  ibv_post_send(p.a.qp, &wr, &bad);
  p.a.memory[4100] = 'x';
  poll(p.a.cq);
}

CARELESS(unsignaled_changed, "send-changed") {
  const Pair p;
  post(p.a, IBV_WR_RDMA_WRITE, p.a.sge(0, 64), p.b, 0);
  p.a.memory[5] = 'x';
  post(p.a, IBV_WR_RDMA_WRITE, p.a.sge(64, 64), p.b);
  poll(p.a.cq);
}

CARELESS(built_changed, "send-changed") {
  const Pair p({.extended = true});
  ibv_qp_ex* const qp = ibv_qp_to_qp_ex(p.a.qp);
  ibv_wr_start(qp);
  qp->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_rdma_write(qp, p.b.mr->rkey, p.b.remote(0));
  ibv_wr_set_sge(qp, p.a.mr->lkey, reinterpret_cast<std::uint64_t>(p.a.memory), 64);
  ibv_wr_complete(qp);
  p.a.memory[5] = 'x';
  poll(p.a.cq);
}

CARELESS(changed_and_polled_by_calls, "send-changed") {
  const Pair p({.extended_cq = true});
  post(p.a, IBV_WR_RDMA_WRITE, p.a.sge(0, 64), p.b);
  p.a.memory[5] = 'x';
  ibv_poll_cq_attr attr{};
  while (ibv_start_poll(p.a.cq_ex, &attr) != 0) {
  }
  ibv_end_poll(p.a.cq_ex);
}

CARELESS(send_received_into, "send-reused") {
  const Pair p;
  post(p.a, IBV_WR_RDMA_WRITE, p.a.sge(0, 64), p.b);
  receive(p.a, p.a.sge(32, 64));
}

CARELESS(send_read_into, "send-reused") {
  const Pair p;
  post(p.a, IBV_WR_RDMA_WRITE, p.a.sge(0, 64), p.b);
  post(p.a, IBV_WR_RDMA_READ, p.a.sge(32, 64), p.b);
}

CARELESS(receive_written, "receive-written") {
  const Pair p;
  receive(p.b, p.b.sge(0, 4096));
  p.b.memory[4000] = 'x';
  post(p.a, IBV_WR_SEND, p.a.sge(0, 64), p.b);
  poll(p.b.cq);
}

CARELESS(shared_receive_written, "receive-written") {
  const Pair p({.shared_receives = true});
  receive(p.b, p.b.sge(0, 4096));
  p.b.memory[4000] = 'x';
  post(p.a, IBV_WR_SEND, p.a.sge(0, 64), p.b);
  poll(p.b.cq);
}

CARELESS(receive_sent, "receive-used") {
  const Pair p;
  const Pair other;
  receive(p.a, p.a.sge(0, 64));
  post(other.a, IBV_WR_RDMA_WRITE, p.a.sge(0, 64), other.b);
}

CARELESS(read_sent_unfenced, "read-unfenced") {
  const Pair p;
  post(p.a, IBV_WR_RDMA_READ, p.a.sge(0, 64), p.b);
  post(p.a, IBV_WR_RDMA_WRITE, p.a.sge(0, 64), p.b);
}

CARELESS(read_sent_elsewhere, "read-unfenced") {
  const Pair p;
  const Pair other;
  post(p.a, IBV_WR_RDMA_READ, p.a.sge(0, 64), p.b);
  post(other.a, IBV_WR_RDMA_WRITE, p.a.sge(0, 64), other.b, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
}

CARELESS(atomic_result_sent, "read-unfenced") {
  const Pair p;
  post(p.a, IBV_WR_ATOMIC_FETCH_AND_ADD, p.a.sge(0, 8), p.b);
  post(p.a, IBV_WR_RDMA_WRITE, p.a.sge(0, 8), p.b, IBV_SEND_SIGNALED, 64);
}

CARELESS(sent_after_deregistration, "used-after-deregistration") {
  const Pair p;
  const ibv_sge sge = p.a.sge(0, 64);
  ibv_dereg_mr(p.a.mr);
  post(p.a, IBV_WR_RDMA_WRITE, sge, p.b);
}

CARELESS(received_after_deregistration, "used-after-deregistration") {
  const Pair p;
  const ibv_sge sge = p.a.sge(0, 64);
  ibv_dereg_mr(p.a.mr);
  receive(p.a, sge);
}

CARELESS(deregistered_while_sent, "deregistered-in-use") {
  const Pair p;
  post(p.a, IBV_WR_RDMA_WRITE, p.a.sge(0, 64), p.b);
  ibv_dereg_mr(p.a.mr);
}

CARELESS(deregistered_while_received, "deregistered-in-use") {
  const Pair p;
  receive(p.a, p.a.sge(0, 64));
  ibv_dereg_mr(p.a.mr);
}

CARELESS(unmapped_and_sent, "unmapped") {
  const Pair p;
  munmap(p.a.memory, kMemory);
  post(p.a, IBV_WR_RDMA_WRITE, p.a.sge(0, 64), p.b);
}

CARELESS(receives_overflow, "cq-overflow") {
  const Pair p({.cqe = 4});
  for (std::size_t i = 0; i < 5; ++i) receive(p.a, p.a.sge(i * 64, 64));
}

CARELESS(sends_overflow, "cq-overflow") {
  const Pair p({.cqe = 4});
  for (std::size_t i = 0; i < 5; ++i) post(p.a, IBV_WR_RDMA_WRITE, p.a.sge(i * 64, 64), p.b);
}

CARELESS(never_signalled, "never-signalled") {
  const Pair p;
  for (std::size_t i = 0; i < 17; ++i) {  // Posts one request more than the queue has room for.
    post(p.a, IBV_WR_RDMA_WRITE, p.a.sge(i * 64, 64), p.b, 0);
  }
}

CARELESS(status_ignored, "status-ignored") {
  const Pair p;
  ibv_sge sge = p.a.sge(0, 64);
  sge.lkey ^= 0xFF;
  post(p.a, IBV_WR_RDMA_WRITE, sge, p.b);
  poll(p.a.cq);
  post(p.a, IBV_WR_RDMA_WRITE, p.a.sge(0, 64), p.b);
}

CARELESS(slept_without_poll, "armed-not-polled") {
  const Pair p;
  ibv_req_notify_cq(p.a.cq, 0);
  post(p.a, IBV_WR_RDMA_WRITE, p.a.sge(0, 64), p.b);
  take_event(p.a);
  poll(p.a.cq);
  ibv_req_notify_cq(p.a.cq, 0);
  post(p.a, IBV_WR_RDMA_WRITE, p.a.sge(0, 64), p.b);
  take_event(p.a);
}

CARELESS(proper_armed_before_event, kCorrect) {  // as a loop does that epoll_wait() wakes up
  const Pair p;
  ibv_req_notify_cq(p.a.cq, 0);
  for (int i = 0; i < 2; ++i) {
    post(p.a, IBV_WR_RDMA_WRITE, p.a.sge(0, 64), p.b);
    pollfd readable{.fd = p.a.channel->fd, .events = POLLIN, .revents = 0};
    check(::poll(&readable, 1, -1) == 1, "poll");
    ibv_req_notify_cq(p.a.cq, 0);
    take_event(p.a);
    poll(p.a.cq);
  }
}

namespace {

/// Arms a queue with two completions, and polls one of them.
CARELESS_INLINE void poll_one_of_two(const Pair& p) {
  // Waits until both ends are connected: while a connection is being set up, the peer of a queue
  // pair that moves to ERR gets a Terminate, and the library logs it.
  post(p.a, IBV_WR_RDMA_READ, p.a.sge(0, 64), p.b);
  poll(p.a.cq);
  for (std::size_t i = 0; i < 2; ++i) receive(p.a, p.a.sge(i * 64, 64));
  // ERR flushes both receives.
  check(rdma_core_test::move_to(p.a.qp, IBV_QPS_ERR) == 0, "ibv_modify_qp");
  ibv_req_notify_cq(p.a.cq, 0);
  poll(p.a.cq);
}

/// A descriptor that is always readable, so that a wait for it and for another one ends at once.
int always_readable() {
  static const int kFd = eventfd(1, 0);
  return kFd;
}

CARELESS_INLINE bool has_event_by_poll(int fd) {
  std::array<pollfd, 2> fds{pollfd{.fd = fd, .events = POLLIN, .revents = 0},
                            pollfd{.fd = always_readable(), .events = POLLIN, .revents = 0}};
  ::poll(fds.data(), fds.size(), -1);
  return fds[0].revents != 0;
}

}  // namespace

CARELESS(one_polled_before_poll, "queue-not-emptied") {
  const Pair p;
  poll_one_of_two(p);
  check(!has_event_by_poll(p.a.channel->fd), "an event");
}

CARELESS(one_polled_before_select, "queue-not-emptied") {
  const Pair p;
  poll_one_of_two(p);
  fd_set readable;
  FD_ZERO(&readable);
  const int fd = p.a.channel->fd;
  FD_SET(fd, &readable);
  FD_SET(always_readable(), &readable);
  select(std::max(fd, always_readable()) + 1, &readable, nullptr, nullptr, nullptr);
  check(!FD_ISSET(fd, &readable), "an event");
}

CARELESS(one_polled_before_epoll, "queue-not-emptied") {
  const Pair p;
  poll_one_of_two(p);
  const int inner = epoll_create1(0);
  const int outer = epoll_create1(0);
  epoll_event event{.events = EPOLLIN, .data = {}};
  epoll_ctl(inner, EPOLL_CTL_ADD, p.a.channel->fd, &event);
  epoll_ctl(inner, EPOLL_CTL_ADD, always_readable(), &event);
  epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event);
  epoll_wait(outer, &event, 1, -1);
}

CARELESS(one_polled_before_event, "queue-not-emptied") {
  const Pair p;
  poll_one_of_two(p);
  receive(p.a, p.a.sge(128, 64));  // is flushed at once, which causes an event
  take_event(p.a);
}

CARELESS(events_not_acknowledged, "events-not-acknowledged") {
  const Pair p;
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  ibv_req_notify_cq(p.a.cq, 0);
  post(p.a, IBV_WR_RDMA_WRITE, p.a.sge(0, 64), p.b);
  ibv_get_cq_event(p.a.channel, &cq, &context);
  poll(p.a.cq);
  ibv_destroy_qp(p.a.qp);
  // ibv_destroy_cq() below waits until this thread acknowledges the event. The thread knows that
  // the call has begun when other calls for the queue fail.
  std::jthread late([cq] {
    while (ibv_resize_cq(cq, 16) == 0) std::this_thread::yield();
    ibv_ack_cq_events(cq, 1);
  });
  ibv_destroy_cq(p.a.cq);
}

CARELESS(posted_too_early, "posted-too-early") {
  const End a(small({}));
  const End b(small({}));
  post(a, IBV_WR_RDMA_WRITE, a.sge(0, 64), b);
}

CARELESS(roce_received_in_reset, "posted-too-early") {
  const End a(small({}));
  receive(a, a.sge(0, 64));
}

CARELESS(iova_misaligned, "iova-misaligned") {
  const Pair p;
  ibv_dereg_mr(ibv_reg_mr_iova(domain(), p.a.memory + 64, 64, kMemory, kRights));
}

CARELESS(atomic_misaligned, "atomic-misaligned") {
  const Pair p;
  post(p.a, IBV_WR_ATOMIC_FETCH_AND_ADD, p.a.sge(0, 8), p.b, IBV_SEND_SIGNALED, 4);
}

CARELESS(destroyed_in_use, "destroyed-in-use") {
  const Pair p;
  post(p.a, IBV_WR_RDMA_WRITE, p.a.sge(0, 64), p.b);
  ibv_destroy_qp(p.a.qp);
}

/// Fills the send queue with one signaled request and 15 unsignaled ones, and polls the completion
/// before it posts another.
CARELESS(proper_unsignaled, kCorrect) {
  const Pair p;
  for (std::size_t i = 0; i < 16; ++i) {
    post(p.a, IBV_WR_RDMA_WRITE, p.a.sge(i * 64, 64), p.b, i == 0 ? IBV_SEND_SIGNALED : 0);
  }
  check(poll(p.a.cq).status == IBV_WC_SUCCESS, "a Write has failed");
  // This request reuses the slot of the first request.
  post(p.a, IBV_WR_RDMA_WRITE, p.a.sge(0, 64), p.b, 0);
}

/// Waits for events with completions in a queue that another thread polls, with those that came
/// after the queue was armed, and with none.
CARELESS(proper_waits, kCorrect) {
  const Pair p;
  std::thread([&p] { poll_one_of_two(p); }).join();
  check(!has_event_by_poll(p.a.channel->fd), "an event");
  ibv_req_notify_cq(p.a.cq, 0);
  poll(p.a.cq);
  ibv_wc wc{};
  check(ibv_poll_cq(p.a.cq, 1, &wc) == 0, "a completion");
  check(!has_event_by_poll(p.a.channel->fd), "an event");
  receive(p.a, p.a.sge(0, 64));
  check(has_event_by_poll(p.a.channel->fd), "no event");
}

CARELESS(proper_iova, kCorrect) {
  const Pair p;
  ibv_dereg_mr(ibv_reg_mr_iova(domain(), p.a.memory + 64, 64, kMemory + 64, kRights));
  ibv_dereg_mr(ibv_reg_mr(domain(), p.a.memory + 64, 64, kRights | IBV_ACCESS_ZERO_BASED));
}

CARELESS(proper, kCorrect) {
  const Pair p;
  ibv_req_notify_cq(p.a.cq, 0);
  for (int round = 0; round < 50; ++round) {
    receive(p.b, p.b.sge(0, 4096));
    post(p.a, IBV_WR_SEND, p.a.sge(0, 64), p.b, round % 2 == 0 ? 0 : IBV_SEND_SIGNALED);
    if (round % 2 != 0) {
      take_event(p.a);
      ibv_req_notify_cq(p.a.cq, 0);
      check(poll(p.a.cq).status == IBV_WC_SUCCESS, "a Send has failed");
      std::memset(p.a.memory, round, 128);
    }
    check(poll(p.b.cq).byte_len == 64, "a Send is not whole");
    std::memset(p.b.memory, round, 4096);
    post(p.b, IBV_WR_RDMA_READ, p.b.sge(8192, 64), p.a, 0);
    post(p.b, IBV_WR_RDMA_WRITE, p.b.sge(8192, 64), p.a, IBV_SEND_SIGNALED | IBV_SEND_FENCE, 16384);
    check(poll(p.b.cq).status == IBV_WC_SUCCESS, "a Write has failed");
    char text[] = "inline";
    ibv_sge sge{.addr = reinterpret_cast<std::uint64_t>(text), .length = sizeof text, .lkey = 0};
    post(p.b, IBV_WR_RDMA_WRITE, sge, p.a, IBV_SEND_SIGNALED | IBV_SEND_INLINE, 16384);
    text[0] = 'I';
    check(poll(p.b.cq).status == IBV_WC_SUCCESS, "an inline Write has failed");
  }
  ibv_destroy_qp(p.a.qp);
  ibv_destroy_qp(p.b.qp);
  ibv_dereg_mr(p.a.mr);
  ibv_dereg_mr(p.b.mr);
  munmap(p.a.memory, kMemory);
  ibv_destroy_cq(p.a.cq);
  ibv_destroy_cq(p.b.cq);
}

int main(int argc, char** argv) {
  for (const Program& program : programs()) {
    if (argc < 2 && program.noticed_by != nullptr)
      std::printf("%s %s\n", program.name, program.noticed_by);
    if (argc < 2 || std::strcmp(argv[1], program.name) != 0) continue;
    try {
      program.run();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", program.name, error.what());
      return 1;
    }
    return 0;
  }
  return argc < 2 ? 0 : 2;
}
