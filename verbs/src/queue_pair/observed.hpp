// SPDX-License-Identifier: Apache-2.0
// Observation of a connection. If the tap has an observer, an ObservedUlp is put between the stream
// and its Ulp, and an ObservedDriver between the queue pair and its driver. Both forward every call
// unchanged and report it.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>

#include "iwarp/verbs/local_event.hpp"
#include "iwarp/verbs/wire_tap.hpp"
#include "queue_pair/stream_port.hpp"

namespace iwarp::verbs {

using Observer = std::shared_ptr<LocalObserver>;

/// Reports the memory that the stream uses. Call with the connection lock held.
class ObservedUlp final : public rdmap::Ulp {
 public:
  ObservedUlp(rdmap::Ulp& ulp, Observer observer) : ulp_(ulp), observer_(std::move(observer)) {}

  bool next_request(bool read_credit, rdmap::Request& out) override;
  void sent(std::uint64_t cookie) override { ulp_.sent(cookie); }
  void read_done(std::uint64_t cookie) override;
  void atomic_done(std::uint64_t cookie, std::uint64_t original) override {
    ulp_.atomic_done(cookie, original);
  }
  void delivered_before(rdmap::Msn msn) override { ulp_.delivered_before(msn); }
  std::expected<void, AccessError> write_target(Stag stag, rdmap::TaggedOffset to,
                                                std::uint32_t length, bytes::Span& out) override;
  void release_target() override;
  std::expected<bytes::View, AccessError> read_source(Stag stag, rdmap::TaggedOffset to,
                                                      std::uint32_t length) override;
  void release_source() override { ulp_.release_source(); }
  std::expected<std::uint64_t, AccessError> atomic(const rdmap::AtomicRequest& request) override;
  bytes::Check receive_buffer(ddp::UntaggedBuffer& out) override {
    return ulp_.receive_buffer(out);
  }
  bytes::Check send_received(const rdmap::ReceivedSend& send) override;
  void terminate_received(const rdmap::Terminate& terminate) override {
    ulp_.terminate_received(terminate);
  }

 private:
  struct Read {
    std::uint64_t cookie;
    MemoryUsed sink;
  };
  /// Reports that memory was used, or why access to it was refused.
  template <typename Result>
  void tell(const MemoryUsed& use, const Result& result);

  rdmap::Ulp& ulp_;
  Observer observer_;
  std::optional<MemoryUsed> target_;
  std::deque<Read> reads_;  ///< Reads in flight, at most ORD
};

/// Reports the work that the application posts, and its completions, while this object exists. The
/// thread that posts notifies this object through the queue pair.
class ObservedDriver final : public QpDriver, private CompletionWatcher {
 public:
  /// `ring` and `qp` must be valid during each call from the queue pair; `behind` is the driver to
  /// which this object forwards calls.
  ObservedDriver(QpShared& qp, SendRing& ring, ReceiveQueue& receives,
                 std::shared_ptr<QpDriver> behind, Observer observer);

  /// Reports the work that was posted before the queue pair was connected. Called once, when it is
  /// connected.
  void report_early();
  CompletionWatcher& watcher() { return *this; }

  bool posted(Doorbell doorbell) override;
  void receive_posted() override;
  void resume_soon() override { behind_->resume_soon(); }
  void break_pins(Stag stag) override { behind_->break_pins(stag); }
  void disconnect() override { behind_->disconnect(); }
  void terminate() override { behind_->terminate(); }
  void abort() override { behind_->abort(); }
  bool depart() override { return behind_->depart(); }

 private:
  void completed(const WorkCompletion& wc) override;
  void report_sends(bool early);
  void report_receives(bool early);

  QpShared& qp_;
  SendRing& ring_;
  ReceiveQueue& receives_;
  std::shared_ptr<QpDriver> behind_;
  Observer observer_;
  std::mutex mutex_;  ///< guards the next two members; locked before qp_.post
  std::uint64_t sends_reported_;
  std::uint64_t receives_reported_;
};

/// The observer of one connection, and the states that were reported last.
class Observed {
 public:
  explicit Observed(Observer observer) : observer_(std::move(observer)) {}
  /// Makes the Observed of a connection. Returns null if `tap` has no observer.
  static std::unique_ptr<Observed> by(WireTap* tap);

  const Observer& observer() const { return observer_; }
  /// Returns the Ulp that the stream has to call instead of `ulp`.
  rdmap::Ulp& between(rdmap::Ulp& ulp) { return ulp_.emplace(ulp, observer_); }
  /// Reports each state that has changed. An empty name means that there is no state yet.
  void states_are(std::string_view startup, std::string_view stream, std::string_view queue_pair);

 private:
  Observer observer_;
  std::optional<ObservedUlp> ulp_;
  std::array<std::string_view, 3> told_;  ///< states that were reported last, indexed by Machine
};

}  // namespace iwarp::verbs
