// SPDX-License-Identifier: Apache-2.0
// The program in the guest: an ordinary program for libibverbs and librdmacm that performs the
// client's or the server's part of the sequence over the RDMA device of ADDR. It sleeps while it
// waits, so that a guest with one processor can run its kernel threads.
//   verbs_partner listen ADDR PORT        serves one client after the other, until it is killed
//   verbs_partner connect ADDR PORT CELLS [COUNT [ENDING]]    CELLS: out:write:4096,in:send:0,...
#include <poll.h>
#include <rdma/rdma_cma.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <stdexcept>

#include "sequence.hpp"

namespace {

using namespace iwarp::interop;

constexpr int kTimeout = 30'000;  // timeout of one wait, in ms
constexpr std::uint8_t kReads = 16;
constexpr std::uint64_t kReadId = 100;  // wr_id of Reads
// wr_id of control messages. The wr_id of a receive is the number of its slot.
constexpr std::uint64_t kControlId = 101;
constexpr int kLocal = IBV_ACCESS_LOCAL_WRITE;
constexpr int kRemote = kLocal | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

/// Throws if `status`, the result of a call that sets errno, is not 0.
void check(int status, const char* what) {
  if (status != 0) fail(std::string(what) + ": " + std::strerror(errno));
}

template <typename T>
T* check(T* object, const char* what) {
  if (object == nullptr) fail(std::string(what) + ": " + std::strerror(errno));
  return object;
}

bool readable(int fd, int timeout) {
  pollfd on{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&on, 1, timeout) == 1;
}

/// Waits until one of two descriptors is readable. Returns that descriptor, or -1 on a timeout.
int first_readable(int one, int other) {
  std::array<pollfd, 2> on{pollfd{.fd = one, .events = POLLIN, .revents = 0},
                           pollfd{.fd = other, .events = POLLIN, .revents = 0}};
  if (poll(on.data(), on.size(), kTimeout) <= 0) return -1;
  return (on[0].revents & POLLIN) != 0 ? one : other;
}

/// Waits for the next connection event. Returns its id, which is a new one if the event is a
/// connect request.
rdma_cm_id* expect(rdma_event_channel* channel, rdma_cm_event_type type, int timeout = kTimeout) {
  if (!readable(channel->fd, timeout)) fail("no connection event in time");
  rdma_cm_event* event = nullptr;
  check(rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
  const auto got = event->event;
  const auto status = event->status;
  rdma_cm_id* const id = event->id;
  rdma_ack_cm_event(event);
  if (got != type) {
    fail(std::string(rdma_event_str(got)) + " (" + std::to_string(status) + ") instead of " +
         rdma_event_str(type));
  }
  return id;
}

class VerbsLink final : public Link {
 public:
  /// Takes ownership of `id`, creates the queue pair and posts receives.
  explicit VerbsLink(rdma_cm_id* id) : id_(id), memory_((kSlots + 3) * kBuffer) {
    pd_.reset(check(ibv_alloc_pd(id->verbs), "ibv_alloc_pd"));
    channel_.reset(check(ibv_create_comp_channel(id->verbs), "ibv_create_comp_channel"));
    cq_.reset(check(ibv_create_cq(id->verbs, 64, nullptr, channel_.get(), 0), "ibv_create_cq"));
    local_.reset(
        check(ibv_reg_mr(pd_.get(), memory_.data(), memory_.size(), kLocal), "ibv_reg_mr"));
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_.get();
    init.cap = {.max_send_wr = 32,
                .max_recv_wr = kSlots,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = kControlSize};
    init.qp_type = IBV_QPT_RC;
    check(rdma_create_qp(id, pd_.get(), &init), "rdma_create_qp");
    for (std::size_t i = 0; i < kSlots; ++i) post_receive(i);
  }
  ~VerbsLink() override {
    rdma_disconnect(id_);
    rdma_destroy_qp(id_);
    rdma_destroy_id(id_);
  }
  VerbsLink(const VerbsLink&) = delete;
  VerbsLink& operator=(const VerbsLink&) = delete;

  std::span<std::byte> source() override { return buffer(kSlots); }
  std::span<std::byte> sink() override { return buffer(kSlots + 1); }
  std::span<std::byte> target() override { return buffer(kSlots + 2); }
  Place advertise() override {
    if (!target_) {
      target_.reset(check(ibv_reg_mr(pd_.get(), target().data(), kBuffer, kRemote), "ibv_reg_mr"));
    }
    return {.stag = target_->rkey, .to = reinterpret_cast<std::uintptr_t>(target().data())};
  }
  void target_invalidated() override { target_.reset(); }

  void send_control(std::span<const std::byte, kControlSize> octets) override {
    ibv_sge sge{reinterpret_cast<std::uintptr_t>(octets.data()), kControlSize, 0};
    auto wr = request(IBV_WR_SEND, kControlId, sge);
    wr.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
    post(wr);
  }
  void send(std::size_t size, const SendKind& kind) override {
    auto sge = piece(source(), size);
    auto wr = request(IBV_WR_SEND, 0, sge);
    if (kind.solicited) wr.send_flags |= IBV_SEND_SOLICITED;
    if (kind.fenced) wr.send_flags |= IBV_SEND_FENCE;
    if (kind.invalidate) {
      wr.opcode = IBV_WR_SEND_WITH_INV;
      wr.invalidate_rkey = *kind.invalidate;
      wr.wr.rdma.rkey = *kind.invalidate;  // libsiw reads the STag from this field
    }
    post(wr);
  }
  void write(std::size_t size, const Place& to) override {
    auto sge = piece(source(), size);
    transfer(IBV_WR_RDMA_WRITE, 0, sge, to);
  }
  void read(std::size_t size, const Place& from) override {
    auto sge = piece(sink(), size);
    read_done_ = false;
    transfer(IBV_WR_RDMA_READ, kReadId, sge, from);
  }
  void wait_read() override {
    while (!read_done_) progress();
  }
  Received receive() override {
    if (taken_) post_receive(*taken_);
    taken_.reset();
    while (arrived_.empty()) progress();
    const auto [slot, length] = arrived_.front();
    arrived_.pop_front();
    taken_ = slot;
    return {.octets = buffer(slot).first(length)};
  }
  std::string wait_end() override {
    try {
      for (;;) progress();
    } catch (const std::runtime_error& error) {
      return error.what();  // libibverbs has no call that returns the contents of a Terminate
    }
  }

 private:
  template <auto Destroy>
  struct Deleter {
    template <typename T>
    void operator()(T* object) const {
      Destroy(object);
    }
  };

  std::span<std::byte> buffer(std::size_t index) {
    return std::span(memory_).subspan(index * kBuffer, kBuffer);
  }
  ibv_sge piece(std::span<std::byte> of, std::size_t size) const {
    return {reinterpret_cast<std::uintptr_t>(of.data()), static_cast<std::uint32_t>(size),
            local_->lkey};
  }
  static ibv_send_wr request(ibv_wr_opcode opcode, std::uint64_t id, ibv_sge& sge) {
    return {.wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = opcode};
  }
  void transfer(ibv_wr_opcode opcode, std::uint64_t id, ibv_sge& sge, const Place& place) {
    auto wr = request(opcode, id, sge);
    if (opcode == IBV_WR_RDMA_READ) wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {.remote_addr = place.to, .rkey = place.stag};
    post(wr);
  }
  void post(ibv_send_wr& wr) {
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(id_->qp, &wr, &bad) != 0) fail("ibv_post_send refused");
  }
  void post_receive(std::size_t slot) {
    auto sge = piece(buffer(slot), kMaxSize);
    ibv_recv_wr wr{.wr_id = slot, .next = nullptr, .sg_list = &sge, .num_sge = 1};
    ibv_recv_wr* bad = nullptr;
    if (ibv_post_recv(id_->qp, &wr, &bad) != 0) fail("ibv_post_recv refused");
  }

  /// Processes pending completions. If there are none, waits for one event.
  void progress() {
    if (take()) return;
    check(ibv_req_notify_cq(cq_.get(), 0), "ibv_req_notify_cq");
    if (take()) return;
    const int ready = first_readable(channel_->fd, id_->channel->fd);
    if (ready < 0) fail("no completion event in time");
    // An event of the connection also ends the wait, because siw need not flush receives when the
    // connection ends.
    if (ready != channel_->fd) fail("the connection is over");
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    check(ibv_get_cq_event(channel_.get(), &cq, &context), "ibv_get_cq_event");
    ibv_ack_cq_events(cq, 1);
  }
  bool take() {
    std::array<ibv_wc, 8> done;
    const int n = ibv_poll_cq(cq_.get(), static_cast<int>(done.size()), done.data());
    for (int i = 0; i < n; ++i) {
      const auto& wc = done[static_cast<std::size_t>(i)];
      if (wc.status != IBV_WC_SUCCESS) fail(ibv_wc_status_str(wc.status));
      if (wc.wr_id == kReadId) read_done_ = true;
      if (wc.wr_id < kSlots) arrived_.emplace_back(wc.wr_id, wc.byte_len);
    }
    return n > 0;
  }

  rdma_cm_id* id_;
  std::vector<std::byte> memory_;
  std::unique_ptr<ibv_pd, Deleter<ibv_dealloc_pd>> pd_;
  std::unique_ptr<ibv_comp_channel, Deleter<ibv_destroy_comp_channel>> channel_;
  std::unique_ptr<ibv_cq, Deleter<ibv_destroy_cq>> cq_;
  std::unique_ptr<ibv_mr, Deleter<ibv_dereg_mr>> local_;
  std::unique_ptr<ibv_mr, Deleter<ibv_dereg_mr>> target_;
  // Slot and number of octets of each received message.
  std::deque<std::pair<std::size_t, std::size_t>> arrived_;
  std::optional<std::size_t> taken_;
  bool read_done_ = false;
};

using EventChannel = std::unique_ptr<rdma_event_channel, decltype(&rdma_destroy_event_channel)>;

EventChannel make_channel() {
  return {check(rdma_create_event_channel(), "rdma_create_event_channel"),
          rdma_destroy_event_channel};
}

rdma_addrinfo* resolve(const char* host, const char* port, bool passive) {
  const rdma_addrinfo hints{.ai_flags = passive ? RAI_PASSIVE : 0, .ai_port_space = RDMA_PS_TCP};
  rdma_addrinfo* out = nullptr;
  check(rdma_getaddrinfo(host, port, &hints, &out), "rdma_getaddrinfo");
  return out;
}

struct Task {
  std::vector<Cell> cells;
  Ending ending = Ending::kClose;
};

bool one_connection(const rdma_addrinfo* to, const Task& task) {
  const auto channel = make_channel();
  rdma_cm_id* id = nullptr;
  check(rdma_create_id(channel.get(), &id, nullptr, RDMA_PS_TCP), "rdma_create_id");
  check(rdma_resolve_addr(id, nullptr, to->ai_dst_addr, 2000), "rdma_resolve_addr");
  expect(channel.get(), RDMA_CM_EVENT_ADDR_RESOLVED);
  check(rdma_resolve_route(id, 2000), "rdma_resolve_route");
  expect(channel.get(), RDMA_CM_EVENT_ROUTE_RESOLVED);
  VerbsLink link(id);
  rdma_conn_param wanted{.responder_resources = kReads, .initiator_depth = kReads};
  check(rdma_connect(id, &wanted), "rdma_connect");
  expect(channel.get(), RDMA_CM_EVENT_ESTABLISHED);
  std::string end;
  const bool fine = lead(link, task.cells, task.ending, print_cell, end);
  if (task.ending != Ending::kClose) std::printf("end %s\n", end.c_str());
  return fine;
}

int run_client(const rdma_addrinfo* to, const Task& task, int count) {
  int done = 0;
  while (done < count && one_connection(to, task)) ++done;
  std::printf("connections %d of %d\n", done, count);
  return done == count ? 0 : 1;
}

void serve(rdma_cm_id* id) {
  const auto channel = make_channel();
  // Migrates the id to its own channel, so that the link is destroyed before that channel.
  check(rdma_migrate_id(id, channel.get()), "rdma_migrate_id");
  VerbsLink link(id);
  rdma_conn_param wanted{.responder_resources = kReads, .initiator_depth = kReads};
  check(rdma_accept(id, &wanted), "rdma_accept");
  expect(channel.get(), RDMA_CM_EVENT_ESTABLISHED);
  follow(link);
  // Waits until the client closes the connection.
  expect(channel.get(), RDMA_CM_EVENT_DISCONNECTED);
}

[[noreturn]] void run_server(const rdma_addrinfo* at) {
  const auto channel = make_channel();
  rdma_cm_id* listener = nullptr;
  check(rdma_create_id(channel.get(), &listener, nullptr, RDMA_PS_TCP), "rdma_create_id");
  check(rdma_bind_addr(listener, at->ai_src_addr), "rdma_bind_addr");
  check(rdma_listen(listener, 16), "rdma_listen");
  std::puts("listening");
  std::fflush(stdout);
  for (;;) {
    try {
      serve(expect(channel.get(), RDMA_CM_EVENT_CONNECT_REQUEST, -1));
    } catch (const std::runtime_error& error) {
      std::printf("server: %s\n", error.what());
      std::fflush(stdout);
    }
  }
}

Task task_from(int argc, char** argv) {
  Task task{.cells = parse_cells(argv[4])};
  if (argc > 6) {
    const auto ending = ending_named(argv[6]);
    if (!ending) fail(std::string("there is no ending ") + argv[6]);
    task.ending = *ending;
  }
  return task;
}

int run(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "listen" && argc == 4) run_server(resolve(argv[2], argv[3], true));
  if (verb != "connect" || argc < 5 || argc > 7) {
    fail("usage: verbs_partner listen|connect ADDR PORT [CELLS [COUNT [ENDING]]]");
  }
  return run_client(resolve(argv[2], argv[3], false), task_from(argc, argv),
                    argc > 5 ? std::stoi(argv[5]) : 1);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::printf("verbs_partner: %s\n", error.what());
    return 1;
  }
}
