// SPDX-License-Identifier: Apache-2.0
// Rnic: opens the device, sums up its counters, and tracks which connection belongs to which queue
// pair. The other sources of this folder make the objects.
#include "iwarp/net/rnic.hpp"

#include <fmt/format.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "rnic/impl.hpp"
#include "setup/cm.hpp"

namespace iwarp::net {

// A peer must not be able to guess STags, because a valid STag may give it access to memory.
// [RDMAP-114] [SEC-10]
std::uint32_t random_word() {
  std::uint32_t word = 0;
  const int ok = RAND_bytes(reinterpret_cast<unsigned char*>(&word), sizeof word);
  if (ok != 1) std::abort();
  return word;
}

Expected<std::unique_ptr<Rnic>> Rnic::open(const RnicOptions& options) {
  if (options.workers == 0) return refuse(verbs::Errc::kInvalidArgument);
  return with_resources([&]() -> Expected<std::unique_ptr<Rnic>> {
    return std::unique_ptr<Rnic>(new Rnic(std::make_unique<Impl>(options)));
  });
}

Rnic::Rnic(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Rnic::~Rnic() = default;

AsyncChannel& Rnic::async_events() { return impl_->async; }
const RnicOptions& Rnic::options() const { return impl_->options; }

verbs::Counters Rnic::counters() const {
  verbs::Counters out;
  std::vector<std::shared_ptr<DrivenConnection>> live;
  {
    const std::lock_guard lock(impl_->mutex);
    out = impl_->over.counters;
    for (const auto& entry : impl_->connections) live.push_back(entry.second);
  }
  for (const auto& connection : live) out += connection->counters();
  out.registrations = impl_->stags.registrations();
  return out;
}

verbs::Counters Rnic::counters(const QueuePair& qp) const {
  verbs::Counters out;
  std::vector<std::shared_ptr<DrivenConnection>> live;
  {
    const std::lock_guard lock(impl_->mutex);
    const auto it = impl_->qps.find(&qp);
    if (it == impl_->qps.end()) return out;
    out = it->second.ended;
    live = it->second.connections;
  }
  for (const auto& connection : live) out += connection->counters();
  return out;
}

std::optional<CmEvent> Rnic::stream_ended(const QueuePair& qp) const {
  for (const auto& connection : impl_->connections_of(qp)) {
    if (auto end = connection->stream_end()) return disconnected(*connection, *end);
  }
  return std::nullopt;
}

verbs::DatagramCounters Rnic::datagram_counters() const {
  verbs::DatagramCounters out;
  std::vector<std::shared_ptr<DrivenDatagrams>> live;
  {
    const std::lock_guard lock(impl_->mutex);
    out = impl_->datagrams_over;
    live.assign(impl_->datagrams.begin(), impl_->datagrams.end());
  }
  for (const auto& one : live) out += one->counters();
  return out;
}

Statistics Rnic::statistics(std::size_t max_connections) const {
  Statistics out;
  std::vector<std::shared_ptr<DrivenConnection>> live;
  {
    const std::lock_guard lock(impl_->mutex);
    out = impl_->over;
    out.qps = impl_->qps.size() + impl_->datagrams.size();
    out.cqs = impl_->cqs.size();
    out.srqs = impl_->srqs;
    out.pds = impl_->pds;
    for (const auto& entry : impl_->connections) live.push_back(entry.second);
  }
  for (const auto& connection : live) {
    auto one = connection->statistics();
    if (!one) {
      out.counters += connection->counters();
      continue;
    }
    out.counters += one->counters;
    if (!one->device.empty()) out.devices[one->device] += one->counters;
    out.add(one->incidents);
    if (connection->ended()) continue;
    ++out.open_connections;
    out.connections.push_back(std::move(*one));
  }
  std::ranges::sort(out.connections, {}, &ConnectionStatistics::qp);
  if (out.connections.size() > max_connections) out.connections.resize(max_connections);
  out.datagrams = datagram_counters();
  out.counters.registrations = impl_->stags.registrations();
  out.active = impl_->active_setups.read();
  out.passive = impl_->passive_setups.read();
  out.accept_pauses = impl_->accept_pauses;
  out.pending_setups = impl_->setups.under_way();
  return out;
}

Rnic::Impl::Impl(const RnicOptions& rnic_options)
    : options(rnic_options),
      stags(rnic_options.max_regions, random_word),
      setups({.total = rnic_options.max_pending_connects,
              .per_source = rnic_options.max_pending_per_source,
              .per_listener = rnic_options.max_pending_per_listener}) {
  for (unsigned i = 0; i < options.workers; ++i) {
    workers.push_back(std::make_unique<Worker>(options.busy_poll));
  }
}

Rnic::Impl::~Impl() {
  for (const auto& connection : live()) connection->end();
  for (const auto& worker : workers) worker->join();
  // While the first pass ended connections, a worker may have added new ones.
  for (const auto& connection : live()) connection->end();
}

std::vector<std::shared_ptr<DrivenConnection>> Rnic::Impl::live() const {
  return insist([this] {
    const std::lock_guard lock(mutex);
    std::vector<std::shared_ptr<DrivenConnection>> out;
    out.reserve(connections.size());
    for (const auto& entry : connections) out.push_back(entry.second);
    return out;
  });
}

std::vector<std::shared_ptr<DrivenConnection>> Rnic::Impl::connections_of(
    const verbs::QueuePair& qp) const {
  const std::lock_guard lock(mutex);
  const auto it = qps.find(&qp);
  if (it == qps.end()) return {};
  return it->second.connections;
}

void Rnic::Impl::send_posted() const {
  const auto holders = insist([this] {
    std::vector<std::shared_ptr<Driven>> out;
    const auto add = [&out](const auto& driven) {
      if (driven->may_hold_posts()) out.push_back(driven);
    };
    const std::lock_guard lock(mutex);
    for (const auto& entry : connections) add(entry.second);
    std::ranges::for_each(datagrams, add);
    return out;
  });
  for (const auto& holder : holders) holder->sync();
}

Worker& Rnic::Impl::pick_worker() { return *workers[next_worker++ % workers.size()]; }

void Rnic::Impl::ended(DrivenConnection& connection) {
  std::shared_ptr<DrivenConnection> last;  // destroyed after `lock` is released
  const std::lock_guard lock(mutex);
  const auto it = connections.find(&connection);
  if (it == connections.end()) return;
  last = std::move(it->second);
  connections.erase(it);
  over.counters += connection.final_counters();
  if (connection.device() != nullptr) {
    const auto sums = over.devices.find(connection.device());
    if (sums != over.devices.end()) sums->second += connection.final_counters();
  }
  over.add(connection.final_incidents());
  const auto record = qps.find(connection.qp());
  if (record == qps.end()) return;
  if (std::erase(record->second.connections, last) != 0) {
    record->second.ended += connection.final_counters();
  }
}

void Rnic::Impl::break_pins(verbs::Stag stag) {
  const verbs::Grant held = stags.hold_invalid(stag);
  if (held.region() == nullptr) return;
  for (const auto& connection : live()) connection->withdraw(*held.region());  // [SEC-14]
}

void Rnic::Impl::memory_gone(const DrivenConnection& connection, const std::byte* address) {
  const auto line = fmt::format(
      "registered memory at {} was unmapped, protected or truncated, which ends the connection "
      "between {} and {} (deregister memory before unmapping it)",
      fmt::ptr(address), to_string(connection.local()), to_string(connection.peer()));
  if (options.warn != nullptr) return options.warn(line.c_str());
  std::fputs(("iwarp: " + line + "\n").c_str(), stderr);
}

std::error_code Rnic::Impl::claim(verbs::QueuePair& qp, CmChannel& channel) {
  // A queue pair can be Idle again before its last connection has reported its end. Wait for that
  // report.
  for (const auto& connection : connections_of(qp)) connection->sync();
  const std::lock_guard lock(mutex);
  const auto it = qps.find(&qp);
  if (it == qps.end()) return make_error_code(verbs::Errc::kInvalidArgument);
  QpRecord& record = it->second;
  if (record.claimed || qp.state() != verbs::QpState::kIdle) {
    return make_error_code(verbs::Errc::kWrongState);
  }
  auto& channels = record.channels;
  if (std::ranges::count(channels, &channel) == 0) channels.push_back(&channel);
  record.claimed = true;
  return {};
}

void Rnic::Impl::release(const verbs::QueuePair& qp) {
  std::shared_ptr<Connector> connector;  // destroyed after `lock` is released
  const std::lock_guard lock(mutex);
  const auto it = qps.find(&qp);
  if (it == qps.end()) return;
  it->second.claimed = false;
  connector.swap(it->second.connector);
}

bool Rnic::Impl::attach(verbs::QueuePair& qp, const std::shared_ptr<DrivenConnection>& connection) {
  std::shared_ptr<CqFeed> send;
  std::shared_ptr<CqFeed> recv;
  {
    const std::lock_guard lock(mutex);
    const auto it = qps.find(&qp);
    if (it == qps.end() || !it->second.claimed) return false;
    if (connection->ended()) return true;  // The end of the connection has been reported already.
    connections[connection.get()] = connection;
    it->second.connections.push_back(connection);
    send = cqs.at(qp.init().send_cq).feed;
    recv = cqs.at(qp.init().recv_cq).feed;
  }
  send->add(connection);
  if (recv != send) recv->add(connection);
  return true;
}

}  // namespace iwarp::net
