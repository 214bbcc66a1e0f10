// SPDX-License-Identifier: Apache-2.0
// Injector: carries out a plan on the devices of the process. It counts the application's calls. If
// a call triggers a rule, the calling thread carries out the act (the fault) of the rule. The acts
// of timed rules are carried out by the Injector's own thread (faults/clock.hpp). An Injector
// exists only under `iwarp run --fault` or `--fault-socket`. Otherwise no call is intercepted.
//
// Lock order: first the locks of the core and the CM, then the lock of receives_, then mutex_ or
// the lock of datagrams_. No act is carried out while one of the Injector's locks is held. A thread
// in a replaced system call (see Wire) is busy sending or receiving for a connection, so it passes
// its acts to the Clock's thread.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "device/device.hpp"
#include "faults/book.hpp"
#include "faults/clock.hpp"
#include "faults/datagrams.hpp"
#include "faults/hooks.hpp"
#include "faults/receives.hpp"
#include "faults/wire.hpp"

namespace iwarp::rdma_core {
struct Qp;
struct Srq;
}  // namespace iwarp::rdma_core

namespace iwarp::rdma_core::fault {

class Injector {
 public:
  /// `core` must outlive the Injector. Both live until the process ends.
  Injector(Core& core, Demand demand);
  Injector(const Injector&) = delete;
  Injector& operator=(const Injector&) = delete;
  /// Starts the thread and the socket of the Injector. Call once.
  void start();

  // The functions below record objects that the application creates or destroys.
  void made(const Qp& qp);
  /// Call when the queue pair is in RESET. Forgets that completions of the queue pair have failed,
  /// and forgets its receives in receives().
  void reset(const Qp& qp);
  void gone(const Qp& qp);
  void gone(const Srq& srq) { receives_.forget(&srq); }

  // The functions below count events of the application.
  /// Counts the registration of memory or the creation of an object. Throws std::system_error if a
  /// rule makes the call fail.
  void call(Event event, const Device& device);
  /// Counts a request or receive that is posted to the queue pair, or to a shared receive queue if
  /// `qp_num` is 0. Returns 0, or the errno with which a rule makes the post fail.
  int posted(Event event, std::uint32_t qp_num, const Device& device);
  /// Counts a completion that the application polls. Returns the status that the application gets.
  ibv_wc_status polled(std::uint32_t qp_num, bool is_receive, ibv_wc_status status);
  /// Returns whether a rule has removed the device. After that, all posts fail with EIO.
  bool is_removed(const Device& device) const { return state_of(device).removed.load(); }
  bool is_port_down(const Device& device) const { return port_down_since(device).has_value(); }
  /// Returns since when a rule has kept the port of the device down, or nullopt if it is up.
  std::optional<Book::Time> port_down_since(const Device& device) const {
    const Book::Time at(state_of(device).port_down_at.load(std::memory_order_relaxed));
    return at == kPortUp ? std::nullopt : std::optional(at);
  }
  HeldReceives& receives() { return receives_; }

  // The Clock's thread calls the functions below.
  Book::Time now() const { return std::chrono::steady_clock::now() - opened_at_; }
  /// Carries out the acts that are due. Returns the time at which the next act is due.
  std::optional<Book::Time> run();
  /// Adds a rule that came over the socket. Returns an error message, or an empty string on
  /// success.
  std::string add(Rule rule);
  std::vector<std::string> list();

  // The class Wire calls the functions below.
  /// Returns whether a rule keeps the port of any device down.
  bool is_any_port_down() const;
  /// Returns the device of the queue pair, or null if no queue pair has this number.
  const Device* device_of(std::uint32_t qp_num);
  std::uint64_t room(std::uint32_t connection, std::uint64_t wanted);
  /// Counts octets that the connection has sent. Returns whether the caller must reset the
  /// connection.
  bool passed(std::uint32_t connection, std::uint64_t octets);
  /// Counts a datagram that the driver wants to send. Returns true if a rule loses or delays the
  /// datagram; the caller must then not send it.
  bool takes_over(int fd, const msghdr& datagram);
  /// Call if the kernel has not accepted a datagram of this queue pair, and the driver will send it
  /// again. The datagram is then not counted a second time.
  void will_resend(std::uint32_t qp_num);

 private:
  struct Known {
    const Device* device = nullptr;
    std::uint32_t ordinal = 0;
    /// Whether a rule has made the completion of a request fail, so that later completions are
    /// reported as flushed.
    bool sends_failed = false;
    bool receives_failed = false;
    /// Whether the next datagram repeats one that was already counted.
    bool datagram_counted = false;
  };
  static constexpr Book::Time kPortUp = Book::Time::max();
  /// What rules have done to a device.
  struct DeviceState {
    std::atomic<bool> removed{false};
    std::atomic<Book::Time::rep> port_down_at{kPortUp.count()};
    std::optional<Book::Time> port_up_at;  ///< guarded by mutex_
  };
  DeviceState& state_of(const Device& device) { return states_[device.spec().index]; }
  const DeviceState& state_of(const Device& device) const { return states_[device.spec().index]; }
  bool is_cut(const Device& device) const { return is_port_down(device) || is_removed(device); }
  std::uint32_t ordinal(std::uint32_t qp_num) const;
  /// Logs each hit, and carries out its act. Repeats the act if memory runs out.
  void act(const Hits& hits);
  void carry_out(const Hit& hit);
  void carry_out(const Rule& rule, const Device& device);
  void log(const Hit& hit);
  void log_full(std::uint32_t ordinal);
  std::vector<std::uint32_t> queue_pairs(const Hit& hit);
  void set_port(const Device& device, bool down, std::chrono::nanoseconds duration);
  void remove(const Device& device);

  Core& core_;
  const std::string file_;  ///< name of the file with the plan, or empty if there is no file
  const std::chrono::steady_clock::time_point opened_at_ = std::chrono::steady_clock::now();
  std::vector<DeviceState> states_;  ///< one for each device, by DeviceSpec::index
  HeldReceives receives_;
  HeldDatagrams datagrams_;
  Wire wire_{*this};
  std::mutex mutex_;
  Book book_;
  /// The queue pairs of the program, by their numbers.
  std::unordered_map<std::uint32_t, Known> known_;
  std::uint32_t made_ = 0;
  std::vector<Hit> for_clock_;
  Clock clock_;
};

}  // namespace iwarp::rdma_core::fault
