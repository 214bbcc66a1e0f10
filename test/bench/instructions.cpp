// SPDX-License-Identifier: Apache-2.0
// Counts instructions of the data path under callgrind. One thread polls two queue pairs of the
// same process. Each row counts the instructions between two points, without those in system calls,
// so other load on the machine does not affect the result. test/bench/instructions starts this
// program.
//
// Time is virtual, because valgrind is slow. With the real time, the driver would believe that it
// is polled too rarely to let its worker sleep.
#include <valgrind/callgrind.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <functional>
#include <stdexcept>

#include "iwarp/iwarp.hpp"
#include "iwarp/net/socket_ops.hpp"

namespace net = iwarp::net;
namespace verbs = iwarp::verbs;
using iwarp::must;

namespace {

constexpr std::uint32_t kSize = 64;
constexpr unsigned kRounds = 200;
constexpr unsigned kList = 16;
// Number of messages after which every queue has wrapped around once.
constexpr unsigned kWarmUp = 150;

// The virtual time. Only the polling thread advances it. If the worker also advanced it while the
// polling thread is not scheduled, polls would seem to be rare.
std::atomic<long> virtual_ns{1'000'000'000};
constexpr long kNsPerLook = 100;
thread_local bool moves_time = false;

// Whether instructions are counted now, which is the case between the two points of a row, except
// in system calls.
bool counting = false;

void count(bool on) {
  if (on == counting) return;
  counting = on;
  CALLGRIND_TOGGLE_COLLECT;
}

// Which of the row's two points is at a system call: counting stops when send() is called, or
// starts when recv() has returned data.
struct Marks {
  bool stop_at_send = false;
  bool start_after_receive = false;
};
Marks marks;

ssize_t send_marked(int fd, const msghdr* message, int flags) {
  const bool before = counting;
  count(false);
  const auto n = net::kernel_socket_ops().send(fd, message, flags);
  const int error = errno;
  if (!marks.stop_at_send) count(before);
  errno = error;
  return n;
}

ssize_t receive_marked(int fd, msghdr* message, int flags) {
  const bool before = counting;
  count(false);
  const auto n = net::kernel_socket_ops().receive(fd, message, flags);
  const int error = errno;
  count(before || (marks.start_after_receive && n > 0));
  errno = error;
  return n;
}

class Pair {
 public:
  Pair() {
    const auto region = [&](std::array<std::byte, kSize>& memory) {
      return must(rnic_->register_memory(*pd_, std::span<std::byte>(memory),
                                         verbs::Access::kLocalWrite | verbs::Access::kRemoteWrite));
    };
    out_region_ = region(out_);
    in_region_ = region(in_);
    client_ = must(rnic_->create_qp(*pd_, {.send_cq = cqs_[0].get(), .recv_cq = cqs_[0].get()}));
    server_ = must(rnic_->create_qp(*pd_, {.send_cq = cqs_[1].get(), .recv_cq = cqs_[1].get()}));
    const auto listener = must(rnic_->listen({.host = "127.0.0.1"}, {}, *requests_));
    must(rnic_->connect(*client_, listener->local(), {}, *outcomes_));
    constexpr auto kTimeout = std::chrono::seconds(60);
    must(iwarp::next_event(*requests_, kTimeout).request->accept(*server_));
    (void)iwarp::next_event(*outcomes_, kTimeout);
    from_ = {out_.data(), kSize, out_region_.stag()};
    send_ = {.wr_id = 2, .flags = verbs::SendFlags::kSignaled, .sgl = {&from_, 1}};
    writes_.fill({.wr_id = 3,
                  .opcode = verbs::WrOpcode::kWrite,
                  .sgl = {&from_, 1},
                  .remote = {.rkey = in_region_.stag(), .to = in_region_.to(in_.data())}});
    writes_.back().flags = verbs::SendFlags::kSignaled;
    // Only the initiator may send the first message.
    post_receive();
    send();
    (void)iwarp::next_completion(server_cq());
    (void)iwarp::next_completion(client_cq());
    for (unsigned i = 0; i < kWarmUp; ++i) {
      poll_empty(server_cq());
      poll_empty(client_cq());
    }
  }

  verbs::CompletionQueue& client_cq() { return *cqs_[0]; }
  verbs::CompletionQueue& server_cq() { return *cqs_[1]; }

  void post_receive() {
    const verbs::Sge into{in_.data(), kSize, in_region_.stag()};
    must(server_->post_recv({.wr_id = 1, .sgl = {&into, 1}}));
  }
  void send() { must(client_->post_send(send_)); }
  void write_list() { must(client_->post_all(writes_)); }
  void poll_empty(verbs::CompletionQueue& cq) {
    verbs::WorkCompletion wc;
    if (cq.poll({&wc, 1}) != 0) throw std::runtime_error("a completion of an unsignaled request");
  }
  // Returns the number of FPDUs that both ends have received.
  std::uint64_t received() const { return rnic_->counters().fpdus_received; }

 private:
  std::unique_ptr<net::Rnic> rnic_ = must(net::Rnic::open());
  net::CmChannelHandle requests_ = must(rnic_->create_cm_channel());
  net::CmChannelHandle outcomes_ = must(rnic_->create_cm_channel());
  std::unique_ptr<net::ProtectionDomain> pd_ = must(rnic_->alloc_pd());
  std::array<net::CqHandle, 2> cqs_{must(rnic_->create_cq(256)), must(rnic_->create_cq(256))};
  std::array<std::byte, kSize> out_{};
  std::array<std::byte, kSize> in_{};
  net::Memory out_region_;
  net::Memory in_region_;
  verbs::Sge from_;
  verbs::SendWr send_;
  std::array<verbs::SendWr, kList> writes_;
  net::QpHandle client_;
  net::QpHandle server_;
};

struct Row {
  const char* name;
  unsigned per_round;  ///< number of messages per round
  std::function<void(Pair&)> round;
};

// Counts the instructions from post_send() to the system call that sends the message.
void post_to_send(Pair& pair) {
  pair.post_receive();
  marks = {.stop_at_send = true};
  count(true);
  pair.send();
  count(false);
  marks = {};
  (void)iwarp::next_completion(pair.server_cq());
  (void)iwarp::next_completion(pair.client_cq());
}

// Counts the instructions from the return of recv() until the program has the completion.
void receive_to_completion(Pair& pair) {
  pair.post_receive();
  pair.send();
  marks = {.start_after_receive = true};
  (void)iwarp::next_completion(pair.server_cq());
  count(false);
  marks = {};
  (void)iwarp::next_completion(pair.client_cq());
}

void empty_poll(Pair& pair) {
  count(true);
  pair.poll_empty(pair.server_cq());
  count(false);
}

// Counts the instructions from posting the list to the completion of its last Write.
void list_sender(Pair& pair) {
  const auto before = pair.received();
  count(true);
  pair.write_list();
  (void)iwarp::next_completion(pair.client_cq());
  count(false);
  while (pair.received() != before + kList) pair.poll_empty(pair.server_cq());
}

void list_target(Pair& pair) {
  const auto before = pair.received();
  pair.write_list();
  (void)iwarp::next_completion(pair.client_cq());
  while (pair.received() != before + kList) {
    marks = {.start_after_receive = true};
    pair.poll_empty(pair.server_cq());
    count(false);
    marks = {};
  }
}

const std::array kRows{
    Row{"post_send() of a 64-octet Send to the system call", 1, post_to_send},
    Row{"return of recv() to the completion of a 64-octet Send", 1, receive_to_completion},
    Row{"a poll that finds nothing", 1, empty_poll},
    Row{"64-octet Writes in lists of 16, sender", kList, list_sender},
    Row{"64-octet Writes in lists of 16, target", kList, list_target},
};

}  // namespace

extern "C" int clock_gettime(clockid_t, timespec* out) {
  const long now = moves_time ? virtual_ns += kNsPerLook : virtual_ns.load();
  out->tv_sec = now / 1'000'000'000;
  out->tv_nsec = now % 1'000'000'000;
  return 0;
}

// Makes one dump of callgrind for each row, and prints a line "<messages> <name>" for each.
int main() try {
  moves_time = true;
  auto ops = net::kernel_socket_ops();
  ops.send = send_marked;
  ops.receive = receive_marked;
  net::replace_socket_ops(&ops);
  Pair pair;
  for (const Row& row : kRows) {
    for (unsigned i = 0; i < kWarmUp; ++i) row.round(pair);
    CALLGRIND_ZERO_STATS;
    for (unsigned i = 0; i < kRounds; ++i) row.round(pair);
    CALLGRIND_DUMP_STATS;
    std::printf("%u %s\n", kRounds * row.per_round, row.name);
  }
  net::replace_socket_ops(nullptr);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "instructions: %s\n", error.what());
  return 1;
}
