// SPDX-License-Identifier: Apache-2.0
// Code of both ends of the key-value program: an epoll loop of non-blocking descriptors, and an
// RDMA connection that is used as in real key-value servers. Each end first sends the address of
// its buffer in a Send. After that, each message is a Write into the peer's buffer with the length
// of the message as immediate data.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>

inline void require(bool condition, const char* what) {
  if (condition) return;
  std::perror(what);
  std::abort();
}

inline void make_non_blocking(int fd) {
  require(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0, "fcntl");
}

/// An epoll loop that calls the handler of each readable descriptor.
class Loop {
 public:
  Loop() { require(epoll_ >= 0, "epoll_create1"); }
  ~Loop() { close(epoll_); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void watch(int fd, std::function<void()> act) {
    make_non_blocking(fd);
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    require(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
    acts_[fd] = std::move(act);
  }

  void forget(int fd) {
    epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
    acts_.erase(fd);
  }

  void run_until(const bool& done) {
    while (!done) {
      epoll_event event{};
      const int count = epoll_wait(epoll_, &event, 1, -1);
      require(count == 1, "epoll_wait");
      const auto found = acts_.find(event.data.fd);
      if (found == acts_.end()) continue;
      const auto act = found->second;  // the handler may remove itself
      act();
    }
  }

 private:
  int epoll_ = epoll_create1(0);
  std::map<int, std::function<void()>> acts_;
};

class Connection {
 public:
  using Received = std::function<void(Connection&, std::string_view)>;
  static constexpr std::size_t kBuffer = 8192;

  /// `id` must have resolved its device. The connection calls `ready` when it has received the
  /// address of the peer's buffer.
  Connection(Loop& loop, rdma_cm_id* id, std::function<void(Connection&)> ready, Received received)
      : loop_(loop), id_(id), ready_(std::move(ready)), received_(std::move(received)) {
    domain_ = ibv_alloc_pd(id->verbs);
    channel_ = ibv_create_comp_channel(id->verbs);
    require(domain_ != nullptr && channel_ != nullptr, "ibv_alloc_pd, ibv_create_comp_channel");
    queue_ = ibv_create_cq(id->verbs, 64, nullptr, channel_, 0);
    require(queue_ != nullptr && ibv_req_notify_cq(queue_, 0) == 0, "ibv_create_cq");
    ibv_qp_init_attr wanted{
        .send_cq = queue_, .recv_cq = queue_, .cap = {16, 16, 1, 1, 0}, .qp_type = IBV_QPT_RC};
    require(rdma_create_qp(id, domain_, &wanted) == 0, "rdma_create_qp");
    constexpr int kRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    memory_ = ibv_reg_mr(domain_, buffers_.data(), sizeof(buffers_), kRights);
    require(memory_ != nullptr, "ibv_reg_mr");
    for (int n = 0; n < 8; ++n) post_receive();
    loop_.watch(channel_->fd, [this] { take_completions(); });
  }

  ~Connection() {
    loop_.forget(channel_->fd);
    rdma_destroy_qp(id_);
    ibv_ack_cq_events(queue_, events_);
    require(ibv_destroy_cq(queue_) == 0, "ibv_destroy_cq");
    require(ibv_destroy_comp_channel(channel_) == 0, "ibv_destroy_comp_channel");
    require(ibv_dereg_mr(memory_) == 0, "ibv_dereg_mr");
    require(ibv_dealloc_pd(domain_) == 0, "ibv_dealloc_pd");
    require(rdma_destroy_id(id_) == 0, "rdma_destroy_id");
  }

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// The program calls this on ESTABLISHED. As in real key-value servers, a completion before this
  /// call is an error.
  void established() {
    established_ = true;
    const Place own{.address = reinterpret_cast<std::uintptr_t>(received_buffer()),
                    .key = memory_->rkey,
                    .length = kBuffer};
    std::memcpy(own_place(), &own, sizeof(own));
    post(IBV_WR_SEND, own_place(), sizeof(own));
  }

  /// Sends `message` when the buffer no longer holds an earlier message.
  void say(std::string_view message) {
    require(message.size() <= kBuffer && theirs_.key != 0, "a message that fits, and a peer");
    to_say_.emplace_back(message);
    if (to_say_.size() == 1) say_first();
  }

  [[nodiscard]] rdma_cm_id* id() const { return id_; }

 private:
  struct Place {
    std::uint64_t address = 0;
    std::uint32_t key = 0;
    std::uint32_t length = 0;
  };

  char* received_buffer() { return buffers_.data(); }
  char* said_buffer() { return buffers_.data() + kBuffer; }
  char* their_place() { return buffers_.data() + 2 * kBuffer; }
  char* own_place() { return their_place() + sizeof(Place); }

  ibv_sge part(char* from, std::size_t length) const {
    return {.addr = reinterpret_cast<std::uintptr_t>(from),
            .length = static_cast<std::uint32_t>(length),
            .lkey = memory_->lkey};
  }

  void say_first() {
    const std::string& message = to_say_.front();
    std::memcpy(said_buffer(), message.data(), message.size());
    post(IBV_WR_RDMA_WRITE_WITH_IMM, said_buffer(), message.size());
  }

  void post_receive() {
    ibv_sge list = part(their_place(), sizeof(Place));
    ibv_recv_wr request{.wr_id = 0, .next = nullptr, .sg_list = &list, .num_sge = 1};
    ibv_recv_wr* bad = nullptr;
    require(ibv_post_recv(id_->qp, &request, &bad) == 0, "ibv_post_recv");
  }

  void post(ibv_wr_opcode opcode, char* from, std::size_t length) {
    ibv_sge list = part(from, length);
    ibv_send_wr request{.sg_list = &list,
                        .num_sge = 1,
                        .opcode = opcode,
                        .send_flags = IBV_SEND_SIGNALED,
                        .imm_data = htonl(static_cast<std::uint32_t>(length))};
    request.wr.rdma = {.remote_addr = theirs_.address, .rkey = theirs_.key};
    ibv_send_wr* bad = nullptr;
    require(ibv_post_send(id_->qp, &request, &bad) == 0, "ibv_post_send");
  }

  void take_completions() {
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(channel_, &queue, &context) != 0) {
      require(errno == EAGAIN, "ibv_get_cq_event");
      return;
    }
    ++events_;
    require(ibv_req_notify_cq(queue_, 0) == 0, "ibv_req_notify_cq");
    ibv_wc done{};
    while (ibv_poll_cq(queue_, 1, &done) == 1) take(done);
  }

  void take(const ibv_wc& done) {
    if (done.status == IBV_WC_WR_FLUSH_ERR) return;  // The disconnect has flushed this request.
    require(done.status == IBV_WC_SUCCESS, ibv_wc_status_str(done.status));
    require(established_, "a completion before ESTABLISHED");
    if (done.opcode == IBV_WC_RECV) {
      require(done.byte_len == sizeof(theirs_), "the length of a place");
      std::memcpy(&theirs_, their_place(), sizeof(theirs_));
      ready_(*this);
    } else if (done.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
      post_receive();
      received_(*this, {received_buffer(), ntohl(done.imm_data)});
    } else if (done.opcode == IBV_WC_RDMA_WRITE) {
      to_say_.pop_front();
      if (!to_say_.empty()) say_first();
    }
  }

  Loop& loop_;
  rdma_cm_id* id_;
  std::function<void(Connection&)> ready_;
  Received received_;
  ibv_pd* domain_ = nullptr;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* queue_ = nullptr;
  ibv_mr* memory_ = nullptr;
  std::array<char, 2 * kBuffer + 2 * sizeof(Place)> buffers_{};
  Place theirs_;
  std::deque<std::string> to_say_;  ///< messages to send; the first one is in the buffer
  unsigned events_ = 0;
  bool established_ = false;
};
