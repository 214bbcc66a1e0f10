// SPDX-License-Identifier: Apache-2.0
// A program that writes to its buffers while they are sent. One thread increments the words of the
// source buffer, and another thread sends the buffer by Writes and Sends of three sizes. The
// receiver is a separate process. The program repeatedly stops and continues it, so that the source
// also changes while framed data waits for a full socket.
//   changed_sources ADDRESS SECONDS
// Prints a line for each kind of request, and "done" at the end.
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kLargest = 1 << 20;
constexpr std::uint32_t kDepth = 32;
constexpr std::uint32_t kReceives = 64;
/// If the queue is full and nothing completes for this long, the socket is assumed to be full.
constexpr milliseconds kStuck(5);
/// Time between two stops of the receiver process.
constexpr milliseconds kRunning(20);

void check(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(what);
}

/// The memory that the peer may write.
struct Target {
  std::uint64_t address;
  std::uint32_t rkey;
};

rdma_cm_id* endpoint(const char* address, const char* port, int flags) {
  const rdma_addrinfo hints{.ai_flags = flags, .ai_port_space = RDMA_PS_TCP};
  rdma_addrinfo* found = nullptr;
  check(rdma_getaddrinfo(address, port, &hints, &found) == 0, "rdma_getaddrinfo");
  ibv_qp_init_attr attr{
      .cap = {kDepth, kReceives, 1, 1, 0}, .qp_type = IBV_QPT_RC, .sq_sig_all = 1};
  rdma_cm_id* id = nullptr;
  check(rdma_create_ep(&id, found, nullptr, &attr) == 0, "rdma_create_ep");
  rdma_freeaddrinfo(found);
  return id;
}

class Buffer {
 public:
  explicit Buffer(rdma_cm_id* id) : words_(kLargest / sizeof(std::uint64_t)) {
    mr_ = ibv_reg_mr(id->pd, words_.data(), kLargest,
                     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    check(mr_ != nullptr, "ibv_reg_mr");
  }
  void* data() { return words_.data(); }
  ibv_mr* mr() const { return mr_; }
  Target target() const {
    return {.address = reinterpret_cast<std::uint64_t>(words_.data()), .rkey = mr_->rkey};
  }
  void increment(std::size_t octets) {
    volatile std::uint64_t* const words = words_.data();
    for (std::size_t i = 0; i < octets / sizeof(std::uint64_t); ++i) words[i] = words[i] + 1;
  }

 private:
  std::vector<std::uint64_t> words_;
  ibv_mr* mr_;
};

// Receives until a message of one octet arrives. After this message, the sender waits for no more
// answers.
void receive_all(const char* address, int sender) {
  rdma_cm_id* const listener = endpoint(address, "0", RAI_PASSIVE);
  check(rdma_listen(listener, 1) == 0, "rdma_listen");
  const std::uint16_t port = rdma_get_src_port(listener);
  check(write(sender, &port, sizeof port) == sizeof port, "write");
  rdma_cm_id* id = nullptr;
  check(rdma_get_request(listener, &id) == 0, "rdma_get_request");
  Buffer buffer(id);
  const auto post = [&] {
    check(rdma_post_recv(id, nullptr, buffer.data(), kLargest, buffer.mr()) == 0, "post_recv");
  };
  for (std::uint32_t i = 0; i < kReceives; ++i) post();
  Target target = buffer.target();
  rdma_conn_param how{
      .private_data = &target, .private_data_len = sizeof target, .rnr_retry_count = 7};
  check(rdma_accept(id, &how) == 0, "rdma_accept");
  ibv_wc wc{};
  while (wc.byte_len != 1) {
    check(rdma_get_recv_comp(id, &wc) == 1, "rdma_get_recv_comp");
    check(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
    post();
  }
  char none = 0;
  check(read(sender, &none, 1) == 0, "read");
}

class Sender {
 public:
  Sender(const char* address, const std::string& port, pid_t receiver)
      : receiver_(receiver), id_(endpoint(address, port.c_str(), 0)), buffer_(id_) {
    rdma_conn_param how{.retry_count = 7, .rnr_retry_count = 7};
    check(rdma_connect(id_, &how) == 0, "rdma_connect");
    target_ = *static_cast<const Target*>(id_->event->param.conn.private_data);
    changer_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) buffer_.increment(size_);
    });
  }

  void send_for(Clock::duration time, ibv_wr_opcode opcode, std::size_t size) {
    size_ = size;
    const auto end = Clock::now() + time;
    std::uint64_t messages = 0;
    int stops = 0;
    while (Clock::now() < end) {
      for (const auto resume = Clock::now() + kRunning; Clock::now() < resume;) {
        messages += send_some(opcode);
      }
      check(kill(receiver_, SIGSTOP) == 0, "SIGSTOP");
      for (auto stuck = Clock::now() + kStuck; Clock::now() < stuck;) {
        const auto sent = send_some(opcode);
        if (sent != 0) stuck = Clock::now() + kStuck;
        messages += sent;
      }
      check(kill(receiver_, SIGCONT) == 0, "SIGCONT");
      ++stops;
    }
    std::printf("%s of %zu: %llu, %d stops\n", opcode == IBV_WR_SEND ? "Send" : "Write", size,
                static_cast<unsigned long long>(messages), stops);
  }

  void finish() {
    while (outstanding_ != 0) send_some(std::nullopt);
    size_ = 1;
    send_some(IBV_WR_SEND, 1);
    while (outstanding_ != 0) send_some(std::nullopt);
  }

 private:
  /// Posts requests until `most` of them are outstanding, and polls once. Returns the number of
  /// completions.
  std::uint64_t send_some(std::optional<ibv_wr_opcode> opcode, std::uint32_t most = kDepth) {
    for (; opcode && outstanding_ < most; ++outstanding_) {
      ibv_sge sge{.addr = reinterpret_cast<std::uint64_t>(buffer_.data()),
                  .length = static_cast<std::uint32_t>(size_.load()),
                  .lkey = buffer_.mr()->lkey};
      ibv_send_wr wr{.sg_list = &sge, .num_sge = 1, .opcode = *opcode};
      wr.wr.rdma = {.remote_addr = target_.address, .rkey = target_.rkey};
      ibv_send_wr* bad = nullptr;
      check(ibv_post_send(id_->qp, &wr, &bad) == 0, "ibv_post_send");
    }
    std::array<ibv_wc, kDepth> done;
    const int count = ibv_poll_cq(id_->send_cq, kDepth, done.data());
    for (int i = 0; i < count; ++i) {
      check(done[i].status == IBV_WC_SUCCESS, ibv_wc_status_str(done[i].status));
    }
    outstanding_ -= static_cast<std::uint32_t>(count);
    return static_cast<std::uint64_t>(count);
  }

  pid_t receiver_;
  rdma_cm_id* id_;
  Buffer buffer_;
  Target target_{};
  std::uint32_t outstanding_ = 0;
  std::atomic<std::size_t> size_{0};
  std::jthread changer_;
};

int run(const char* address, double seconds) {
  std::array<int, 2> ends;
  check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0, "socketpair");
  const pid_t receiver = fork();
  check(receiver >= 0, "fork");
  if (receiver == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    receive_all(address, ends[1]);
    return 0;
  }
  close(ends[1]);
  std::uint16_t port = 0;
  check(read(ends[0], &port, sizeof port) == sizeof port, "the receiver's port");
  Sender sender(address, std::to_string(ntohs(port)), receiver);
  constexpr std::array<std::size_t, 3> kSizes{600, 64 << 10, kLargest};
  const auto each = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(seconds / (2 * kSizes.size())));
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_SEND}) {
    for (const std::size_t size : kSizes) sender.send_for(each, opcode, size);
  }
  sender.finish();
  close(ends[0]);
  int status = 0;
  check(waitpid(receiver, &status, 0) == receiver && status == 0, "the receiver failed");
  std::printf("done\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  check(argc == 3, "changed_sources ADDRESS SECONDS");
  return run(argv[1], std::strtod(argv[2], nullptr));
} catch (const std::exception& error) {
  std::fprintf(stderr, "changed_sources: %s\n", error.what());
  return 1;
}
