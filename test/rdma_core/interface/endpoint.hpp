// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of the C interface: objects that are destroyed at the end of their scope,
// waits with a timeout, and two connected ends in one process. Uses only the headers of rdma-core,
// as any program does.
#pragma once

#include <doctest/doctest.h>
#include <rdma/rdma_cma.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "../support/verbs_end.hpp"

namespace rdma_core_test {

/// A deleter for std::unique_ptr that destroys an object of the C interface.
template <typename T, auto End>
struct Ender {
  void operator()(T* object) const { CHECK(End(object) == 0); }
};
template <typename T, auto End>
using Owned = std::unique_ptr<T, Ender<T, End>>;

using Context = Owned<ibv_context, ibv_close_device>;
using Pd = Owned<ibv_pd, ibv_dealloc_pd>;
using Cq = Owned<ibv_cq, ibv_destroy_cq>;
using Srq = Owned<ibv_srq, ibv_destroy_srq>;
using Qp = Owned<ibv_qp, ibv_destroy_qp>;
using CompChannel = Owned<ibv_comp_channel, ibv_destroy_comp_channel>;
using Event = Owned<rdma_cm_event, rdma_ack_cm_event>;

struct Destroyer {
  void operator()(rdma_event_channel* channel) const { rdma_destroy_event_channel(channel); }
  void operator()(rdma_addrinfo* info) const { rdma_freeaddrinfo(info); }
  /// Destroys the id and its queue pair, if it has one.
  void operator()(rdma_cm_id* id) const {
    if (id->qp != nullptr) rdma_destroy_qp(id);
    CHECK(rdma_destroy_id(id) == 0);
  }
};
using Channel = std::unique_ptr<rdma_event_channel, Destroyer>;
using Id = std::unique_ptr<rdma_cm_id, Destroyer>;

Context open_device();

inline Channel make_channel() {
  Channel channel(rdma_create_event_channel());
  REQUIRE(channel);
  return channel;
}

Id make_id(const Channel& channel, rdma_port_space space = RDMA_PS_TCP);

/// Waits for the next event, which must have type `type`.
Event expect(const Channel& channel, rdma_cm_event_type type);

/// A socket address: a numeric address of this host, and a port in host byte order.
struct Address {
  explicit Address(std::string_view host, std::uint16_t port = 0);
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }

  sockaddr_storage storage{};
};

/// Registered memory.
struct Buffer {
  Buffer(ibv_pd* pd, std::size_t size, int access = IBV_ACCESS_LOCAL_WRITE);
  explicit Buffer(ibv_pd* pd, std::string_view text);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  ibv_sge sge(std::size_t length) const;
  ibv_sge sge() const { return sge(octets.size()); }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(octets.data()); }
  std::string_view text(std::size_t length) const {
    return {reinterpret_cast<const char*>(octets.data()), length};
  }

  std::vector<std::uint8_t> octets;
  ibv_mr* mr;
};

/// One end of a connection, with its own completion queues.
struct End {
  Pd pd;
  CompChannel send_channel, receive_channel;
  Cq send_cq, receive_cq;
  Id id;

  /// Posts a Send. Returns the result of ibv_post_send().
  int send(ibv_sge sge, unsigned flags = IBV_SEND_SIGNALED, std::uint64_t wr_id = 0) const;
  int write(ibv_sge sge, const Buffer& to, unsigned flags = IBV_SEND_SIGNALED) const;
  int receive(ibv_sge sge, std::uint64_t wr_id = 0) const;
  /// Waits for the next completion of a queue. It may have any status.
  static ibv_wc next(const Cq& cq) { return rdma_core_test::next(cq.get()); }
  /// Waits for the next completion, which must be successful.
  static ibv_wc done(ibv_cq* cq);
  static ibv_wc done(const Cq& cq) { return done(cq.get()); }
};

struct PairOptions {
  ibv_qp_cap cap{.max_send_wr = 16,
                 .max_recv_wr = 16,
                 .max_send_sge = 2,
                 .max_recv_sge = 2,
                 .max_inline_data = 64};
  bool all_signaled = false;
};

/// A listener on 127.0.0.1, a client that has resolved its address, and a server that reads the
/// client's request. The calling thread drives all three.
struct Meeting {
  Meeting();
  /// Asks to connect, without a queue pair. Reads the request and sets the id of the server.
  void request_connection(rdma_conn_param* param);
  /// Asks to connect. Both ends get their queue pairs.
  void ask(rdma_conn_param* param, const PairOptions& options = {});
  /// Accepts the request, and acknowledges its event.
  void accept(rdma_conn_param* param);
  /// Reads ESTABLISHED at both ends. Returns the event of the client.
  Event establish();

  /// `channel` belongs to the client, `server_channel` to the listener and the server.
  Channel channel, server_channel;
  Id listener;
  std::uint16_t port;  ///< port of the listener
  End client, server;
  Event request;
};

/// Two connected ends.
struct Pair : Meeting {
  explicit Pair(const PairOptions& options = {});
};

/// Creates the queue pair of `end` with its own completion queues and PD.
void make_queue_pair(End& end, const PairOptions& options = {});

/// Returns an id that has resolved the address `to`. It is ready to create a queue pair or to
/// connect.
Id resolved(const Channel& channel, Address to, rdma_port_space space = RDMA_PS_TCP,
            std::optional<Address> from = {});
/// Returns an id that is bound to the address `at`.
Id bound(const Channel& channel, Address at, rdma_port_space space = RDMA_PS_TCP);
/// Returns a listener at the address `at`.
Id listening(const Channel& channel, const Address& at = Address("127.0.0.1"), int backlog = 8,
             rdma_port_space space = RDMA_PS_TCP);
/// Returns the port to which an id is bound, in host byte order.
std::uint16_t port_of(const Id& id);
/// Returns the private data of an event.
std::string private_data(const Event& event);

}  // namespace rdma_core_test
