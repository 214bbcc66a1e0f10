// SPDX-License-Identifier: Apache-2.0
// What an Rnic owns: the STag table, the workers, and the registry of its objects.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cm.hpp"
#include "connector.hpp"
#include "cq_feed.hpp"
#include "driven_connection.hpp"
#include "iwarp/net/rnic.hpp"
#include "listener.hpp"
#include "worker.hpp"

namespace iwarp::net {

struct Rnic::Impl final : public Registry, public Claims, public Responders {
  explicit Impl(const RnicOptions& rnic_options);
  ~Impl();

  struct QpRecord {
    bool claimed = false;  ///< connected, or about to be
    std::shared_ptr<Connector> connector;
    std::vector<std::shared_ptr<DrivenConnection>> connections;  ///< not ended; the last counts
    std::vector<CmChannel*> channels;                            ///< that may hold events about it
    verbs::Counters ended;                                       ///< of its former connections
  };
  struct CqRecord {
    std::shared_ptr<CqFeed> feed;
    CompletionChannel* channel = nullptr;
  };

  // Registry, Claims, Responders
  void ended(DrivenConnection& connection) override;
  std::error_code claim(verbs::QueuePair& qp, CmChannel& channel) override;
  void release(const verbs::QueuePair& qp) override;
  bool attach(verbs::QueuePair& qp, const std::shared_ptr<DrivenConnection>& connection) override;
  std::shared_ptr<DrivenConnection> respond(UniqueFd socket, const ListenOptions& listen_options,
                                            CmChannel& channel) override;

  Worker& pick_worker();
  std::shared_ptr<Connector> make_connector(verbs::QueuePair& qp, const Address& to,
                                            const ConnectOptions& connect_options,
                                            CmChannel& channel);
  std::vector<std::shared_ptr<DrivenConnection>> live() const;
  /// What comes and came about `qp` on `from` goes to `to`.
  void move_events(const verbs::QueuePair& qp, CmChannel& from, CmChannel& to);
  /// A free number for a queue pair. Under `mutex`.
  verbs::QpNum next_number();
  void destroy(verbs::QueuePair* qp);
  void destroy(verbs::CompletionQueue* cq);
  void destroy(verbs::SharedReceiveQueue* srq);

  const RnicOptions options;
  verbs::StagTable stags;
  AsyncChannel async;
  std::atomic<std::size_t> pending_connects{0};
  std::atomic<std::size_t> next_worker{0};

  mutable std::mutex mutex;  ///< after a connection's lock; of what follows
  std::size_t pds = 0;
  std::size_t srqs = 0;
  std::uint32_t next_pd = 1;
  std::uint32_t next_qp = 1;
  std::unordered_map<const verbs::QueuePair*, QpRecord> qps;
  std::unordered_set<verbs::QpNum> qp_numbers;
  std::unordered_map<const verbs::CompletionQueue*, CqRecord> cqs;
  std::unordered_map<DrivenConnection*, std::shared_ptr<DrivenConnection>> connections;
  verbs::Counters ended_counters;

  std::vector<std::unique_ptr<Worker>> workers;  ///< the last, so that handlers find all the rest
};

}  // namespace iwarp::net
