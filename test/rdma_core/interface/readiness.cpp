// SPDX-License-Identifier: Apache-2.0
// Tests the descriptors of CM channels and of asynchronous events. When epoll reports such a
// descriptor as readable, one non-blocking call must return an event. An event that arrives after a
// call has returned EAGAIN must wake the epoll set. Both must hold for level-triggered and for
// edge-triggered sets.
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <list>
#include <map>
#include <thread>

#include "endpoint.hpp"

namespace {

using namespace rdma_core_test;

constexpr std::array<std::uint32_t, 2> kTriggers{EPOLLIN, EPOLLIN | EPOLLET};

/// Makes a descriptor non-blocking, and watches it with an epoll set.
class Watch {
 public:
  Watch(int fd, std::uint32_t events) : drains_((events & EPOLLET) != 0) {
    REQUIRE(::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
    epoll_event interest{.events = events, .data = {.fd = fd}};
    REQUIRE(::epoll_ctl(set_, EPOLL_CTL_ADD, fd, &interest) == 0);
  }
  ~Watch() { ::close(set_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  bool wakes(int timeout_ms = 0) const {
    epoll_event seen{};
    return ::epoll_wait(set_, &seen, 1, timeout_ms) == 1;
  }
  /// Calls `take`, which returns 0 or sets errno, until it has returned one event. If the set is
  /// edge-triggered, waits only after EAGAIN, as a program must. If the set is level-triggered,
  /// waits before each call.
  template <typename Take>
  void take_one(Take take) {
    if (may_have_more_) {
      if (take() == 0) return;
      REQUIRE(errno == EAGAIN);
    }
    REQUIRE(wakes(kTimeoutMs));
    REQUIRE(take() == 0);
    may_have_more_ = drains_;
  }

 private:
  const int set_ = ::epoll_create1(EPOLL_CLOEXEC);
  const bool drains_;
  bool may_have_more_ = false;
};

/// A CM channel and its epoll set.
struct Watched {
  explicit Watched(std::uint32_t events) : watch(channel->fd, events) {}

  Event next() {
    rdma_cm_event* event = nullptr;
    watch.take_one([&] { return rdma_get_cm_event(channel.get(), &event); });
    return Event(event);
  }
  bool is_empty() const {
    rdma_cm_event* event = nullptr;
    return !watch.wakes() && rdma_get_cm_event(channel.get(), &event) == -1 && errno == EAGAIN;
  }

  Channel channel = make_channel();
  Watch watch;
};

/// Starts to resolve an address, which creates the event ADDR_RESOLVED.
Id resolving(const Channel& channel, std::uint16_t port = 1) {
  Id id = make_id(channel);
  REQUIRE(rdma_resolve_addr(id.get(), nullptr, Address("127.0.0.1", port).get(), kTimeoutMs) == 0);
  return id;
}

void reject(Watched& server, int requests) {
  for (int i = 0; i < requests; ++i) {
    const Event event = server.next();
    REQUIRE(event->event == RDMA_CM_EVENT_CONNECT_REQUEST);
    const Id child(event->id);
    REQUIRE(rdma_reject(child.get(), nullptr, 0) == 0);
  }
}

/// Connects `count` ids at the same time. The server rejects each of them.
void be_rejected(std::uint32_t events, std::uint16_t port, int count) {
  Watched client(events);
  std::list<End> ends;
  std::map<rdma_cm_id*, End*> by_id;
  for (int i = 0; i < count; ++i) {
    End& end = ends.emplace_back();
    end.id = resolving(client.channel, port);
    by_id[end.id.get()] = &end;
  }
  for (int rejected = 0; rejected < count;) {
    const Event event = client.next();
    rdma_conn_param param{};
    switch (event->event) {
      case RDMA_CM_EVENT_ADDR_RESOLVED:
        REQUIRE(rdma_resolve_route(event->id, kTimeoutMs) == 0);
        break;
      case RDMA_CM_EVENT_ROUTE_RESOLVED:
        make_queue_pair(*by_id.at(event->id));
        REQUIRE(rdma_connect(event->id, &param) == 0);
        break;
      default:
        REQUIRE(event->event == RDMA_CM_EVENT_REJECTED);
        ++rejected;
    }
  }
  CHECK(client.is_empty());
}

// [RCM-10, RCM-11, RCM-13]
TEST_CASE("threads that wait for several CM channels find an event whenever one is readable") {
  constexpr int kClients = 3;
  constexpr int kIds = 8;
  for (const std::uint32_t events : kTriggers) {
    CAPTURE(events);
    Watched server(events);
    const Id listener = listening(server.channel);
    {
      std::list<std::jthread> clients;
      for (int i = 0; i < kClients; ++i)
        clients.emplace_back(be_rejected, events, port_of(listener), kIds);
      reject(server, kClients * kIds);
    }
    CHECK(server.is_empty());
  }
}

// [RCM-321, RCM-322, RCM-323]
TEST_CASE("an id that migrates takes along the readiness of its events") {
  for (const std::uint32_t events : kTriggers) {
    CAPTURE(events);
    Watched from(events);
    Watched to(events);
    const Id first = resolving(from.channel);
    const Id second = resolving(from.channel);
    REQUIRE(rdma_migrate_id(first.get(), to.channel.get()) == 0);
    CHECK(first->channel == to.channel.get());
    CHECK(to.next()->id == first.get());
    CHECK(to.is_empty());
    CHECK(from.next()->id == second.get());
    CHECK(from.is_empty());

    REQUIRE(rdma_resolve_route(second.get(), kTimeoutMs) == 0);
    REQUIRE(rdma_migrate_id(second.get(), to.channel.get()) == 0);
    CHECK(from.is_empty());
    CHECK(to.next()->event == RDMA_CM_EVENT_ROUTE_RESOLVED);
    REQUIRE(rdma_resolve_route(first.get(), kTimeoutMs) == 0);
    CHECK(to.next()->id == first.get());
    CHECK(to.is_empty());
  }
}

/// A device with queue pairs that can raise asynchronous events.
struct Device {
  explicit Device(std::uint32_t events)
      : pd(ibv_alloc_pd(context.get())),
        cq(ibv_create_cq(context.get(), 16, nullptr, nullptr, 0)),
        watch(context->async_fd, events) {
    ibv_srq_init_attr init{.attr = {.max_wr = 1, .max_sge = 1}};
    srq.reset(ibv_create_srq(pd.get(), &init));
    REQUIRE((pd && cq && srq));
  }
  Qp make_qp() const {
    ibv_qp_init_attr init{.send_cq = cq.get(),
                          .recv_cq = cq.get(),
                          .srq = srq.get(),
                          .cap = {.max_send_wr = 1, .max_send_sge = 1},
                          .qp_type = IBV_QPT_RC};
    Qp qp(ibv_create_qp(pd.get(), &init));
    REQUIRE(qp);
    return qp;
  }
  /// Receives and acknowledges the next event. Returns the queue pair of the event.
  ibv_qp* next() {
    ibv_async_event event{};
    watch.take_one([&] { return ibv_get_async_event(context.get(), &event); });
    REQUIRE(event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED);
    ibv_ack_async_event(&event);
    return event.element.qp;
  }
  bool is_empty() const {
    ibv_async_event event{};
    return !watch.wakes() && ibv_get_async_event(context.get(), &event) == -1 && errno == EAGAIN;
  }

  Context context = open_device();
  Pd pd;
  Cq cq;
  Srq srq;
  Watch watch;
};

/// Moves the queue pair to ERR, which raises IBV_EVENT_QP_LAST_WQE_REACHED.
void fail(ibv_qp* qp) {
  for (const auto& [state, mask] :
       {std::pair{IBV_QPS_RESET, int{IBV_QP_STATE}}, std::pair{IBV_QPS_INIT, kToInit},
        std::pair{IBV_QPS_ERR, int{IBV_QP_STATE}}}) {
    ibv_qp_attr attr{.qp_state = state, .port_num = 1};
    REQUIRE(ibv_modify_qp(qp, &attr, mask) == 0);
  }
}

// [IBV-595, IBV-596]
TEST_CASE("threads that wait for several devices find an event whenever one is readable") {
  constexpr int kEvents = 500;
  for (const std::uint32_t events : kTriggers) {
    CAPTURE(events);
    std::array<Device, 3> devices{Device(events), Device(events), Device(events)};
    {
      std::list<Qp> queue_pairs;
      std::list<std::jthread> threads;
      for (Device& device : devices) {
        ibv_qp* const qp = queue_pairs.emplace_back(device.make_qp()).get();
        threads.emplace_back([&device, qp] {
          for (int i = 0; i < kEvents; ++i) CHECK(device.next() == qp);
        });
      }
      for (int i = 0; i < kEvents; ++i) {
        for (const Qp& qp : queue_pairs) fail(qp.get());
      }
      threads.clear();
    }
    for (const Device& device : devices) CHECK(device.is_empty());
  }
}

}  // namespace
