// SPDX-License-Identifier: Apache-2.0
// Rnic::Impl: the members of an Rnic: its STag table, its workers, and the registry of its objects.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "channels/cq_feed.hpp"
#include "datagrams/driven_datagrams.hpp"
#include "driver/driven_connection.hpp"
#include "driver/with_resources.hpp"
#include "driver/worker.hpp"
#include "iwarp/net/rnic.hpp"
#include "iwarp/verbs/errors.hpp"
#include "setup/cm.hpp"
#include "setup/connector.hpp"
#include "setup/listener.hpp"
#include "setup/setups.hpp"

namespace iwarp::net {

/// Returns a number that peers cannot predict. Aborts if no randomness is available, because
/// predictable numbers would be a security hole.
std::uint32_t random_word();

inline std::unexpected<std::error_code> refuse(verbs::Errc code) {
  return std::unexpected(make_error_code(code));
}

struct Rnic::Impl final : public Registry, public Claims, public Responders {
  explicit Impl(const RnicOptions& rnic_options);
  ~Impl();

  struct QpRecord {
    bool claimed = false;  ///< whether the queue pair is connected or being connected
    /// whether create_other_end() made the queue pair, which then reports no asynchronous events
    bool other_end = false;
    std::shared_ptr<Connector> connector;
    /// connections that have not ended; the last element is the current connection
    std::vector<std::shared_ptr<DrivenConnection>> connections;
    std::vector<CmChannel*> channels;  ///< channels that may hold events about the queue pair
    verbs::Counters ended;             ///< counters of the queue pair's former connections
  };
  struct CqRecord {
    std::shared_ptr<CqFeed> feed;
    CompletionChannel* channel = nullptr;
  };

  // Overrides of Registry, Claims and Responders.
  void ended(DrivenConnection& connection) override;
  void break_pins(verbs::Stag stag) override;
  SetupTally& setups_as(mpa::Role role) override {
    return role == mpa::Role::kInitiator ? active_setups : passive_setups;
  }
  void memory_gone(const DrivenConnection& connection, const std::byte* address) override;
  std::error_code claim(verbs::QueuePair& qp, CmChannel& channel) override;
  void release(const verbs::QueuePair& qp) override;
  bool attach(verbs::QueuePair& qp, const std::shared_ptr<DrivenConnection>& connection) override;
  std::shared_ptr<DrivenConnection> respond(UniqueFd socket, const Address& peer,
                                            const ListenOptions& listen_options,
                                            CmChannel& channel) override;
  bool make_room() override;

  Worker& pick_worker();
  std::shared_ptr<Connector> make_connector(verbs::QueuePair& qp, const Address& to,
                                            const ConnectOptions& connect_options,
                                            CmChannel& channel);
  std::vector<std::shared_ptr<DrivenConnection>> live() const;
  /// Returns the connections of `qp` that have not ended; none if the device does not know `qp`.
  std::vector<std::shared_ptr<DrivenConnection>> connections_of(const verbs::QueuePair& qp) const;
  /// Sends the posted requests, as far as the sockets accept them. A function that invalidates
  /// memory calls this first, because the posted requests may need the memory, and a hardware
  /// adapter would already have read it. Waits for the locks of connections.
  void send_posted() const;
  void cancel(const verbs::QueuePair& qp);
  /// Returns a free number for a queue pair. Call with `mutex` held.
  verbs::QpNum next_number();
  void destroy(verbs::QueuePair* qp);
  void destroy(verbs::CompletionQueue* cq);
  void destroy(verbs::SharedReceiveQueue* srq);

  const RnicOptions options;
  verbs::StagTable stags;
  AsyncChannel async;
  Setups setups;
  SetupTally active_setups;
  SetupTally passive_setups;
  std::atomic<std::uint64_t> accept_pauses{0};
  std::atomic<std::size_t> next_worker{0};

  mutable std::mutex mutex;  ///< guards the members below; locked after a connection's lock
  std::size_t pds = 0;
  std::size_t srqs = 0;
  std::uint32_t next_pd = 1;
  std::uint32_t next_qp = 1;
  std::unordered_map<const verbs::QueuePair*, QpRecord> qps;
  std::unordered_set<verbs::QpNum> qp_numbers;
  std::unordered_map<const verbs::CompletionQueue*, CqRecord> cqs;
  std::unordered_map<DrivenConnection*, std::shared_ptr<DrivenConnection>> connections;
  std::unordered_set<std::shared_ptr<DrivenDatagrams>> datagrams;
  verbs::DatagramCounters datagrams_over;  ///< counters of destroyed datagram queue pairs
  Statistics over;                         ///< counters and incidents of ended connections

  /// The last member, so that it is destroyed before the members that handlers use.
  std::vector<std::unique_ptr<Worker>> workers;
};

}  // namespace iwarp::net
