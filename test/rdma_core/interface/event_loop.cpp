// SPDX-License-Identifier: Apache-2.0
// Tests a client and a server that are structured like key-value servers. Each is a thread that
// sleeps in its own epoll set of non-blocking descriptors, and makes, uses and ends one connection
// after the other. Each fails if it gets a completion of a connection that is not established yet
// or has ended. The test makes 100 connections, or 1,000 with IWARP_LONG=1.
#include <fcntl.h>
#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "endpoint.hpp"

namespace {

using namespace rdma_core_test;

constexpr int kExchanges = 4;  // number of messages in each direction of a connection
constexpr std::size_t kOctets = 64;

void never_block(int fd) { REQUIRE(::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) == 0); }

/// A connection. The server creates a Link when a connect request arrives. The client creates one
/// when its route is resolved.
struct Link {
  explicit Link(Id its_id) {
    end.id = std::move(its_id);
    make_queue_pair(end);
    in.emplace(end.pd.get(), kOctets);
    out.emplace(end.pd.get(), kOctets);
    never_block(end.receive_channel->fd);
    REQUIRE(ibv_req_notify_cq(end.receive_cq.get(), 0) == 0);
    REQUIRE(end.receive(in->sge()) == 0);
  }
  void say() { REQUIRE(end.send(out->sge(), 0) == 0); }

  End end;
  std::optional<Buffer> in, out;
  bool established = false, over = false;
  int received = 0;
  int number = 0;
};

class Loop {
 public:
  Loop() {
    never_block(channel_->fd);
    watch(channel_->fd);
  }
  virtual ~Loop() { ::close(epoll_); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  const Channel& channel() const { return channel_; }
  /// Runs until `connections` connections have ended.
  void run(int connections) {
    while (ended_ < connections) {
      std::array<epoll_event, 8> ready{};
      const int count = ::epoll_wait(epoll_, ready.data(), ready.size(), kTimeoutMs);
      REQUIRE(count > 0);
      // Pairs of a descriptor and the number of its connection.
      std::vector<std::pair<int, int>> waited;
      for (int i = 0; i < count; ++i) {
        const int fd = ready.at(static_cast<std::size_t>(i)).data.fd;
        waited.emplace_back(fd, number_of(fd));
      }
      for (const auto& [fd, number] : waited) {
        // If a completion can be polled, any event that precedes it must already be readable.
        take_events();
        // After epoll_wait(), the descriptor may have been closed and reused by another connection,
        // about which epoll reported nothing.
        if (number != 0 && number_of(fd) == number) take_completions(*by_fd_[fd]);
      }
    }
  }

 protected:
  virtual void happened(rdma_cm_event_type type, Id id, Link* link) = 0;
  virtual void received(Link& link) = 0;

  Link& add(Id id) {
    rdma_cm_id* const key = id.get();
    auto& link = *(links_[key] = std::make_unique<Link>(std::move(id)));
    const int fd = link.end.receive_channel->fd;
    by_fd_[fd] = &link;
    link.number = ++begun_;
    watch(fd);
    return link;
  }

 private:
  /// Returns the number of the connection to which descriptor `fd` belongs, or 0 if there is none.
  int number_of(int fd) const {
    const auto it = by_fd_.find(fd);
    return it != by_fd_.end() ? it->second->number : 0;
  }
  void watch(int fd) {
    epoll_event interest{.events = EPOLLIN, .data = {.fd = fd}};
    REQUIRE(::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &interest) == 0);
  }
  void take_events() {
    rdma_cm_event* raw = nullptr;
    while (rdma_get_cm_event(channel_.get(), &raw) == 0) {
      Event event(raw);
      const auto type = event->event;
      rdma_cm_id* const id = event->id;
      const auto it = links_.find(id);
      Link* const link = it != links_.end() ? it->second.get() : nullptr;
      event.reset();
      if (type == RDMA_CM_EVENT_ESTABLISHED) {
        REQUIRE(link != nullptr);
        link->established = true;
      }
      if (type != RDMA_CM_EVENT_DISCONNECTED) {
        happened(type, link == nullptr ? Id(id) : nullptr, link);
        continue;
      }
      REQUIRE(link != nullptr);
      link->over = true;
      take_completions(*link);
      by_fd_.erase(link->end.receive_channel->fd);
      REQUIRE(link->received == kExchanges);
      links_.erase(it);
      ++ended_;
    }
    REQUIRE(errno == EAGAIN);
  }
  void take_completions(Link& link) {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    unsigned count = 0;
    while (ibv_get_cq_event(link.end.receive_channel.get(), &cq, &context) == 0) ++count;
    REQUIRE(errno == EAGAIN);
    ibv_ack_cq_events(link.end.receive_cq.get(), count);
    REQUIRE(ibv_req_notify_cq(link.end.receive_cq.get(), 0) == 0);
    ibv_wc wc{};
    while (ibv_poll_cq(link.end.receive_cq.get(), 1, &wc) == 1) {
      REQUIRE(link.established);
      INFO(ibv_wc_status_str(wc.status));
      if (wc.status == IBV_WC_WR_FLUSH_ERR) {
        // The disconnect event may have arrived after the last take_events().
        REQUIRE((link.over || is_readable(channel_->fd)));
        continue;
      }
      REQUIRE(wc.status == IBV_WC_SUCCESS);
      REQUIRE_FALSE(link.over);
      ++link.received;
      REQUIRE(link.end.receive(link.in->sge()) == 0);
      received(link);
    }
  }

  Channel channel_ = make_channel();
  const int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  std::map<rdma_cm_id*, std::unique_ptr<Link>> links_;
  std::map<int, Link*> by_fd_;
  int begun_ = 0;
  int ended_ = 0;
};

class Server final : public Loop {
 public:
  Server() : listener_(listening(channel(), &port_)) {}
  std::uint16_t port() const { return port_; }

 private:
  void happened(rdma_cm_event_type type, Id id, Link*) override {
    if (type == RDMA_CM_EVENT_ESTABLISHED) return;
    REQUIRE(type == RDMA_CM_EVENT_CONNECT_REQUEST);
    Link& link = add(std::move(id));
    rdma_conn_param param{};
    REQUIRE(rdma_accept(link.end.id.get(), &param) == 0);
  }
  void received(Link& link) override { link.say(); }

  std::uint16_t port_ = 0;
  Id listener_;
};

class Client final : public Loop {
 public:
  explicit Client(std::uint16_t port) : port_(port) {}
  void begin() {
    // From now on, the event handler owns the id.
    rdma_cm_id* const id = make_id(channel()).release();
    REQUIRE(rdma_resolve_addr(id, nullptr, Address("127.0.0.1", port_).get(), kTimeoutMs) == 0);
  }

 private:
  void happened(rdma_cm_event_type type, Id id, Link* link) override {
    rdma_conn_param param{};
    switch (type) {
      case RDMA_CM_EVENT_ADDR_RESOLVED:
        REQUIRE(rdma_resolve_route(id.release(), kTimeoutMs) == 0);
        return;
      case RDMA_CM_EVENT_ROUTE_RESOLVED:
        REQUIRE(rdma_connect(add(std::move(id)).end.id.get(), &param) == 0);
        return;
      default:
        REQUIRE(type == RDMA_CM_EVENT_ESTABLISHED);
        link->say();
    }
  }
  void received(Link& link) override {
    if (link.received < kExchanges) return link.say();
    REQUIRE(rdma_disconnect(link.end.id.get()) == 0);
  }

  const std::uint16_t port_;
};

TEST_CASE(
    "an event-driven client and server connect, exchange messages and disconnect, again and "
    "again") {
  const char* const text = std::getenv("IWARP_LONG");
  const int connections = text != nullptr && *text == '1' ? 1000 : 100;
  Server server;
  Client client(server.port());
  std::thread serving([&] { server.run(connections); });
  for (int i = 1; i <= connections; ++i) {
    client.begin();
    client.run(i);
  }
  serving.join();
}

}  // namespace
