// SPDX-License-Identifier: Apache-2.0
// Hooks: the only interface through which fault injection, careful mode and the adversary observe
// and intercept the calls of a program. If none of them is on, the process has no Hooks, and a call
// of the program directly calls the function that implements it.
//
// Objects of this class form a chain. By default, each function calls the same function of the next
// object in the chain; derived classes override some functions. The last object in the chain is
// LibraryHooks (qp/library_hooks.cpp), which calls the library's own functions.
//
// Thread-safe: any threads of the program may call any functions at the same time.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

#include "iwarp/net/carrier.hpp"
#include "iwarp/verbs/connection_options.hpp"
#include "iwarp/verbs/queue_pair.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::rdma_core {

struct CompChannel;
struct Context;
struct Cq;
class Device;
struct Mr;
struct Qp;
struct Srq;

class Hooks {
 public:
  /// `behind` is the next object in the chain. It is null for the last object, whose class must
  /// override all functions under "Calls".
  explicit Hooks(std::unique_ptr<Hooks> behind) : behind_(std::move(behind)) {}
  virtual ~Hooks() = default;
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;

  // Calls: each function below implements a call that programs make through a function pointer, and
  // has the arguments and the result of this call.
  virtual int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
    return behind_->post_send(qp, wr, bad_wr);
  }
  virtual int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
    return behind_->post_recv(qp, wr, bad_wr);
  }
  virtual int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
    return behind_->post_srq_recv(srq, wr, bad_wr);
  }
  virtual int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) { return behind_->poll_cq(cq, count, wc); }
  virtual int req_notify_cq(ibv_cq* cq, int solicited_only) {
    return behind_->req_notify_cq(cq, solicited_only);
  }
  virtual int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) {
    return behind_->start_poll(cq, attr);
  }
  virtual int next_poll(ibv_cq_ex* cq) { return behind_->next_poll(cq); }
  virtual std::uint32_t read_vendor_err(ibv_cq_ex* cq) { return behind_->read_vendor_err(cq); }
  /// Called by ibv_wr_complete(). Posts all requests in Qp::staged, or none if the core refuses one
  /// of them. Returns 0 or an errno.
  virtual int post_built(Qp& qp) { return behind_->post_built(qp); }

  // The library calls the following functions before it carries out a call of the program.
  /// Throws std::system_error if an injected fault makes the registration of memory fail.
  virtual void registering(Context& context) { on(&Hooks::registering, context); }
  /// Throws std::system_error if an injected fault makes the creation of an object fail.
  virtual void creating(Context& context) { on(&Hooks::creating, context); }
  /// Called before a call of the program changes the state of a queue pair or ends a connection.
  virtual void changing_state() { on(&Hooks::changing_state); }
  /// Called before the program's call ends the connection of the queue pair `num`.
  virtual void disconnecting(verbs::QpNum num) { on(&Hooks::disconnecting, num); }
  /// Called before a thread takes an event in ibv_get_cq_event(). `blocks` is false if the
  /// channel's descriptor is set to O_NONBLOCK.
  virtual void sleeping(CompChannel& channel, bool blocks) {
    on(&Hooks::sleeping, channel, blocks);
  }
  /// Called before `call`, a function of librdmacm, sends private data of `size` bytes. `limit` is
  /// the maximum with RoCE.
  virtual void sending_private_data(const char* call, std::size_t size, std::size_t limit) {
    on(&Hooks::sending_private_data, call, size, limit);
  }

  /// Changes the options and the carrier of a new connection or listener.
  virtual void configuring(verbs::ConnectionOptions& options,
                           std::shared_ptr<const net::CarrierFactory>& carrier) {
    on<verbs::ConnectionOptions&, std::shared_ptr<const net::CarrierFactory>&>(&Hooks::configuring,
                                                                               options, carrier);
  }
  /// Changes how long a message waits for a receive of a queue pair. `cm_rnr_retry` is the number
  /// of retries if rdma_cm connected the queue pair.
  virtual void holding(std::optional<std::uint8_t> cm_rnr_retry, verbs::PeerTimeouts& timeouts) {
    on<std::optional<std::uint8_t>, verbs::PeerTimeouts&>(&Hooks::holding, cm_rnr_retry, timeouts);
  }
  /// Called before events of connections and asynchronous events are reported. Blocks for some
  /// milliseconds and returns true if they may be late, also after completions.
  virtual bool delays_events() { return behind_ && behind_->delays_events(); }

  // The library calls each of the following functions after the event that its name states, or
  // before the event if the name ends in -ing.
  virtual void opened(Context& context) { on(&Hooks::opened, context); }
  virtual void closed(Context& context) { on(&Hooks::closed, context); }
  virtual void registered(Mr& mr) { on(&Hooks::registered, mr); }
  virtual void deregistering(Mr& mr) { on(&Hooks::deregistering, mr); }
  /// Called when the queue was created or resized.
  virtual void sized(Cq& cq, std::size_t capacity) { on(&Hooks::sized, cq, capacity); }
  /// Called after sized() when the queue was created with ibv_create_cq_ex().
  virtual void made_extended(Cq& cq) { on(&Hooks::made_extended, cq); }
  virtual void took_event(Cq& cq) { on(&Hooks::took_event, cq); }
  virtual void destroying(Cq& cq) { on<Cq&>(&Hooks::destroying, cq); }
  virtual void destroying(Srq& srq) { on<Srq&>(&Hooks::destroying, srq); }
  virtual void made(Qp& qp) { on(&Hooks::made, qp); }
  /// Called when the queue pair has gone to RESET.
  virtual void reset(Qp& qp) { on(&Hooks::reset, qp); }
  /// Called when the program has moved the queue pair from SQE to RTS, and so has handled its
  /// failed requests.
  virtual void recovered(Qp& qp) { on(&Hooks::recovered, qp); }
  virtual void destroying(Qp& qp) { on<Qp&>(&Hooks::destroying, qp); }
  /// Called when the queue pair will send no more data.
  virtual void silenced(Qp& qp) { on(&Hooks::silenced, qp); }
  /// Called in the child of a fork. After that, the child calls no other function of this object.
  virtual void abandon() noexcept {
    if (behind_) behind_->abandon();
  }

  // The following functions change what a device reports about itself.
  virtual bool is_removed(const Device& device) const {
    return behind_ && behind_->is_removed(device);
  }
  virtual void show_port(const Device& device, ibv_port_attr& port) const {
    if (behind_) behind_->show_port(device, port);
  }
  /// Returns how many entries or octets the program gets if it asks for `asked`: at least `asked`
  /// and at most `most`. The device would give it `usual`.
  virtual std::uint32_t grant(std::uint32_t asked, std::uint32_t usual, std::uint32_t most) {
    return behind_ ? behind_->grant(asked, usual, most) : usual;
  }

 protected:
  Hooks& behind() { return *behind_; }

 private:
  // Calls the function `call` of the next object in the chain, if there is one.
  template <typename... Args>
  void on(void (Hooks::*call)(Args...), std::type_identity_t<Args>... args) {
    if (behind_) (*behind_.*call)(args...);
  }

  const std::unique_ptr<Hooks> behind_;
};

}  // namespace iwarp::rdma_core
